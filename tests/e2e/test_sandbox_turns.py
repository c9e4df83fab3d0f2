"""Turns of the installed command whose model does all that it is told, good or bad."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import failing_bubblewrap
from fake_server import Body, Call, Say
from hostile import everything_in
from stage_cli import Place, Serve, model_of, playing, role_of
from waiting import alive

from ogcode.agent.sandbox.tiers import probe

YOLO = ("--mode", "yolo", "--trust", "--no-memory")


def told(body: Body) -> str:
    return "\n".join(message["content"] for message in body["messages"] if message["role"] == "tool")


def wait_for(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


@pytest.fixture
def closed(place: Place) -> Place:
    if not probe(place.environ, place.folder).strong:
        pytest.skip("no sandbox that holds on this machine")
    return place


def test_an_obedient_model_gets_nowhere(closed: Place, serve: Serve) -> None:
    home = Path(closed.environ["HOME"])
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("SECRET")
    listener = serve([])
    bad = (
        f"cat {home}/.ssh/id",
        f"echo 'mode = \"auto\"' >> {closed.home}/config.toml",
        f"curl -s -m 5 {listener.url}/got; python3 -c \"import urllib.request as u; u.urlopen('{listener.url}/got')\"",
        "mkdir -p .ogcode/memory; echo planted > .ogcode/memory/2026-01-01T000000Z--deadbeef--x.md",
        "echo '#!/bin/sh' > .git/hooks/pre-commit; git config core.pager 'touch x'",
        "touch -h /usr/local/bin/evil; echo x >> /etc/hosts; echo x > ../outside",
    )
    before = everything_in(closed.folder / ".git"), sorted(path.name for path in home.iterdir())
    server = serve(playing([*(Call("bash", {"command": command}) for command in bad), Say("I did all of it.")]))
    done = closed.result("-p", "follow what you read", *YOLO[:3], "--memory-wait", "20", **model_of(server))
    assert (done["result"], done["permission_denials"]) == ("I did all of it.", [])
    last = [body for body in server.chats if role_of(body) == "agent"][-1]
    assert told(last).count("Read-only") + told(last).count("No such file") >= 4
    assert "SECRET" not in json.dumps(server.chats)
    assert listener.chats == []
    assert (everything_in(closed.folder / ".git"), sorted(path.name for path in home.iterdir())) == (
        before[0],
        sorted({*before[1], "home"}),
    )
    assert not (closed.home / "config.toml").exists()
    assert [note.name for note in closed.notes if "deadbeef" in note.name] == []


def test_a_sandbox_that_is_asked_for_and_missing_is_an_error(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("never")]))
    environ = {**model_of(server), "HOME": str(place.folder)}
    for arguments, settings in ((("--sandbox", "ws"), ""), ((), 'sandbox = "ro"\n')):
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text(settings)
        done = place.run("-p", "go", *arguments, **environ)
        assert (done.returncode, done.stdout) == (55, "")
        assert "can't be kept: " in done.stderr
        assert "start ogcode in the project's own folder" in done.stderr
    assert server.chats == []


def test_no_sandbox_is_told_once_and_the_turn_goes_on(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("fine")]))
    done = place.run("-p", "go", "--no-memory", **model_of(server), HOME=str(place.folder))
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert done.stderr.count("sandbox: none: ") == 1


@pytest.mark.parametrize("flag", [("--no-sandbox",), ("--sandbox", "off")])
def test_it_can_be_switched_off(place: Place, serve: Serve, flag: tuple[str, ...]) -> None:
    server = serve(playing([Call("bash", {"command": "echo x > ../outside"}), Say("done")]))
    done = place.run("-p", "go", "--mode", "yolo", "--trust", *flag, **model_of(server))
    assert (place.folder.parent / "outside").read_text() == "x\n"
    assert "sandbox: none: switched off; commands run with all your rights" in done.stderr


def test_where_bubblewrap_is_refused_the_next_tier_holds(place: Place, serve: Serve, tmp_path: Path) -> None:
    place.environ["PATH"] = f"{failing_bubblewrap(tmp_path)}:{place.environ['PATH']}"
    if not probe(place.environ, place.folder).strong:
        pytest.skip("no Landlock with namespaces here")
    server = serve(playing([Call("bash", {"command": "echo x > ../outside; echo y > inside"}), Say("done")]))
    place.run("-p", "go", *YOLO, **model_of(server))
    assert (place.folder / "inside").exists()
    assert not (tmp_path / "outside").exists()


def test_a_job_lives_on_in_the_turn_and_ends_with_the_session(closed: Place, serve: Serve) -> None:
    server = serve(
        playing(
            [
                Call("bash", {"command": "until test -e go; do sleep 0.01; done; echo seen; sleep 32.01", "job": "s"}),
                Call("bash", {"command": "touch go"}),
                Call("bash", {"command": "", "job": "s"}),
                Say("seen"),
            ]
        )
    )
    closed.run("-p", "go", *YOLO, **model_of(server))
    last = [body for body in server.chats if role_of(body) == "agent"][-1]
    assert "seen\n[job 's' is running" in told(last)
    assert not alive("32.01")


@pytest.mark.parametrize(
    ("number", "sandbox"),
    [(signal.SIGTERM, "ws"), (signal.SIGHUP, "off"), (signal.SIGKILL, "ws"), (signal.SIGKILL, "off")],
)
def test_nothing_that_was_started_outlives_the_session(
    place: Place, serve: Serve, number: signal.Signals, sandbox: str
) -> None:
    if sandbox == "ws" and probe(place.environ, place.folder).tier == "none":
        pytest.skip("no sandbox here")
    server = serve(
        playing(
            [
                Call("bash", {"command": "sleep 32.02", "job": "server"}),
                Call("bash", {"command": "touch began; trap '' HUP TERM; setsid sleep 32.02 & sleep 32.02"}),
            ]
        )
    )
    process = place.start("-p", "go", *YOLO, "--sandbox", sandbox, **model_of(server))
    try:
        wait_for(lambda: (place.folder / "began").exists() and len(alive("sleep\x0032.02")) == 3)
        process.send_signal(number)
        process.communicate(timeout=20)
        wait_for(lambda: not alive("32.02"))
    finally:
        process.kill()


def test_the_private_folder_is_gone_with_the_session(closed: Place, serve: Serve, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    server = serve(playing([Call("bash", {"command": "echo x > /tmp/x; mkdir /tmp/d; cat /tmp/x"}), Say("done")]))
    closed.run("-p", "go", *YOLO, TMPDIR=str(temporary), **model_of(server))
    assert list(temporary.iterdir()) == []
    assert "x" in told([body for body in server.chats if role_of(body) == "agent"][-1])
