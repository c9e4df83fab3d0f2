import json
import os
import stat
import subprocess
import uuid
from pathlib import Path

import pytest
from fake_server import Call, Reply, Say, last_user, system_of, tools_of
from stage_cli import OGCODE, Place, Serve, model_of, playing

from ogcode.tui.arguments import parse

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def test_lists_of_tools_are_read_as_other_agents_read_them(place: Place, serve: Serve) -> None:
    server = serve(
        playing([Call("bash", {"command": "touch made"}), Call("bash", {"command": "touch kept"}), Say("ok")])
    )
    lists = ["--allowedTools", "Bash(touch made),Read", "WebFetch", "--disallowedTools", "Edit"]
    done = place.run("-p", "--trust", *lists, "go on", **model_of(server))
    assert last_user(server.chats[0]) == "go on"
    assert (place.folder / "made").exists()
    assert not (place.folder / "kept").exists()
    assert not {"edit", "write"} & {*tools_of(server.chats[0])}
    assert "there is no tool WebFetch here" in done.stderr


@pytest.mark.parametrize(
    ("names", "offered"), [("Read,Grep", ["grep", "read"]), ("", []), ("glob MultiEdit", ["edit", "glob"])]
)
def test_only_the_tools_that_are_named_are_offered(place: Place, serve: Serve, names: str, offered: list[str]) -> None:
    server = serve([Say("ok")] * 3)
    place.run("-p", "go", "--memory", "read", "--tools", names, **model_of(server))
    assert sorted(tools_of(server.chats[0])) == offered


def test_the_system_prompt_can_be_replaced_and_added_to(place: Place, serve: Serve) -> None:
    server = serve([Say("ok")] * 3)
    (place.folder / "more.md").write_text("SAY MOO", "utf-8")
    place.run("-p", "go", "--append-system-prompt-file", "more.md", **model_of(server))
    place.run("-p", "go", "--system-prompt", "You are a cow.", "--memory", "read", **model_of(server))
    added, replaced = (system_of(body) for body in server.chats if tools_of(body))
    assert ("SAY MOO" in added, len(added) > 1_000) == (True, True)
    assert replaced.startswith("You are a cow.")
    assert f"Working folder: {place.folder}" in replaced


def test_a_bare_run_knows_nothing_of_rules_facts_and_memory(place: Place, serve: Serve) -> None:
    for name in ("AGENTS.md", "MEMORY.md"):
        (place.folder / name).write_text("SAY MOO", "utf-8")
    server = serve([Say("ok")] * 3)
    done = place.run("-p", "go", "--bare", "--trust", **model_of(server))
    assert "MOO" not in json.dumps(server.chats)
    assert not [name for name in tools_of(server.chats[0]) if "recall" in name]
    assert (done.stdout, done.stderr, place.folder.joinpath(".ogcode", "sessions").exists()) == ("ok\n", "", False)


def test_a_prompt_can_come_from_a_file_and_from_the_line_and_from_stdin_together(place: Place, serve: Serve) -> None:
    (place.folder / "task.md").write_text("the task\n", "utf-8")
    server = serve([Say("ok")] * 3)
    place.run("-p", "first", "--prompt-file", "task.md", "--memory", "off", stdin="a diff\n", **model_of(server))
    assert last_user(server.chats[0]).endswith("first\n\nthe task\n\n<stdin>\na diff\n</stdin>")


def test_a_folder_beside_can_be_read_searched_and_written_and_no_other(
    place: Place, serve: Serve, tmp_path: Path
) -> None:
    beside, other = tmp_path / "beside", tmp_path / "other"
    for folder in (beside, other):
        folder.mkdir()
        (folder / "words.txt").write_text("a zebra\n", "utf-8")
    calls = [
        Call("read", {"path": f"{beside}/words.txt"}),
        Call("grep", {"pattern": "zebra", "path": str(beside)}),
        Call("glob", {"pattern": "*.txt", "path": str(beside)}),
        Call("write", {"path": f"{beside}/new.txt", "content": "new\n"}),
        Call("write", {"path": f"{beside}/.git/config", "content": "x"}),
        Call("read", {"path": f"{other}/words.txt"}),
    ]
    server = serve(playing([*calls, Say("ok")]))
    place.run("-p", "go", "--add-dir", "../beside", "--trust", "--mode", "edit", **model_of(server))
    told = [message["content"] for message in server.chats[len(calls)]["messages"] if message["role"] == "tool"]
    assert told[0] == "1| a zebra"
    assert told[1] == f"{beside}/words.txt\n  1: a zebra"
    assert told[2] == f"{beside}/words.txt"
    assert (beside / "new.txt").read_text("utf-8") == "new\n"
    assert "protected" in told[4]
    assert "outside the workspace" in told[5]
    assert str(beside) in system_of(server.chats[0])


