"""How long Esc takes, from the key to a turn that is recorded and said to be over.

    python bench/interrupt.py OGCODE [RUNS]

OGCODE is the installed command. Half of the runs hang in the model's answer, half in a command. Wall clock, since that
is what a person waits; the pseudo-terminal is read as fast as it is written.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect

CALL = {"name": "bash", "arguments": {"command": "touch begun; sleep 1000"}}
HANGS = {
    "a model": {"text": "one two three " * 400, "delay": 0.5},
    "a command": {"text": "", "calls": [CALL]},
}


def run(ogcode: str, kind: str, folder: Path) -> float:
    """Give the seconds until the app says that the turn is over; by then it is recorded."""
    script = folder / "script.json"
    replies = [{"role": "agent", "replies": [HANGS[kind]]}, {"role": "scribe", "replies": [{"error": "broken"}]}]
    script.write_text(json.dumps(replies), "utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "OGCODE_HOME": str(folder / "home")}
    environ |= {"OGCODE_MODEL": f"scripted/{script}", "OGCODE_TRUST": "1", "OGCODE_SCRIBE_LINGER": "0"}
    environ |= {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    place = folder / "repo"
    place.mkdir()
    words = ["--mode", "yolo", "go on"]
    child = pexpect.spawn(ogcode, words, cwd=str(place), env=environ, dimensions=(24, 80), timeout=30)
    child.delaybeforesend = None
    if kind == "a model":
        child.expect("two three")
    else:
        while not (place / "begun").exists():
            child.expect([".+", pexpect.TIMEOUT], timeout=0.05)
    began = time.monotonic()
    child.send("\x1b")
    child.expect("/continue")
    over = time.monotonic() - began
    spooled = [*(place / ".ogcode" / "spool").glob("*.json"), *(place / ".ogcode" / "memory").glob("*.md")]
    assert spooled, "the turn is not recorded"
    child.send("\x04")
    child.expect(pexpect.EOF)
    child.close()
    return over


def main() -> None:
    ogcode, runs = str(Path(sys.argv[1]).absolute()), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    for kind in HANGS:
        taken = list[float]()
        for _ in range(runs):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                taken.append(run(ogcode, kind, Path(folder)) * 1e3)
        taken.sort()
        print(  # what it is for
            f"Esc in {kind}: median {statistics.median(taken):.0f} ms, p95 {taken[int(0.95 * (len(taken) - 1))]:.0f}, "
            f"{taken[0]:.0f} to {taken[-1]:.0f}, n={len(taken)}"
        )


if __name__ == "__main__":
    main()
