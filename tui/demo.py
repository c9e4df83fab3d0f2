"""`ogcode demo`: real turns in a sample repository, with a scripted model: no key, no model, no network."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap

from ogcode.agent.clean import clean
from ogcode.agent.events import Event, Nested, ToolFinished, ToolStarted, TurnFinished, Warned
from ogcode.agent.models.scripted import ScriptFile
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits
from ogcode.tui.calls import subject
from ogcode.tui.earlier import Choice
from ogcode.tui.headless.run import note_is_there
from ogcode.tui.opened import Opened
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.toolbox import approval
from ogcode.tui.wiring import open_session, start_scribe

LABEL = "[SCRIPTED MODEL: the answers are written beforehand; all else is real]"
PATIENCE = 30.0
"""Seconds to wait for a note."""

REQUESTS = (
    "The total in shop/cart.py is too high with a discount. Find out why and fix it.",
    "A negative quantity should be an error. Add that.",
    "Write both rules into the README.",
)
LATER = "Why do we round discounts down, and what did we decide about negative quantities?"

_FILES = {
    "README.md": "# Shop\n\nA very small cart. Prices are integers in cents.\n",
    "shop/__init__.py": "",
    "shop/cart.py": '''"""A cart."""


class Cart:
    def __init__(self, discount: int = 0) -> None:
        self.discount = discount
        self.lines: list[tuple[str, int, int]] = []

    def add(self, name: str, cents: int, quantity: int = 1) -> None:
        self.lines.append((name, cents, quantity))

    def total(self) -> int:
        subtotal = sum(cents * quantity for _, cents, quantity in self.lines)
        return subtotal - self.discount
''',
    "test_cart.py": """import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_empty_cart_costs_nothing(self) -> None:
        self.assertEqual(Cart().total(), 0)

    def test_quantities_count(self) -> None:
        cart = Cart()
        cart.add("tea", 350, 2)
        self.assertEqual(cart.total(), 700)

    def test_discount_is_a_percentage(self) -> None:
        cart = Cart(discount=10)
        cart.add("tea", 1999)
        self.assertEqual(cart.total(), 1799)


if __name__ == "__main__":
    unittest.main()
""",
}


def run_demo() -> int:
    """Run the demo in a temporary folder, which stays to be looked at; return the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="ogcode-demo-")).resolve()
    repository = folder / "shop-repository"
    for name, text in _FILES.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text, "utf-8")
    _make_repository(repository)
    environ = {**os.environ, "OGCODE_HOME": str(folder / "home"), "HOME": str(folder)}
    here = look_around(repository, environ, utc_now, trust=True)
    _say(f"{LABEL}\n\nA sample repository: {repository}\nIts tests fail: a discount is taken for cents.\n")
    return asyncio.run(_play(here, folder))


async def _play(here: Here, folder: Path) -> int:
    script = folder / "script.json"
    _write_script(script, [])
    opened = open_session(here, ScriptFile(script), Choice(), memory="on")
    notes = list[str]()
    for request in REQUESTS:
        notes.append(await _turn(here, opened, request))
        if not await _shown(here, notes[-1]):
            return 1
    opened.close()
    _say(f"\n{LABEL}\nA new session, which has seen none of this. Its request holds no word of the turns above.\n")
    _write_script(script, notes)
    later = open_session(here, ScriptFile(script), Choice(), memory="on")
    await _turn(here, later, LATER)
    later.close()
    _say(
        f"\nThe notes are plain files: cat {here.root.memory}/*.md\n"
        f"Look around in {here.root.path}; remove it all with: rm -r {folder}\n"
        "Now with a real model, in a repository of yours: ogcode --help"
    )
    return 0


async def _turn(here: Here, opened: Opened, request: str) -> str:
    _say(f"\n> {request}")
    note = ""

    def emit(event: Event) -> None:
        nonlocal note
        match event:
            case ToolStarted(call):
                _say(f"  · {call.name} {subject(call)[:110]}".rstrip())
            case ToolFinished(call, output) if call.name == "project_memory_recall":
                _say(f"      {' '.join(output.split())}")
            case ToolFinished(call, output, failed) if failed or call.name in ("bash", "edit"):
                _say("\n".join(f"      {line[:150]}" for line in output.splitlines()[-5:] if line.strip()))
            case Nested(name, ToolStarted(call)):
                _say(f"    {name}: {call.name} {subject(call)}".rstrip())
            case Warned(text):
                _say(f"  ! {text}")
            case TurnFinished(turn, note, replay):
                _say("\n" + "".join(f"  {line}\n" for line in turn.answer.splitlines()).rstrip())
                saved = (
                    f"; with all earlier turns sent again it would have been {replay:,}" if replay > turn.sent else ""
                )
                _say(f"  [{turn.outcome}, {turn.sent:,} tokens sent{saved}]")

    approve = approval(here, opened, None, mode=lambda: "yolo", rules=Rules(), denials=[])
    await opened.session.ask(request, emit=emit, approve=approve, limits=Limits(requests=10))
    if note:
        start_scribe(here, linger=0.0)
    return note


async def _shown(here: Here, note: str) -> bool:
    """Wait for the note of a turn and show it."""
    deadline = time.monotonic() + PATIENCE
    while not note_is_there(here, note):
        if time.monotonic() > deadline:
            _say(f"  ! the note {note} did not appear; see {here.root.store / 'scribe.log'}")
            return False
        await asyncio.sleep(0.02)
    path = next(iter(here.root.memory.glob(f"{note}--*.md")))
    lines = path.read_text("utf-8").split("\n---\n", 1)[-1].strip().splitlines()
    _say(f"\n  note written: {path.name}\n" + "\n".join(f"    | {line}" for line in lines if line.strip()))
    return True


def _write_script(path: Path, notes: list[str]) -> None:
    """Write the script, with the names of the notes that its librarian opens."""
    text = (
        Path(__file__).with_name("demo.json").read_text("utf-8").replace("{python}", json.dumps(sys.executable)[1:-1])
    )
    for number, note in enumerate(notes, 1):
        text = text.replace(f"{{note{number}}}", note)
    path.write_text(text, "utf-8")


def _make_repository(folder: Path) -> None:
    """Make it a git repository where git is there; it is not needed."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        subprocess.run(["git", "init", "-q"], cwd=folder, env=environ, check=False, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        _say("(git is not installed; the folder itself is the root then)")


def _say(text: str) -> None:
    """Print it; on a terminal no line breaks in the middle of a word."""
    shown = clean(text, prose=True)
    if sys.stdout.isatty():
        width = max(40, get_terminal_size().columns - 1)
        shown = "\n".join(_wrapped(line, width) for line in shown.split("\n"))
    sys.stdout.write(f"{shown}\n")
    sys.stdout.flush()


def _wrapped(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip(" |"))]
    parts = wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts) or line
