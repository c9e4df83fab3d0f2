"""The scribe's process: takes its lock first, loads a model client last, leaves when the spool is empty."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ogcode.agent.ending import to_its_end
from ogcode.agent.files.durable import Lock, append_line, make_folder
from ogcode.agent.files.root import Root

if TYPE_CHECKING:
    from ogcode.agent.settings.config import Config
    from ogcode.scribe.drain import Compose, Given

LOG = 200_000
"""Bytes; a longer log starts anew."""

QUIET = 20.0
"""Seconds without work after which a local model's only slot is free for notes; at most as long as one lingers."""

PATIENCE = 10.0
"""Seconds that a model may ask to wait before it is asked for the same note again."""

Stamps = dict[str, int]
"""The names in the spool and when each was written, in nanoseconds."""

_told = list[int]()
"""The signals that told this process to end."""


def main() -> int:
    """Run as `python -P -E -m ogcode.scribe ROOT TOP HOME`."""
    root = Root(Path(sys.argv[1]), Path(sys.argv[2]))
    home = Path(sys.argv[3])
    os.umask(0o077)
    signal.signal(signal.SIGTERM, _leave)
    try:
        linger = float(os.environ.get("OGCODE_SCRIBE_LINGER", "0"))
        make_folder(root.locks)
        while lock := Lock.take(root.locks / "scribe"):
            if lock.leased:
                _log(root, "the file system has no locks; files in .ogcode/locks stand in for them")
            try:
                seen = _work(root, home, linger, lock)
            finally:
                lock.release()
            if not _spooled(root).items() - seen.items():  # a turn that came while it was held found it taken
                break
    except OSError as error:
        _log(root, f"memory can't be written: {error}")
        return 1
    except Exception as error:  # it has no screen: the log is where it can be seen
        _log(root, f"the scribe ended: {type(error).__name__}: {error}")
        return 1
    return 0


def _work(root: Root, home: Path, linger: float, lock: Lock) -> Stamps:
    """Drain until nothing new has come for `linger` seconds; return what was in the spool at the last look."""
    seen: Stamps | None = None
    due = float("inf")
    quiet_since = time.monotonic()
    while True:
        if _told:
            sys.exit(128 + _told[0])
        stamps = _spooled(root)
        if seen is not None and not lock.stands:  # its folder was removed: another scribe sees to what comes now
            return seen
        if seen is None or stamps.items() - seen.items():
            quiet_since = time.monotonic()
        elif time.time() < due:
            if time.monotonic() - quiet_since >= linger:
                return seen
            time.sleep(0.1)
            continue
        seen = stamps
        due = _drain(root, home, min(QUIET, linger)) if stamps else float("inf")


def _spooled(root: Root) -> Stamps:
    """Tell what waits and since when: a job that somebody wants tried now keeps its name."""
    found = Stamps()
    for path in root.spool.glob("[!.]*.json"):
        with contextlib.suppress(FileNotFoundError):
            found[path.name] = path.lstat().st_mtime_ns
    return found


def _drain(root: Root, home: Path, quiet: float) -> float:
    """Put the scribe together and let it work through the spool once; return when it is to do so again by itself.

    A model of this machine that serves one request at a time is asked when nobody has worked for `quiet` seconds.
    """
    import asyncio
    from datetime import UTC, datetime

    from ogcode.agent.index.cache import Memory, open_index
    from ogcode.agent.memory.job import NEVER, Job
    from ogcode.agent.model import ModelError
    from ogcode.agent.settings.config import Config, ConfigBroken, load_config
    from ogcode.scribe.drain import Drain

    config, broken = Config(), ""
    try:
        config, _ = load_config(home, None)
    except ConfigBroken as error:
        broken = str(error)
    compose = _composer(root, home, config)

    async def composed(job: Job) -> str:
        if broken:
            raise ModelError(broken)
        return await compose(job)

    memory = Memory.of(root, home)
    drain = Drain(
        memory,
        composed,
        trusted=_trusted(root, home),
        log=lambda text: _log(root, text),
        now=lambda: datetime.now(UTC),
        asks=lambda job: config.scribe_model or job.model,
        given=_giver(root, home, config, quiet),
        scrub=_scrubber(root),
    )
    if asyncio.run(drain.run()):
        open_index(memory).close()
    if drain.due == NEVER:
        return float("inf")
    return datetime.fromisoformat(drain.due).timestamp() if drain.due else 0.0