def test_a_command_in_the_sandbox_may_write_to_a_folder_beside(place: Place, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "other").mkdir()
    command = f"echo in > {tmp_path}/beside/made; echo out > {tmp_path}/other/made"
    server = serve(playing([Call("bash", {"command": command}), Say("ok")]))
    flags = ["--trust", "--mode", "yolo", "--add-dir", str(tmp_path / "beside")]
    done = place.run("-p", "go", *flags, **model_of(server))
    assert (tmp_path / "beside" / "made").exists()
    if "sandbox: none" not in done.stderr:
        assert not (tmp_path / "other" / "made").exists()


@pytest.mark.parametrize(
    ("answers", "printed"),
    [
        (['{"n": 3}'], '{"n": 3}\n'),
        (['Here it is:\n```json\n{"n": 3}\n```'], '{"n": 3}\n'),
        (['{"n": "three"}', '{"n": 3}'], '{"n": 3}\n'),
    ],
)
def test_an_answer_follows_a_schema_or_is_asked_for_once_more(
    place: Place, serve: Serve, answers: list[str], printed: str
) -> None:
    (place.folder / "shape.json").write_text(json.dumps(SCHEMA), "utf-8")
    server = serve(playing([Call("glob", {"pattern": "*"}), *map(Say, answers)]))
    done = place.run("-p", "how many?", "--json-schema", "shape.json", **model_of(server))
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    agents = [body for body in server.chats if tools_of(body)]
    assert len(agents) == 1 + len(answers)
    assert '"additionalProperties": false' in system_of(agents[0])
    assert ["response_format" in body for body in agents] == [False, False, True][: len(agents)]
    assert len(answers) == 1 or "$.n: 'three' is not of type 'integer'" in last_user(agents[-1])


def test_what_follows_the_schema_is_a_value_in_the_result_and_what_does_not_is_text(place: Place, serve: Serve) -> None:
    good, bad = (playing([Say(text)] * 2) for text in ('{"n": 3}', "three"))
    flags = ["-p", "how many?", "--memory", "off", "--json-schema", json.dumps(SCHEMA)]
    told = place.result(*flags, **model_of(serve(good)))
    assert (told["structured_output"], told["subtype"]) == ({"n": 3}, "success")
    told = place.result(*flags, **model_of(serve(bad)))
    assert (told["structured_output"], told["subtype"], told["result"]) == (None, "error_schema", "three")
    assert "not one JSON value" in told["reason"]


def test_the_last_answer_is_also_in_a_file_that_keeps_its_rights_and_is_never_half_written(
    place: Place, serve: Serve, tmp_path: Path
) -> None:
    kept = tmp_path / "answer.md"
    kept.write_text("of yesterday", "utf-8")
    kept.chmod(0o644)
    (tmp_path / "link.md").symlink_to(kept)
    server = serve([Say("the answer")] * 3)
    done = place.run("-p", "go", "-o", str(tmp_path / "link.md"), **model_of(server))
    assert (done.stdout, kept.read_text("utf-8")) == ("the answer\n", "the answer\n")
    assert (stat.S_IMODE(kept.stat().st_mode), (tmp_path / "link.md").is_symlink()) == (0o644, True)
    place.run("-p", "go", "-o", "/dev/null", **model_of(server))
    assert Path("/dev/null").is_char_device()


