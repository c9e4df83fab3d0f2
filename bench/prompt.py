"""What the prompt costs while it completes in a large repository, and a large paste, in the app as users have it.

    python bench/prompt.py VENV [FILES]

VENV holds ogcode (`bench/startup.py` makes one). A repository of FILES files (100,000) is made for the run. Keys are
sent one by one through a pseudo-terminal; a key's time is from the write to its letter on the screen.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from timed import Terminal

READY = "sk for something"
LETTERS = "бгджзийклмнпфцчшщъыьэюя"
KEYS = 40
WORDS = ("hand", "modsev", "pkg12/mod3", "zzzq", "f77", "core")


def make(top: Path, count: int) -> None:
    """Make a tree as deep and as wide as those that are met, a tenth of it ignored."""
    (top / ".git" / "objects").mkdir(parents=True)
    (top / ".git" / "refs").mkdir()
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (top / ".gitignore").write_text("build/\n*.o\n!keep.o\n/dist\n**/node_modules/\n", "utf-8")
    names = ("handler", "model", "view", "client", "server", "parser", "lexer", "core", "module_seven", "helpers")
    made = 0
    while made < count:
        folder = top / f"pkg{made // 2_000}" / f"mod{made // 100 % 20}" / ("build" if made // 100 % 10 == 9 else "src")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(100):
            (folder / f"{names[number % 10]}_f{number}.py").touch()
        made += 100


def told(name: str, values: list[float], unit: str) -> None:
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    middle = statistics.median(ordered)
    print(f"{name:52} p50 {middle:8.2f}  p95 {high:8.2f}  max {ordered[-1]:8.2f} {unit}  n {len(ordered)}")


def key(terminal: Terminal, letter: str) -> float:
    start, clock = len(terminal.output), time.perf_counter()
    terminal.write(letter)
    terminal.until(letter, start)
    return (time.perf_counter() - clock) * 1e3


def cleared(terminal: Terminal) -> None:
    terminal.write("\x15")
    terminal.settle()


def measure(terminal: Terminal) -> None:
    terminal.until(READY)
    terminal.settle()
    before = terminal.resident
    told("a key, nothing offered", [key(terminal, LETTERS[n % len(LETTERS)]) for n in range(KEYS)], "ms")
    cleared(terminal)
    start, clock, cpu = len(terminal.output), time.perf_counter(), terminal.cpu
    terminal.write("@")
    terminal.until("›", start)
    told("@ to the first suggestions, nothing listed yet", [(time.perf_counter() - clock) * 1e3], "ms")
    busy = [key(terminal, letter) for letter in LETTERS]
    told("a key while the files are being listed", busy, "ms")
    cleared(terminal)
    terminal.write("@")
    while True:  # until the list stands: the app is idle then
        before_it = terminal.cpu
        while terminal.read(0.3):
            pass
        if terminal.cpu - before_it < 0.02:
            break
    print(f"all listed after {time.perf_counter() - clock:.1f} s, {terminal.cpu - cpu:.1f} s CPU")
    told("memory for the list", [terminal.resident - before], "MB")
    firsts, keys, spent = list[float](), list[float](), list[float]()
    for word in WORDS:
        cleared(terminal)
        start, clock = len(terminal.output), time.perf_counter()
        terminal.write("@")
        terminal.until("›", start)
        firsts.append((time.perf_counter() - clock) * 1e3)
        terminal.settle()
        cpu = terminal.cpu
        keys += [key(terminal, letter) for letter in word]
        terminal.settle()
        spent.append((terminal.cpu - cpu) * 1e3 / len(word))
    told("@ to the first suggestions, all listed", firsts, "ms")
    told("a key of a path, typed as fast as it is shown", keys, "ms")
    told("the same, with its search", spent, "ms CPU")
    cleared(terminal)
    pastes, work = list[float](), list[float]()
    for size in (1_000_000,) * 5:
        text = "a line of text that is long enough to be one\n" * (size // 45)
        start, clock, cpu = len(terminal.output), time.perf_counter(), terminal.cpu
        pasted = f"\x1b[200~{text}\x1b[201~".encode()
        while pasted:
            pasted = pasted[os.write(terminal._fd, pasted[:4_096]) :]
            terminal.read(0)
        terminal.until("[pasted", start)
        pastes.append((time.perf_counter() - clock) * 1e3)
        terminal.settle()
        work.append((terminal.cpu - cpu) * 1e3)
        cleared(terminal)
    told("1 MB pasted, to its token", pastes, "ms")
    told("1 MB pasted", work, "ms CPU")


def main() -> None:
    venv, count = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    print(json.dumps({"load": os.getloadavg(), "cpus": os.cpu_count(), "files": count}))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        make(folder / "repository", count)
        script = folder / "script.json"
        script.write_text(json.dumps([{"role": "agent", "replies": [{"text": "hi"}]}]), "utf-8")
        env = {
            **{name: os.environ[name] for name in ("PATH", "LC_ALL") if name in os.environ},
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "OGCODE_MODEL": f"scripted/{script}",
            "OGCODE_TRUST": "1",
            "OGCODE_SCRIBE_LINGER": "0",
        }
        with Terminal([f"{venv}/bin/ogcode"], cwd=folder / "repository", env=env) as terminal:
            measure(terminal)


if __name__ == "__main__":
    main()
