"""How full a small window gets when a turn reads thirty files of 200 lines, greps, edits and runs a command.

    python bench/window.py [URL]

The turn is scripted, the tools are the real ones. Each request is counted by o200k_base over its JSON text; with the
URL of a llama.cpp server, also by that model's own template and vocabulary, which is what its window holds. Three kinds
of files: code, columns of numbers, and Chinese comments.
"""

import asyncio
import json
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from test_small_window import FILES, REQUEST, RESERVE, WINDOW, Worker, as_sent, is_summary, thirty_files, wire, yes

from ogcode.agent.events import ignore
from ogcode.agent.model import ToolSpec
from ogcode.agent.turn import Limits, Message
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session

KINDS: dict[str, Callable[[int], str]] = {
    "code": lambda line: f"value_{line} = compute({line}, {line * 7919})",
    "numbers": lambda line: " ".join(str(line * each * 7919 % 99_991) for each in range(1, 9)),
    "Chinese": lambda line: f"# 第{line}行：重试次数为五次，队列长度{line * 13}，超时后放弃并记录错误",
}


def posted(url: str, body: object) -> dict[str, str]:
    """Ask the server."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        told: dict[str, str] = json.load(answer)
    return told


def counted(url: str, messages: Sequence[Message], specs: Sequence[ToolSpec]) -> int:
    """Count a request as the server's model would see it."""
    tools = [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.parameters}}
        for s in specs
    ]
    body = {"messages": [wire(each) for each in messages], **({"tools": tools} if tools else {})}
    prompt = posted(f"{url}/apply-template", body)["prompt"]
    return len(posted(f"{url}/tokenize", {"content": prompt})["tokens"])


async def measure(kind: str, url: str) -> str:
    """Run the turn over files of a kind; tell its figures."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name, "repository")
        top.mkdir()
        for number in range(FILES):
            lines = [KINDS[kind](line) for line in range(200)]
            lines[120] = "LIMIT = 10"
            top.joinpath(f"part{number}.py").write_text("\n".join(lines) + "\n", "utf-8")
        here = look_around(
            top, {"HOME": name, "OGCODE_HOME": f"{name}/home", "PATH": "/usr/bin:/bin"}, utc_now, trust=True
        )
        model = Worker(thirty_files()).model()
        session = open_session(here, model, Choice(), memory="off").session
        turn = await session.ask(REQUEST, emit=ignore, approve=yes, limits=Limits())
    rooms = [WINDOW - (WINDOW // 8 if is_summary(asked) else RESERVE) for asked in model.asked]
    told = f"{kind}: {turn.outcome} in {turn.requests} requests and {len(rooms) - turn.requests} summaries"
    counts = {"o200k": as_sent(model)}
    if url:
        counts["its own"] = [counted(url, *each) for each in zip(model.asked, model.offered, strict=True)]
    for vocabulary, sizes in counts.items():
        over = sum(size > room for size, room in zip(sizes, rooms, strict=True))
        told += f"; by {vocabulary} at most {max(sizes):,} tokens, {over} over"
    return told


def main() -> None:
    """Print the figures of each kind."""
    print(f"window {WINDOW:,}, of which {RESERVE:,} are kept for an answer, {WINDOW // 8:,} for a summary")
    for kind in KINDS:
        print(asyncio.run(measure(kind, sys.argv[1] if len(sys.argv) > 1 else "")))


if __name__ == "__main__":
    main()
