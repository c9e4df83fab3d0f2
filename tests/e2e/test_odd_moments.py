import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from fake_server import Body, Call, Fail, Reply, Say, Stall, last_user
from hostile import everything_in
from stage_cli import OGCODE, Place, Serve, end_scribe, model_of, new_place, playing, role_of

SLOW = Call("bash", {"command": "echo begun > begun; sleep 60"})


def shell(place: Place, script: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of bash in which `$O` is ogcode."""
    return subprocess.run(
        ["bash", "-c", script],
        cwd=place.folder,
        env={**place.environ, "O": str(OGCODE), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("script", "code", "out", "said"),
    [
        ("$O --version >&-", 0, "", ""),
        ("$O --version >/dev/full", 1, "", "ogcode: No space left on device\n"),
        ("set -o pipefail; $O --help | true", 0, "", ""),
        ("$O -p go >/dev/full", 1, "", "ogcode: No space left on device\n"),
        ("$O -p go 2>&-", 0, "fine\n", ""),
        ("$O -p go <&-", 0, "fine\n", ""),
        ("$O -p - <&-", 42, "", "the prompt is empty"),
        ("unset HOME OGCODE_HOME; $O memory path >/dev/null", 0, "", ""),
        ("mkdir d; cd d; rmdir ../d; $O -p go", 1, "", "ogcode: the working folder is gone; change to one"),
        ("mkdir d; cd d; rmdir ../d; $O -p go -C $HOME/repo", 0, "fine\n", ""),
        ("d=$'d\\xff'; mkdir $d; cd $d; git init -q; $O -p go --memory-wait 9; $O memory list", 0, "fine\n2", ""),
        ("d=$'d\\xff'; mkdir $d; cd $d; git init -q; $O -p go >/dev/null; $O -p -c on", 0, "on too\n", ""),
        ("$O -p $'go \\xff' && $O -p -c on", 0, "fine\non too\n", ""),
        ("PYTHONIOENCODING=ascii $O -p letters", 0, "caf? ??\n", ""),
        ("head -c 2000001 /dev/zero | $O -p go", 42, "", "larger than 2,000,000 bytes"),
    ],
)
def test_streams_and_folders_in_a_bad_state_cost_no_answer_and_no_traceback(
    place: Place, serve: Serve, script: str, code: int, out: str, said: str
) -> None:
    def script_of(body: Body) -> Reply:
        words = last_user(body).rpartition("\n\n")[2]
        answers = {"letters": Say("café ✓✓"), "on": Say("on too")}
        return answers.get(words, Say("fine")) if role_of(body) == "agent" else Say("short")

    done = shell(place, script, **model_of(serve(script_of)))
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert out or not done.stdout
    assert said in done.stderr
    assert said or not done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-p", "x", "--max-turns", "many"], 2, "--max-turns: 'many' is not a positive whole number"),
        (["-p", "x", "--time-limit", "nan"], 2, "--time-limit: 'nan' is not a positive number"),
        (["-p", "x", "-r", ""], 2, "it names nothing; ogcode sessions lists"),
        (["-p", "x", "-r"], 2, "--resume without an ID picks a session in the app"),
        (["-p", "x", "--modle", "y"], 2, "there is no flag --modle; did you mean --model?"),
        (["-p", "x", "--full-auto"], 2, "there is no flag --full-auto; did you mean --mode auto?"),
        (["-p", "x", "--frobnicate=1"], 2, "there is no flag --frobnicate; ogcode help flags lists all"),
        (["-p", "fix", "the", "test"], 2, "'the' is one word too many; put the prompt into quotes"),
        (["memory", "wait", "long"], 2, "usage: ogcode memory"),
        (["memory", "wait", "nan"], 2, "usage: ogcode memory"),
        (["recall", "what", "--conversation"], 2, "usage: ogcode recall"),
        (["sessions", "frobnicate"], 2, "usage: ogcode sessions"),
    ],
)
def test_what_can_not_be_meant_is_said_to_be_wrong(place: Place, arguments: list[str], code: int, said: str) -> None:
    done = place.run(*arguments)
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr


def test_a_flag_that_makes_no_sense_is_one_line(place: Place) -> None:
    assert place.run("-p", "x", "--mode", "edti").stderr.count("\n") == 1


@pytest.mark.parametrize(("names", "titles"), [([], 2), (["result"], 1), (["events"], 1)])
def test_the_shapes_of_what_is_printed_can_be_printed(place: Place, names: list[str], titles: int) -> None:
    done = place.run("schema", *names)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [bool(each["title"]) for each in ([told] if names else told.values())] == [True] * titles


@pytest.mark.parametrize("command", ["recall", "memory", "sessions", "models", "doctor", "demo"])
def test_every_command_can_be_asked_how_it_is_used(place: Place, command: str) -> None:
    done = place.run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: ogcode {command}")


def test_looking_at_a_memory_that_is_not_there_leaves_nothing_behind(place: Place, serve: Serve) -> None:
    before = everything_in(place.folder)
    environ = model_of(serve(playing([Call("project_memory_recall", {"question": "x"}), Say("ok")])))
    for arguments in (["memory", "list"], ["-p", "go", "--memory", "read"]):
        assert place.run(*arguments, **environ).returncode == 0
    assert everything_in(place.folder) == before
    assert not place.folder.joinpath(".ogcode").exists()


def test_without_a_writable_home_a_run_goes_on_and_says_what_that_means(place: Place, serve: Serve) -> None:
    place.folder.joinpath("AGENTS.md").write_text("SAY MOO", "utf-8")
    server = serve(playing([Say("moo")]))
    done = place.run("-p", "go", "--trust", **model_of(server) | {"OGCODE_HOME": "/proc/nowhere"})
    assert (done.returncode, done.stdout) == (0, "moo\n")
    assert "trust lasts for this run" in done.stderr
    assert "will not count as your own" in done.stderr
    assert "SAY MOO" in json.dumps(server.chats[0])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_a_command_runs_ends_it_and_records_the_turn(
    place: Place, serve: Serve, number: signal.Signals, code: int
) -> None:
    server = serve(playing([SLOW], scribe=Fail(401)))
    process = place.start(
        *("-p", "go", "--trust", "--mode", "yolo", "--output-format", "stream-json", "--memory-wait", "9"),
        **model_of(server),
    )
    assert process.stdout
    lines = iter(process.stdout.readline, "")
    assert [json.loads(next(lines))["type"] for _ in range(2)] == ["system", "assistant"]
    process.send_signal(number)
    last = [json.loads(line) for line in lines][-1]
    assert (process.wait(20), last["type"], last["exit_code"]) == (code, "result", code)
    assert "sleep 60" in place.notes[0].read_text("utf-8")


def test_a_signal_while_the_note_is_awaited_ends_the_wait_and_loses_nothing(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("the whole answer")], scribe=Stall()))
    process = place.start("-p", "explain " * 300, "--memory-wait", "50", **model_of(server))
    assert server.stalled.wait(20)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (143, "the whole answer\n")
    assert len(list(place.folder.glob(".ogcode/spool/*.json"))) == 1
    end_scribe(place)


def test_a_run_under_nohup_outlives_its_terminal(place: Place, serve: Serve) -> None:
    server = serve(playing([Stall("half")]))
    arguments = ["-p", "go", "--time-limit", "1"]
    process = subprocess.Popen(
        ["nohup", OGCODE, *arguments],
        cwd=place.folder,
        env={**place.environ, **model_of(server)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stalled.wait(20)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)
    assert process.returncode == 3


def test_a_time_limit_ends_a_running_command_and_the_turn_is_remembered(place: Place, serve: Serve) -> None:
    server = serve(playing([SLOW], scribe=Fail(401)))
    told = place.result(
        *("-p", "go", "--trust", "--mode", "yolo", "--time-limit", "1", "--memory-wait", "9"), **model_of(server)
    )
    assert (told["exit_code"], told["subtype"], told["memory"]["pending"]) == (3, "error_time_limit", False)
    assert 'outcome: "limit"' in place.notes[0].read_text("utf-8")


def test_a_reader_that_leaves_ends_the_run_quietly_with_the_turn_recorded(place: Place, serve: Serve) -> None:
    server = serve(playing([(Say("looking"), Call("glob", {"pattern": "*"}))] * 3))
    done = shell(place, "$O -p go --output-format stream-json | head -c 1 >/dev/null", **model_of(server))
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert place.run("memory", "wait", "10").returncode == 0
    assert len(place.notes) == 1


def test_two_runs_in_one_session_part_and_the_fork_does_not_see_what_the_other_does(place: Place, serve: Serve) -> None:
    agent: list[Reply] = [Say("first"), Stall("the zebra"), Call("memory_recall", {"question": "zebra"}), Say("forked")]
    server = serve(playing(agent))
    model = model_of(server)
    first = place.result("-p", "one", "--memory-wait", "20", **model)
    running = place.start("-p", "-c", "what about the zebra", **model)
    assert server.stalled.wait(20)
    forked = place.result("-p", "-c", "two", **model)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=20)
    assert forked["result"] == "forked"
    assert forked["session_id"] != first["session_id"]
    [head] = [
        json.loads(path.read_text("utf-8").splitlines()[0])
        for path in place.folder.glob(f".ogcode/sessions/{forked['session_id']}.jsonl")
    ]
    assert head["parents"] == {first["session_id"]: 1}


def test_a_session_that_has_to_be_mended_does_not_become_the_latest_one(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("killed"), Stall("half"), Say("latest"), Say("went on")]))
    model = model_of(server)
    killed = place.result("-p", "one", **model)
    running = place.start("-p", "-c", "two", **model)
    assert server.stalled.wait(20)
    latest = place.result("-p", "three", **model)
    running.kill()
    running.communicate()
    again = place.result("-p", "-c", "four", **model)
    assert again["session_id"] == latest["session_id"] != killed["session_id"]


def test_pipes_links_and_folders_in_the_place_of_files_hold_nobody_up(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("one"), Say("two")]))
    place.run("-p", "go", "--trust", "--memory-wait", "9", **model_of(server))
    store = place.folder / ".ogcode"
    for name in ("sessions/x.jsonl", "memory/x.md", "spool/x.json", "locks/session-x", "../MEMORY.md"):
        os.mkfifo(store / name)
    for name in ("sessions/y.jsonl", "locks/session-y", "memory/y.md", "spool/y.json"):
        store.joinpath(name).symlink_to("nowhere")
    for name in ("sessions/z.jsonl", "locks/session-z", "memory/z.md", "spool/z.json", "../AGENTS.md"):
        store.joinpath(name).mkdir()
    for command, shown in ((["sessions"], "go"), (["memory", "status"], "notes: 1"), (["-p", "-c", "on"], "two")):
        done = place.run(*command, **model_of(server))
        assert (done.returncode, shown in done.stdout) == (0, True), command


def test_rules_and_facts_of_the_user_may_be_links_and_those_of_a_repository_stay_inside(
    place: Place, serve: Serve, tmp_path: Path
) -> None:
    dots = new_place(tmp_path, "dotfiles", git=False).folder
    (dots / "mine.md").write_text("user rule", "utf-8")
    (dots / "evil.md").write_text("outside rule", "utf-8")
    place.home.mkdir()
    place.home.joinpath("AGENTS.md").symlink_to(dots / "mine.md")
    place.folder.joinpath("docs").mkdir()
    place.folder.joinpath("docs", "rules.md").write_text("project rule", "utf-8")
    place.folder.joinpath("AGENTS.md").symlink_to("docs/rules.md")
    place.folder.joinpath("AGENT.md").symlink_to(dots / "evil.md")
    server = serve(playing([Say("ok")]))
    place.run("-p", "go", "--trust", **model_of(server))
    system = json.dumps(server.chats[0])
    assert [rule in system for rule in ("user rule", "project rule", "outside rule")] == [True, True, False]


def test_a_key_that_is_no_secret_takes_no_letters_out_of_what_a_server_says(place: Place, serve: Serve) -> None:
    server = serve(playing([Fail(400, {"error": {"message": "the maximum context length is exceeded"}})] * 2))
    done = place.run("-p", "go", **model_of(server) | {"OPENAI_API_KEY": "x"})
    assert "larger than its window (the maximum context length is exceeded)" in done.stderr
