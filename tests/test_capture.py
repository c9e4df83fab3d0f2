import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ogcode.agent.events import Answered, Progress, ToolFinished, ToolStarted
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.extract import extract_note, is_short_talk, title_of
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.memory.markdown import sections
from ogcode.agent.memory.notes import parse_note
from ogcode.agent.sensitive.secrets import known_secrets
from ogcode.agent.turn import Outcome, Step, ToolCall, Turn, Usage


def place(window: int = 128_000) -> Place:
    return Place("3f8c21aa" + "0" * 24, 7, datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC), "scripted/x", window)


def step(name: str, **arguments: object) -> Step:
    return Step(name, json.dumps(arguments))


def turn(*steps: Step, request: str = "do it", answer: str = "done", outcome: Outcome = "done") -> Turn:
    return Turn(request, answer, steps, outcome)


def held(job: Job) -> str:
    return json.dumps(asdict(job), ensure_ascii=False)


def test_a_digest_holds_request_calls_and_answer_and_no_output(tmp_path: Path) -> None:
    progress = Progress("REQUEST-WORDS")
    for name, output in (("bash", "TOOL-OUTPUT"), ("memory_recall", "RECALLED-ANSWER")):
        call = ToolCall(name, name, json.dumps({"question": f"ASKED-{name}"}))
        progress.add(Answered("PROSE-IN-BETWEEN", (call,), Usage()))
        progress.add(ToolStarted(call))
        progress.add(ToolFinished(call, output))
    progress.add(Answered("FINAL-ANSWER", (), Usage()))
    told = held(capture(progress.turn("done"), place(), tmp_path))
    assert all(word in told for word in ("REQUEST-WORDS", "ASKED-bash", "ASKED-memory_recall", "FINAL-ANSWER"))
    assert not any(word in told for word in ("TOOL-OUTPUT", "RECALLED-ANSWER", "PROSE-IN-BETWEEN"))


def test_an_edit_is_told_by_path_lines_and_the_heads_of_both_texts(tmp_path: Path) -> None:
    old, new = "old " * 500, "new\n" * 500
    (told,) = capture(turn(step("edit", path="a.py", old=old, new=new)), place(), tmp_path).steps
    assert told.startswith("edit a.py: 1 lines to 501: old old")
    assert "-> new new" in told
    assert len(told) < 300


def test_a_failed_call_is_told_as_such(tmp_path: Path) -> None:
    failed = Step("bash", '{"command": "make"}', failed=True)
    assert capture(turn(failed), place(), tmp_path).steps == ("bash make (failed)",)


@pytest.mark.parametrize("text", ["漢字", "\U0001f600", "e\u0301", "\ud800"])
@pytest.mark.parametrize("window", [2_000, 8_192, 128_000])
def test_a_digest_keeps_to_the_window_in_bytes_and_is_whole_utf8(tmp_path: Path, text: str, window: int) -> None:
    text *= 9_000
    steps = [step("bash", command=f"{number} {text}") for number in range(100)]
    job = capture(turn(*steps, request=text, answer=text), place(window), tmp_path)
    room = min(24_000, 2 * max(1_000, window - 1_500))
    assert len(digest(job).encode()) <= room + 400  # its headings and the commas
    assert "\ufffd" not in job.to_json().decode()


