"""The promise on the wire: turn 40 costs what turn 2 cost, and holds nothing older than the previous answer."""

import json
from collections.abc import Callable
from pathlib import Path

from fake_server import Body, Call, FakeServer, Reply, Say, last_user

from ogcode.agent.events import Event, TurnFinished
from ogcode.agent.models.choice import open_model
from ogcode.agent.turn import Limits, ToolCall, Turn, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session

TURNS = 40


def script(body: Body) -> Reply:
    number = number_of(body)
    if any(message["role"] == "tool" for message in body["messages"]):
        return Say(f"ANSWER-{number}-END: part{number}.py holds two hundred numbers.")
    return Call("read", {"path": f"part{number}.py"})


def number_of(body: Body) -> int:
    return int(last_user(body).rpartition("part")[2].partition(".")[0])


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


async def test_turn_40_costs_what_turn_2_did_and_holds_no_byte_of_an_older_one(
    tmp_path: Path, serve: Callable[..., FakeServer]
) -> None:
    for number in range(TURNS):
        lines = "".join(f"line_{number}_{line} = {line}\n" for line in range(200))
        tmp_path.joinpath(f"part{number}.py").write_text(lines, "utf-8")
    server = serve(script)
    environ = {
        "HOME": str(tmp_path / "h"),
        "OGCODE_HOME": str(tmp_path / "h" / ".ogcode"),
        "PATH": "/usr/bin:/bin",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": "k",
    }
    here = look_around(tmp_path, environ, utc_now, trust=False)
    session = open_session(here, await open_model("openai/fake", environ=environ), Choice(), memory="on").session
    turns = list[Turn]()
    replay = list[int]()

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished):
            turns.append(event.turn)
            replay.append(event.replay_tokens)

    for number in range(TURNS):
        request = f"REQUEST-{number}-END: look at part{number}.py"
        await session.ask(request, emit=emit, approve=yes, limits=Limits())

    assert abs(turns[39].sent - turns[1].sent) <= 0.05 * turns[1].sent
    assert replay[39] > 20 * turns[39].sent
    assert sum(turn.sent for turn in turns) <= 220_000
    for body in server.chats:
        text, number = json.dumps(body), number_of(body)
        for old in range(number):
            assert f"REQUEST-{old}-END" not in text
            assert f"line_{old}_7 " not in text
            assert (f"ANSWER-{old}-END" in text) == (old == number - 1)