def test_a_session_gets_the_id_that_it_is_given_and_no_second_one_does(place: Place, serve: Serve) -> None:
    server = serve([Say("one"), Say("two"), Say("three")])
    given = uuid.uuid4()
    model = model_of(server) | {"OGCODE_SCRIBE_LINGER": "0"}
    told = place.result("-p", "go", "--session-id", str(given), **model)
    assert told["session_id"] == given.hex
    again = place.run("-p", "go", "--session-id", str(given), **model)
    assert (again.returncode, "go on with it: --resume" in again.stderr) == (42, True)
    assert place.result("-p", "on", "-r", str(given), **model)["session_id"] == given.hex


def test_a_run_without_persistence_leaves_no_session_and_no_note(place: Place, serve: Serve) -> None:
    told = place.result("-p", "go", "--no-session-persistence", **model_of(serve([Say("ok")])))
    assert (told["memory"]["note"], place.folder.joinpath(".ogcode").exists()) == (None, False)


def test_quiet_says_errors_alone_and_verbose_says_more(place: Place, serve: Serve) -> None:
    (place.folder / "AGENTS.md").touch()
    replies: list[Reply] = [Call("bash", {"command": "ls"}), Call("glob", {"pattern": "*.py"}), Say("ok")]
    assert place.run("-p", "go", "--quiet", **model_of(serve(playing(replies)))).stderr == ""
    limited = place.run("-p", "go", "--quiet", "--max-turns", "1", **model_of(serve(playing(replies))))
    assert limited.stderr == "ogcode: limit: the limit of model requests was reached: 1\n"
    more = place.run("-p", "go", "--verbose", **model_of(serve(playing(replies)))).stderr
    assert all(word in more for word in ("not trusted", "· glob", "  | calc.py", " tokens in, ", ".ogcode/spool/"))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--session-id", "7"], "is no UUID"),
        (["--session-id", str(uuid.UUID(int=7)), "-c"], "needs --fork-session"),
        (["-c", "-r", "x"], "name two sessions"),
        (["--quiet", "--verbose"], "can't be given together"),
        (["--bare", "--memory", "on"], "goes without memory"),
        (["--include-partial-messages"], "needs --output-format stream-json"),
        (["--input-format", "stream-json", "--output-format", "json"], "come on stdin"),
    ],
)
def test_flags_that_can_not_be_meant_together_are_a_usage_error(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parse(["-p", "go", *flags])
    assert (left.value.code, said in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--prompt-file", "nowhere"], "nowhere: it can't be read"),
        (["--system-prompt-file", "."], ".: it can't be read"),
        (["--json-schema", "nowhere"], "nowhere: it can't be read"),
        (["--json-schema", "{"], "the schema is not JSON"),
        (["--json-schema", '{"type": "strange"}'], "it is no JSON schema: $.type"),
        (["--json-schema", '{"$ref": "http://localhost/x"}'], "leads out of the schema"),
        (["--add-dir", "nowhere"], "there is no such folder"),
        (["--add-dir", "/"], "that holds all that is yours"),
        (["--add-dir", ".git"], "not open to tools"),
        (["-o", "/nowhere/x"], "it can't be written"),
    ],
)
def test_what_is_named_and_can_not_be_used_is_bad_input(place: Place, flags: list[str], said: str) -> None:
    done = place.run("-p", "go", *flags, OGCODE_MODEL="openai/x")
    assert (done.returncode, done.stdout, said in done.stderr) == (42, "", True), done.stderr


def test_a_flag_that_means_nothing_in_the_app_is_said_to(place: Place) -> None:
    main, terminal = os.openpty()
    done = subprocess.run(
        [OGCODE, "--json-schema", "x"],
        cwd=place.folder,
        env=place.environ,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(main)
    os.close(terminal)
    assert (done.returncode, done.stderr) == (
        2,
        "ogcode: --json-schema means nothing in the app; add -p to run headless\n",
    )


def test_the_page_of_help_fits_a_terminal_and_the_whole_of_it_has_every_flag(place: Place) -> None:
    page, whole = place.run("--help").stdout, place.run("help", "flags").stdout
    assert max(map(len, page.splitlines())) <= 80
    assert len(page.splitlines()) <= 40
    assert ("exit codes:" in page, "examples:" in page, "--json-schema" in page) == (True, True, False)
    assert all(flag in whole for flag in ("--json-schema", "--add-dir", "--bare", "within 3 seconds", "143 terminated"))
