import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Serve
from fake_server import Body, Call, FakeServer, Reply, Say
from stage_cli import NOTE, OGCODE, Place, model_of, new_place, playing, role_of

from ogcode.agent.events import ignore
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.models import librarian_here, model_here
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

RECALL = Call("project_memory_recall", {"question": "What was done to calc.py?"})
ANSWER = "calc.py holds add, and add subtracts; I did not change it. " * 40
"""Too long to be kept word for word: a model writes the note."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path, indoors=True)


async def yes(call: ToolCall, why: str = "") -> Verdict:
    return Verdict(True)


def here_in(place: Place, **environ: str) -> Here:
    place.environ |= environ
    return look_around(place.folder, place.environ, utc_now, trust=True)


def run_scribe(place: Place) -> None:
    command = [sys.executable, "-P", "-E", "-m", "ogcode.scribe", *map(str, (place.folder, place.folder, place.home))]
    subprocess.run(command, env=place.environ, check=True, timeout=60)


def roles(server: FakeServer) -> list[str]:
    return [role_of(body) for body in server.chats]


def recalling(body: Body) -> Reply:
    """Ask memory once a turn, then answer."""
    match role_of(body):
        case "scribe":
            return Say(NOTE)
        case "librarian":
            return Say("add subtracts [1].")
    return Say(ANSWER) if body["messages"][-1]["role"] == "tool" else RECALL


@pytest.mark.parametrize(("turns", "helper"), [(20, ""), (2, "ollama/fake")])
async def test_over_twenty_turns_one_model_is_asked_for_with_one_context(
    place: Place, serve: Serve, turns: int, helper: str
) -> None:
    server = serve(recalling)
    here = here_in(place, OLLAMA_HOST=server.url)
    if helper:
        (place.home / "config.toml").write_text(
            f'[scribe]\nmodel = "{helper}"\n[librarian]\nmodel = "{helper}"\n', "utf-8"
        )
        here = here_in(place)
    model = await model_here(here, "ollama/fake")
    librarian = await librarian_here(here, model)
    opened = open_session(here, model, Choice(), memory="on", librarian=librarian)
    for number in range(turns):
        await opened.session.ask(f"look at calc.py, {number}", emit=ignore, approve=yes, limits=Limits())
    opened.close()
    run_scribe(place)
    assert {role: roles(server).count(role) for role in ("agent", "librarian", "scribe")} == {
        "agent": 2 * turns,
        "librarian": turns - 1,  # in a first turn there is nothing to recall
        "scribe": turns,
    }
    assert {(body["model"], body["options"]["num_ctx"], body["keep_alive"]) for body in server.chats} == {
        ("fake", 16384, "30m")
    }


def test_a_session_goes_from_the_cloud_to_ollama_and_back_and_each_recalls_the_notes_of_the_other(
    place: Place, serve: Serve
) -> None:
    cloud = serve(playing([Say(ANSWER), RECALL, Say("back again")], scribe=Say(NOTE.replace("became", "rained into"))))
    local = serve(
        playing([RECALL, Say(f"Local now. {ANSWER}")], scribe=Say(NOTE.replace("became", "stayed at home as")))
    )
    environ = model_of(cloud) | {"OLLAMA_HOST": local.url}
    first = place.result("-p", "look at calc.py", "--memory-wait", "30", **environ)
    wait = ["--memory-wait", "30", "-c", "-m"]
    second = place.result("-p", "and now?", *wait, "ollama/fake", **environ)
    third = place.result("-p", "and then?", *wait, "openai/fake", **environ)
    assert first["session_id"] == second["session_id"] == third["session_id"]
    assert [second["result"][:9], third["result"]] == ["Local now", "back again"]
    assert roles(local) == ["agent", "librarian", "agent", "scribe"]
    assert "rained into a plus" in next(str(body) for body in local.chats if role_of(body) == "librarian")
    assert "stayed at home as a plus" in next(str(body) for body in cloud.chats if role_of(body) == "librarian")
    assert "Local now." in str(next(body for body in cloud.chats if "and then?" in str(body)))


async def test_another_model_takes_over_with_its_librarian_and_its_scribe(place: Place, serve: Serve) -> None:
    cloud, local = serve(playing([Say(ANSWER)])), serve(recalling, show={"model_info": {"fake.context_length": 8192}})
    place.folder.joinpath("AGENTS.md").write_text("Say moo.\n" * 1_500, "utf-8")
    here = here_in(place, OGCODE_SCRIBE_LINGER="0", OLLAMA_HOST=local.url, **model_of(cloud))
    model = await model_here(here, "openai/fake")
    desk = Conversation(here, model, Choice(), mode="ask", rules=Rules(), limits=Limits(), memory="on")
    await desk.ask("look", emit=ignore, approve=yes)
    assert "8,192" in await desk.use_model("ollama/fake")
    await desk.ask("and now?", emit=ignore, approve=yes)
    desk.close()
    run_scribe(place)
    place.settle()
    assert roles(local)[:3] == ["agent", "librarian", "agent"]
    assert set(roles(local)[3:]) == {"scribe"}
    assert set(roles(cloud)) == {"agent", "scribe"}
    before, after = (str(server.chats[0]["messages"][0]["content"]).count("Say moo.") for server in (cloud, local))
    assert before > 2 * after > 0


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_local_session_connects_to_its_server_and_to_nothing_else(place: Place, serve: Serve, tmp_path: Path) -> None:
    server = serve(recalling)
    log = tmp_path / "trace"
    traced = ["strace", "-f", "-qq", "-e", "trace=connect,sendto", "-e", "signal=none", "-o", str(log)]
    done = subprocess.run(
        [*traced, str(OGCODE), "-p", "look", "-m", "ollama/fake", "--memory-wait", "30"],
        cwd=place.folder,
        env=place.environ | {"OLLAMA_HOST": server.url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "ptrace" in done.stderr and not server.chats:
        pytest.skip("processes can't be traced here")
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER.strip())
    assert "scribe" in roles(server)
    reached = re.findall(r"sin6?_port=htons\((\d+)\)", log.read_text("utf-8", "replace"))
    assert set(reached) == {server.url.rpartition(":")[2]}