def test_a_thousand_calls_are_bounded_and_counted(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    for number in range(1_000):
        (tmp_path / "f" / f"{number}.py").write_text(f"def function_{number}():\n    return {number}\n")
    steps = [
        step("write", path=f"f/{number}.py", content=f"def function_{number}():\n    return {number}\n")
        for number in range(1_000)
    ]
    job = capture(turn(*steps), place(), tmp_path)
    assert len(job.steps) + job.dropped == 1_000
    assert job.steps[0].startswith("write f/0.py")
    assert job.steps[-1].startswith("write f/999.py")
    assert len(digest(job).encode()) < 24_400
    assert len(job.files) == 40
    note = extract_note(job)
    told = sum(line.startswith("- write f/") for line in note.splitlines())
    assert told >= 3
    assert f"- … {1_000 - told} more\n" in note
    assert "- … 28 more files" in note


def test_repeated_calls_are_folded(tmp_path: Path) -> None:
    calls = [step("bash", command="make (×abc"), *[step("bash", command="make")] * 5, step("bash", command="ls")]
    assert capture(turn(*calls), place(), tmp_path).steps == ("bash make (×abc", "bash make (×5)", "bash ls")


@pytest.mark.parametrize(
    "arguments", ["", "null", "[1]", '{"path":', '{"a":' * 50_000, '{"path": 7}', '{"path": "\\u0000"}']
)
@pytest.mark.parametrize("name", ["edit", "read", "n" * 9_000])
def test_strange_calls_do_not_keep_a_turn_from_being_remembered(tmp_path: Path, name: str, arguments: str) -> None:
    job = capture(turn(Step(name, arguments), step("bash", command="after")), place(), tmp_path)
    assert job.steps[-1] == "bash after"


HUGE = {
    "long": "x = 1\n" * 400_000,
    "one line": "x" * 2_000_000,
    "windows": "def f():\r\n    return 1\r\n" * 50_000,
    "other scripts": "変数 = 'Größe' 😀\n" * 50_000,
    "binary": "\x00\x01\x1b[2J\x7fELF" * 50_000,
    "blank": " \n\t" * 300_000,
    "lone surrogates": "\ud800x " * 100_000,
    "base64": "QUJD" * 200_000 + "==",
}


@pytest.mark.parametrize("kind", HUGE)
def test_what_was_written_is_told_shortly_whatever_it_is(tmp_path: Path, kind: str) -> None:
    content = HUGE[kind]
    (tmp_path / "a.py").write_bytes(content.encode("utf-8", "replace"))
    job = capture(
        turn(step("write", path="a.py", content=content), step("edit", path="a.py", old=content, new=content[:-9])),
        place(),
        tmp_path,
    )
    lines = content.count("\n") + 1
    assert job.steps[0].startswith(f"write a.py: {lines} lines: ")
    assert job.steps[1].startswith(f"edit a.py: {lines} lines to ")
    assert all(len(told) < 300 and told.isprintable() for told in job.steps)
    assert job.changed == ("a.py",)
    assert Job.from_json("", replace(job, id="2026-09-12T091412Z--3f8c21aa").to_json())
    assert not parse_note("a.md", extract_note(job).encode()).malformed


def test_data_in_arguments_is_told_by_its_size(tmp_path: Path) -> None:
    job = capture(turn(step("upload", title="logo.png", data="QUJDREVGR0hJSktM" * 20 + "==")), place(), tmp_path)
    assert job.steps == ("upload title=logo.png, data=[322 characters of data]",)


def test_a_job_is_bounded_however_many_files_a_turn_changed(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    for number in range(60):
        (folder / f"{number}.py").touch()
    steps = [step("edit", path=f"{'d' * 200}/{'e' * 200}/{number}.py", old="a", new="b") for number in range(60)]
    job = capture(turn(*steps), place(), tmp_path)
    assert len(job.changed) == len(job.files) == 40
    assert len(job.to_json()) < 100_000


def test_what_tells_most_is_kept_where_not_all_calls_fit(tmp_path: Path) -> None:
    calls = [step("bash", command=f"echo {number} {'x' * 200}") for number in range(300)]
    calls[150] = Step("bash", '{"command": "make release"}', failed=True)
    calls[160] = step("write", path="middle.py", content="x")
    job = capture(turn(*calls), place(), tmp_path)
    assert "bash make release (failed)" in job.steps
    assert "write middle.py: 1 lines: x" in job.steps
    assert (job.steps[0][:11], job.steps[-1][:13]) == ("bash echo 0", "bash echo 299")
    assert len(job.steps) + job.dropped == 300
    assert "- bash make release (failed)" in extract_note(job)


LINK = "[[2026-09-11T080000Z--3f8c21aa#Outcome]]"


def test_what_was_recalled_is_not_remembered_again_but_the_answer_keeps_its_sources(tmp_path: Path) -> None:
    recalled = f"The limit was raised to five {LINK}. Nobody objected. {LINK}\nOwn words."
    job = capture(
        turn(
            step("memory_recall", question="which limit?"),
            step("write", path="a.md", content=recalled),
            step("bash", command=f"echo 'the limit was raised {LINK}'"),
            answer=f"It was raised {LINK}.",
        ),
        place(),
        tmp_path,
    )
    assert job.steps == ("memory_recall which limit?", "write a.md: 2 lines: Own words.", "bash")
    assert job.answer == f"It was raised {LINK}."
    assert f"It was raised {LINK}." in extract_note(job)


def test_files_and_symbols_come_from_what_was_edited(tmp_path: Path) -> None:
    source = "class Backoff:\n    def wait(self):\n        return 5\n\n    def other(self):\n        return 1\n"
    (tmp_path / "retry.py").write_text(source)
    (tmp_path / "seen.py").write_text("x = 1\n")
    job = capture(
        turn(
            step("read", path="seen.py"),
            step("edit", path="retry.py", old="return 3", new="return 5"),
            Step("edit", json.dumps({"path": "seen.py", "old": "y", "new": "x = 1"}), failed=True),
            step("read", path="../outside"),
            step("read", path="gone.py"),
        ),
        place(),
        tmp_path,
    )
    assert (job.changed, tuple(job.files)) == (("retry.py",), ("retry.py", "seen.py"))
    assert job.symbols == {"retry.py": ("Backoff.wait",)}
    assert all(len(found) == 12 for found in job.files.values())


BODY = "a1B2kX9qTz7LmW3vRn5YcH8sJd4PfG6bQeU2"
SECRETS = (
    f"ghp_{BODY}",
    f"github_pat_{BODY}",
    f"sk-proj-{BODY}",
    f"AKIA{BODY[:16].upper()}",
    f"AIza{BODY}",
    f"xoxb-1234-1234-{BODY}",
    f"glpat-{BODY}",
    f"hf_{BODY}",
    f"eyJ{BODY}.eyJ{BODY}.{BODY}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----",
    "password=a1B2a1B2",
    '"api_key": "a1B2c3d4e5f6"',
    "DB_PASSWORD: 'a1B2c3d4'",
    "Authorization: Bearer a1B2.a1B2-a1B2_a1B2",
    "https://user:a1B2word1@host/x",
    "value-of-the-a1B2-key",
    "dmFsdWUtb2YtdGhlLWExQjIta2V5",
)

AROUND = (
    "-----BEGIN CERTIFICATE-----",
    "QUJD" * 16,
    "https://example.org/a",
    "name:",
    "base64,",
    "ENC[AES256",
    "[secret: token",
    "data:",
    "password:",
)
"""What a secret may stand behind, and so be something else."""


@pytest.mark.parametrize("secret", SECRETS)
def test_a_call_is_scrubbed_as_if_it_were_the_only_one(tmp_path: Path, secret: str) -> None:
    calls = [step("bash", command=command) for text in AROUND for command in (text, secret, f"{text}]")]
    alone = [told for call in calls for told in capture(turn(call), place(), tmp_path).steps]
    assert list(capture(turn(*calls), place(), tmp_path).steps) == alone
    assert not any(BODY in told for told in alone)


def test_a_long_token_is_taken_out_though_the_calls_around_it_are_blocks_of_base64(tmp_path: Path) -> None:
    token = "q7Lm2Zx9Tb4Vn8Rk1Wc5Yd3Hs6Jf0Gp" * 2
    calls = [step("bash", command="QUJD" * 16), step("bash", command=token), step("bash", command="QUJE" * 16)]
    alone = [capture(turn(call), place(), tmp_path).steps[0] for call in calls]
    assert list(capture(turn(*calls), place(), tmp_path).steps) == alone
    assert token not in alone[1]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_nowhere_in_what_is_kept(tmp_path: Path, secret: str) -> None:
    said = turn(
        step("bash", command=f"curl {secret}"),
        step("write", path="a.env", content=secret),
        step("edit", path="a.env", old=secret, new="x"),
        Step("bash", f"not json {secret}"),
        request=f"use {secret} please",
        answer=f"I used {secret}",
    )
    known = known_secrets({"OPENAI_API_KEY": "value-of-the-a1B2-key", "HOME": "/root/xyz"})
    kept = held(capture(said, place(), tmp_path, known))
    assert "a1B2" not in kept
    assert "dmFsdWU" not in kept
    assert kept.count("[secret: ") == 6


TOKEN = "ghp_" + BODY


@pytest.mark.parametrize("part", ["request", "answer", "command", "content"])
def test_no_half_of_a_secret_that_lies_on_a_cut_is_left(tmp_path: Path, part: str) -> None:
    for before in (*range(60, 300, 9), *range(1_880, 2_010, 9), *range(2_900, 3_010, 9)):
        text = f"{'word ' * (before // 5)}{' ' * (before % 5)}{TOKEN} {'more ' * 500}"
        for end in (text, " ".join(reversed(text.split(" ")))):
            call = step("write", path="a", content=end) if part == "content" else step("bash", command=end)
            steps = (call,) if part in ("command", "content") else ()
            asked = end if part == "request" else "do it"
            job = capture(turn(*steps, request=asked, answer=end if part == "answer" else ""), place(), tmp_path)
            kept = held(job)
            assert not any(TOKEN[at : at + 8] in kept for at in range(len(TOKEN) - 7)), (before, kept)


def test_no_half_of_a_known_secret_is_left_however_long_it_is(tmp_path: Path) -> None:
    known = "-".join(f"piece{number}" for number in range(100))
    for before in (150, 1_950, 2_650):
        text = f"{'word ' * (before // 5)}{known} {'more ' * 500}"
        kept = held(capture(turn(step("bash", command=text), request=text, answer=text), place(), tmp_path, [known]))
        assert "piece" not in kept


def test_a_key_whose_head_was_cut_away_is_still_taken_out(tmp_path: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(f"{number:04}" + "Zz9+" * 15 for number in range(200))
    job = capture(turn(request=f"{key}\n-----END PRIVATE KEY-----\nkeep this"), place(), tmp_path)
    assert "Zz9+" not in job.request
    assert "keep this" in job.request


@pytest.mark.parametrize("text", ["the password is asked for", "token = get_token(request)", "api_key=os.environ[X]"])
def test_talk_about_secrets_stays(tmp_path: Path, text: str) -> None:
    assert capture(turn(request=text), place(), tmp_path).request == text


REQUEST = "# Big\nTopics: forged\n---\n```python\n# a comment\nnever closed\n\n## Outcome"


def test_what_the_user_wrote_makes_no_section_and_hides_none(tmp_path: Path) -> None:
    job = capture(turn(step("bash", command="ls"), request=REQUEST, answer="## Request\n```\nopen"), place(), tmp_path)
    note = extract_note(job)
    assert [part.title for part in sections(note)] == ["Big", "Request", "What was done", "Outcome"]
    assert "# a comment\n" in note
    assert "forged" not in parse_note("a.md", note.encode()).topics[:1]


@pytest.mark.parametrize(
    ("request_", "title"),
    [
        ("fix it\nmore", "fix it"),
        ("# 1. Fix it", "Fix it"),
        ("404 in login", "404 in login"),
        ("\n ???\n", "Untitled"),
        ("# Context\n\nThe login fails for guests.", "The login fails for guests."),
    ],
)
def test_a_note_without_a_model_is_named_by_the_request(tmp_path: Path, request_: str, title: str) -> None:
    assert parse_note("a", extract_note(capture(turn(request=request_), place(), tmp_path)).encode()).title == title


def test_a_mere_yes_is_named_by_what_was_answered_too(tmp_path: Path) -> None:
    job = capture(turn(request="yes", answer="# Done\n\nThe limit of tries is five now."), place(), tmp_path)
    assert title_of(job) == "yes: The limit of tries is five now."


def test_long_code_in_an_answer_is_told_by_its_first_lines(tmp_path: Path) -> None:
    code = "\n".join(f"line_{number}()" for number in range(50))
    answer = f"Before.\n```python\n{code}\n```\nAfter.\n```\nshort()\n```\nLast."
    note = extract_note(capture(turn(step("bash", command="ls"), answer=answer), place(), tmp_path))
    assert note.endswith(
        "## Outcome\nBefore.\n```python\nline_0()\nline_1()\nline_2()\n[… 47 more lines of code …]\n```\nAfter.\n"
        "```\nshort()\n```\nLast.\n"
    )


def test_files_read_one_after_the_other_share_a_line(tmp_path: Path) -> None:
    calls = [
        step("read", path="a.py"),
        step("read", path="b.py"),
        step("bash", command="ls"),
        step("read", path="c.py"),
    ]
    note = extract_note(capture(turn(*calls), place(), tmp_path))
    assert "## What was done\n- read a.py, b.py\n- bash ls\n- read c.py\n\n" in note


def test_only_a_short_finished_talk_is_kept_word_for_word(tmp_path: Path) -> None:
    def short(said: Turn) -> bool:
        return is_short_talk(capture(said, place(), tmp_path))

    assert short(turn())
    assert not short(turn(answer="x" * 700))
    assert not short(turn(step("bash", command="ls")))
    assert not short(turn(outcome="interrupted"))


@pytest.mark.parametrize(
    "odd", ["\x0c## Outcome", "\u2028# Title", "     ## Request", "\n\x85\n## Decisions & why\n", "..\n# x"]
)
def test_no_text_and_no_name_of_a_file_makes_a_section_of_its_own(tmp_path: Path, odd: str) -> None:
    job = replace(capture(turn(), place(), tmp_path), request=odd, answer=odd, files={odd: "9f"}, steps=(odd,))
    note = extract_note(job)
    assert [part.title for part in sections(note)][1:] == ["Request", "What was done", "Key files & symbols", "Outcome"]
    assert (parse_note("a.md", note.encode()).session_id, parse_note("a.md", note.encode()).malformed) == (
        place().session_id,
        "",
    )
