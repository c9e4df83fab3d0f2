"""What the app costs: CPU time and memory, beside a bare Textual app with one Input in the same run.

    python bench/app.py VENV [start] [keys] [stream] [busy] [turns] [idle]

VENV holds ogcode as users have it (`bench/startup.py` makes one). Without names all parts run, which takes minutes.
Each program has a pseudo-terminal of ours; times are CPU time of the whole process, so that another one's load counts
little, and each ratio is of two medians of the same run.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from timed import Terminal

HERE = Path(__file__).parent
RUNS = 20
KEYS = 60
LETTERS = "бгджзийклмнпфцчшщъыьэюя"
"""None of them is in what the programs say, nor in a control sequence."""

BARE = """
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input(placeholder="Ask for something")

Bare().run()
"""
READY = "sk for something"


def line(name: str, values: Sequence[float], unit: str, least: Sequence[float] = ()) -> None:
    ordered = sorted(values)
    middle, high = statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    told = f"{name:44} p50 {middle:9.2f}  p95 {high:9.2f}  min {ordered[0]:8.2f} {unit}  n {len(ordered)}"
    if least:
        bare = sorted(least)
        bare_high = bare[min(len(bare) - 1, round(0.95 * (len(bare) - 1)))]
        told += f"  × bare: p50 {middle / statistics.median(bare):.2f}, p95 {high / bare_high:.2f}"
    print(told, flush=True)


class Bench:
    def __init__(self, venv: Path, folder: Path) -> None:
        self._python, self._ogcode = f"{venv}/bin/python", f"{venv}/bin/ogcode"
        self._folder = folder
        (folder / "repository" / ".git" / "objects").mkdir(parents=True)
        (folder / "repository" / ".git" / "refs").mkdir()
        (folder / "repository" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
        script = folder / "script.json"
        script.write_text(json.dumps([{"role": "agent", "replies": [{"text": "hi"}]}]), "utf-8")
        self._env: Mapping[str, str] = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "OGCODE_MODEL": f"scripted/{script}",
            "OGCODE_TRUST": "1",  # no question before the app
            "OGCODE_SCRIBE_LINGER": "0",
        }

    def run(self, *command: str) -> Terminal:
        return Terminal(command, cwd=self._folder / "repository", env=self._env)

    def bare(self) -> Terminal:
        return self.run(self._python, "-c", BARE)

    def stand(self, *arguments: float) -> Terminal:
        return self.run(self._python, str(HERE / "stand.py"), *map(str, arguments))

    def start(self) -> None:
        """From nothing to the first frame, and to the first key that is shown."""
        frames, lives, sizes = ({"bare": list[float](), "ogcode": list[float]()} for _ in range(3))
        empty = list[float]()
        for run in range(RUNS + 1):
            for name, command in (("bare", (self._python, "-c", BARE)), ("ogcode", (self._ogcode,))):
                with self.run(*command) as terminal:
                    frame = terminal.until(READY)
                    terminal.until("\x1b[?1004h")
                    terminal.write("ж")
                    live = terminal.until("ж")
                    if run:
                        frames[name].append(frame * 1e3)
                        lives[name].append(live * 1e3)
                        sizes[name].append(terminal.resident)
            with self.run(self._python, "-I", "-S", "-c", "print('up', flush=True); input()") as terminal:
                empty += [terminal.until("up") * 1e3] if run else []
        line("an empty Python", empty, "ms CPU", frames["bare"])
        for name in frames:
            line(f"{name}: first frame", frames[name], "ms CPU", frames["bare"])
            line(f"{name}: live", lives[name], "ms CPU", lives["bare"])
            line(f"{name}: resident when live", sizes[name], "MB", sizes["bare"])

    def keys(self) -> None:
        """A key and its letter on the screen; all programs take turns, key by key."""
        programs = {
            "bare": self.bare(),
            "ogcode, empty": self.stand(0),
            "ogcode, 10,000 lines": self.stand(500),
        }
        work, waits, sent = ({name: list[float]() for name in programs} for _ in range(3))
        for terminal in programs.values():
            terminal.until(READY)
            terminal.settle()
        for number in range(KEYS + 3):
            for name, terminal in programs.items():
                letter = LETTERS[number % len(LETTERS)]
                start, began, clock = len(terminal.output), terminal.cpu, time.perf_counter()
                terminal.write(letter)
                terminal.until(letter, start)
                waited = time.perf_counter() - clock
                terminal.settle()
                if number > 2:
                    work[name].append((terminal.cpu - began) * 1e3)
                    waits[name].append(waited * 1e3)
                    sent[name].append(len(terminal.output) - start)
        for name, terminal in programs.items():
            line(f"key, {name}", work[name], "ms CPU", work["bare"])
            line(f"key to screen, {name}", waits[name], "ms", waits["bare"])
            line(f"written a key, {name}", sent[name], "bytes", sent["bare"])
            line(f"resident, {name}", [terminal.resident], "MB")
            terminal.__exit__(None, None, None)

    def stream(self) -> None:
        """20 kB of markdown at 60 tokens a second: the share of one core."""
        with self.stand(0, 60, 20_000) as terminal:
            terminal.until(READY)
            terminal.settle()
            began, clock, start = terminal.cpu, time.monotonic(), len(terminal.output)
            terminal.write("go\r")
            terminal.until("note 2026", start)
            spent, passed = terminal.cpu - began, time.monotonic() - clock
            line("streaming 20 kB at 60 tokens/s", [100 * spent / passed], "% of a core")
            line("written while streaming", [(len(terminal.output) - start) / 1000], "kB")

    def busy(self) -> None:
        """Keys while an answer streams at 200 tokens a second and a command floods."""
        with self.bare() as bare, self.stand(500, 200, 40_000, 50) as terminal:
            waits = {"bare": list[float](), "ogcode": list[float]()}
            for each in (bare, terminal):
                each.until(READY)
                each.settle()
            terminal.write("go\r")
            terminal.until("Part")
            for number in range(KEYS):
                for name, each in (("bare", bare), ("ogcode", terminal)):
                    letter, start, clock = LETTERS[number % len(LETTERS)], len(each.output), time.perf_counter()
                    each.write(letter)
                    each.until(letter, start)
                    waits[name].append((time.perf_counter() - clock) * 1e3)
                terminal.read(0.2)
                while terminal.read(0.01):
                    pass
            for name in waits:
                line(f"key to screen while all is busy, {name}", waits[name], "ms", waits["bare"])

    def turns(self) -> None:
        """Resizing and memory at turn 5 and at turn 500, resumed and lived through."""
        sizes = dict[int, float]()
        for count in (5, 500):
            with self.stand(count) as terminal:
                terminal.until(READY)
                terminal.settle()
                spent = list[float]()
                for width in (90, 110, 80, 120, 100) * 4:
                    began = terminal.cpu
                    terminal.resize(width, 30)
                    terminal.settle()
                    spent.append((terminal.cpu - began) * 1e3)
                sizes[count] = terminal.resident
                line(f"a resize at turn {count}, resumed", spent, "ms CPU")
                line(f"resident at turn {count}, resumed", [sizes[count]], "MB")
        with self.stand(0) as terminal:
            terminal.until(READY)
            for count in range(1, 501):
                start = len(terminal.output)
                terminal.write(f"message {count}\r")
                terminal.until("note 2026", start)
                if count in (5, 500):
                    terminal.settle()
                    sizes[count] = terminal.resident
                    line(f"resident at turn {count}, lived", [sizes[count]], "MB")
            spent = []
            for width in (90, 110, 80, 120, 100) * 4:
                began = terminal.cpu
                terminal.resize(width, 30)
                terminal.settle()
                spent.append((terminal.cpu - began) * 1e3)
            line("a resize at turn 500, lived", spent, "ms CPU")
            print(f"resident at turn 500 / at turn 5: {sizes[500] / sizes[5]:.2f}")

    def idle(self) -> None:
        with self.bare() as bare, self.stand(500) as terminal:
            for each in (bare, terminal):
                each.until(READY)
                each.settle()
            began, bare_began, clock = terminal.cpu, bare.cpu, time.monotonic()
            while time.monotonic() - clock < 20:
                terminal.read(0.2)
                bare.read(0.01)
            passed = time.monotonic() - clock
            line(
                "idle", [100 * (terminal.cpu - began) / passed], "% of a core", [100 * (bare.cpu - bare_began) / passed]
            )


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        bench = Bench(Path(sys.argv[1]).absolute(), Path(temporary))
        parts = {
            "start": bench.start,
            "keys": bench.keys,
            "stream": bench.stream,
            "busy": bench.busy,
            "turns": bench.turns,
            "idle": bench.idle,
        }
        print(json.dumps({"load": os.getloadavg(), "cpus": os.cpu_count()}))
        for name in sys.argv[2:] or parts:
            parts[name]()


if __name__ == "__main__":
    main()
