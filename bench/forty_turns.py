"""What forty turns of one conversation send, each reading a file of 200 lines; and what sending all again would be.

    python bench/forty_turns.py

Tokens are o200k_base over the JSON text of each request's messages and tools, as they went over the wire to the fake
server of the tests.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fake_server import Body, Call, FakeServer, Reply, Say, last_user

from ogcode.agent.events import ignore
from ogcode.agent.models.choice import open_model
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.agent.window.tokens import count
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session

TURNS = 40


def number_of(body: Body) -> int:
    return int(last_user(body).rpartition("part")[2].partition(".")[0])


def script(body: Body) -> Reply:
    if any(message["role"] == "tool" for message in body["messages"]):
        return Say(
            f"part{number_of(body)}.py assigns two hundred numbers to names that count up; nothing else is in it."
        )
    return Call("read", {"path": f"part{number_of(body)}.py"})


async def yes(call: ToolCall) -> Verdict:  # noqa: ARG001  # all is allowed in a sample
    return Verdict(True)


def sent(body: Body) -> int:
    return count(json.dumps(body["messages"])) + count(json.dumps(body["tools"]))


async def main() -> None:
    """Run the conversation and print the figures."""
    with tempfile.TemporaryDirectory() as name, FakeServer(script) as server:
        folder = Path(name) / "repository"
        folder.mkdir()
        for number in range(TURNS):
            lines = "".join(f"line_{number}_{line} = {line}\n" for line in range(200))
            folder.joinpath(f"part{number}.py").write_text(lines, "utf-8")
        environ = {"HOME": name, "PATH": "/usr/bin:/bin", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        here = look_around(folder, environ, utc_now, trust=False)
        session = open_session(here, await open_model("openai/fake", environ=environ), Choice(), memory="on").session
        for number in range(TURNS):
            request = f"Look at part{number}.py and say what it holds."
            await session.ask(request, emit=ignore, approve=yes, limits=Limits())
        requests = [(number_of(body), sent(body), body) for body in server.chats]
    turns = [sum(tokens for turn, tokens, _ in requests if turn == number) for number in range(TURNS)]
    history, replay = 0, list[int]()
    for number in range(TURNS):
        own = [(tokens, body) for turn, tokens, body in requests if turn == number]
        previous = count(own[0][1]["messages"][1]["content"]) - count(f"Look at part{number}.py and say what it holds.")
        replay.append(sum(tokens - max(0, previous) + history for tokens, _ in own))
        last = own[-1][1]["messages"]
        history += count(json.dumps(last[2:])) + count(f"Look at part{number}.py and say what it holds.") + 30
    print(f"turn 2: {turns[1]:,} tokens, turn 40: {turns[-1]:,}, difference {turns[-1] / turns[1] - 1:+.1%}")
    print(f"all forty: {sum(turns):,}; with replay: {sum(replay):,} ({sum(replay) / sum(turns):.1f} times)")
    print(f"turn 40 with replay: {replay[-1]:,} ({replay[-1] / turns[-1]:.1f} times)")


if __name__ == "__main__":
    asyncio.run(main())
