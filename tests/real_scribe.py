"""The scribe as it really runs, with a model that plays a script."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from remembered import GOOD, a_job, a_memory, spool

from ogcode.agent.index.cache import Memory

STRACE = shutil.which("strace") or ""


def a_scripted_memory(folder: Path) -> Memory:
    memory = a_memory(folder)
    memory.home.mkdir()
    (folder / "script.json").write_text(json.dumps([{"role": "scribe", "replies": [{"text": GOOD}]}]))
    return memory


def turns(memory: Memory, *numbers: int) -> list[str]:
    """Spool turns of a session whose model plays the script; give their ids."""
    model = f"scripted/{memory.home.parent}/script.json"
    return [job.id for job in spool(memory, *[replace(a_job(number), model=model) for number in numbers])]


def scribe_command(memory: Memory, *, linger: float = 0) -> tuple[list[str], dict[str, str]]:
    places = map(str, (memory.root.path, memory.root.top, memory.home))
    environ = {"PATH": os.environ["PATH"], "OGCODE_SCRIBE_LINGER": str(linger)}
    return [sys.executable, "-P", "-E", "-m", "ogcode.scribe", *places], environ


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)