def _giver(root: Root, home: Path, config: "Config", quiet: float) -> "Given":
    """Let those who work go first where a model can't serve them beside the scribe."""
    from ogcode.agent.models.slot import Spare, base_here, has_one_slot, meeting_place

    shared = dict[str, Spare | None]()

    async def given(name: str, work: Callable[[], Awaitable[str]], over: Callable[[], bool]) -> str:
        if name not in shared:
            shared[name] = None
            if await has_one_slot(name, environ=os.environ, api_base=config.api_base):
                base = base_here(name, environ=os.environ, api_base=config.api_base)
                shared[name] = Spare(meeting_place(home, base, otherwise=root.locks), quiet=quiet)
        spare = shared[name]
        return await (spare.given(work, over=over) if spare else work())

    return given


def _composer(root: Root, home: Path, config: "Config") -> "Compose":
    """Have notes written by the scribe's own model, or else by that of the session."""
    from datetime import UTC, datetime
    from secrets import token_hex

    from ogcode.agent.memory.job import Job
    from ogcode.agent.model import Model
    from ogcode.agent.models.choice import open_model
    from ogcode.agent.turn import Usage
    from ogcode.agent.usage import log_usage
    from ogcode.scribe.compose import TRIES, compose

    opened = dict[str, Model]()

    async def composed(job: Job) -> str:
        name = config.scribe_model or job.model
        if name not in opened:
            opened[name] = await open_model(
                name,
                environ=os.environ,
                api_base=config.api_base,
                num_ctx=job.window if name == job.model and name.startswith("ollama") else config.num_ctx,
                prices_cache=home / "prices.json",
                attempts=TRIES,
                longest=PATIENCE,
            )
        model = opened[name]

        def spent(usage: Usage) -> None:
            log_usage(
                root.store,
                usage,
                role="scribe",
                model=model.name,
                session_id=job.session_id,
                turn=job.turn,
                now=datetime.now(UTC),
                note=job.id,
            )

        return await compose(job, model, spent, mark=token_hex(8))

    return composed


def _scrubber(root: Root) -> Callable[[str], str]:
    """Take secrets out of a text: by our own rules, then by gitleaks where it is installed."""
    from ogcode.agent.sensitive.gitleaks import GitleaksFailed, second_pass
    from ogcode.agent.sensitive.secrets import known_secrets, scrub
    from ogcode.agent.tools.process import program

    secrets = known_secrets(os.environ)
    gitleaks = program("gitleaks", os.environ.get("PATH", ""), outside=root.top)

    def scrubbed(text: str) -> str:
        clean = scrub(text, secrets)
        try:
            return second_pass(clean, gitleaks)
        except GitleaksFailed as error:
            _log(root, str(error))
            return clean

    return scrubbed


def _trusted(root: Root, home: Path) -> bool:
    from ogcode.agent.rights.trust import Trust, TrustBroken

    try:
        return os.environ.get("OGCODE_TRUST") == "1" or Trust(home).holds(root)
    except TrustBroken as error:
        _log(root, f"{error}; until then only this user's own turns are written")
        return False


def _leave(number: int, _: object) -> NoReturn:
    """End at once, but tidily: the turns that wait stay in the spool."""
    _told.append(number)  # raised in a finaliser, an exit is ignored: it is looked for again before each rest
    sys.exit(128 + number)


def _log(root: Root, text: str) -> None:
    """Say what happened on one line; a log that is a link is left alone."""
    path = root.store / "scribe.log"
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())}"
    with contextlib.suppress(OSError):  # nowhere left to say it
        if path.exists() and path.lstat().st_size >= LOG:
            path.unlink()
        append_line(path, line.encode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(to_its_end(main))
