"""The scribe's process: takes its lock first, loads a model client last, leaves when the spool is empty."""

import contextlib
import os
import sys
import time
from pathlib import Path

from ogcode.agent.durable import Lock, append_line, make_folder
from ogcode.agent.root import Root

LOG = 200_000
"""Bytes; a longer log starts anew."""


def main() -> int:
    """Run as `python -P -E -m ogcode.scribe ROOT TOP HOME`."""
    root = Root(Path(sys.argv[1]), Path(sys.argv[2]))
    home = Path(sys.argv[3])
    os.umask(0o077)
    try:
        linger = float(os.environ.get("OGCODE_SCRIBE_LINGER", "0"))
        make_folder(root.locks)
        while lock := Lock.take(root.locks / "scribe"):
            try:
                seen = _work(root, home, linger)
            finally:
                lock.release()
            if not _spooled(root) - seen:  # a turn that came while the lock was still held found it taken
                break
    except OSError as error:
        _log(root, f"memory can't be written: {error}")
        return 1
    except Exception as error:  # it has no screen: the log is where it can be seen
        _log(root, f"the scribe ended: {type(error).__name__}: {error}")
        return 1
    return 0


def _work(root: Root, home: Path, linger: float) -> set[str]:
    """Drain until nothing new has come for `linger` seconds; return what was in the spool at the last look."""
    seen: set[str] | None = None
    quiet_since = time.monotonic()
    while True:
        names = _spooled(root)
        if seen is None or names - seen:
            if names:
                _drain(root, home)
            seen, quiet_since = names, time.monotonic()
        elif time.monotonic() - quiet_since >= linger:
            return seen
        else:
            time.sleep(0.1)


def _spooled(root: Root) -> set[str]:
    return {path.name for path in root.spool.glob("[!.]*.json")}


def _drain(root: Root, home: Path) -> None:
    """Put the scribe together and let it work through the spool once."""
    import asyncio
    from datetime import UTC, datetime

    from ogcode.agent.config import ConfigBroken, load_config
    from ogcode.agent.memory.index import Memory, open_index
    from ogcode.agent.memory.job import Job
    from ogcode.agent.model import Model, ModelError
    from ogcode.agent.trust import Trust, TrustBroken
    from ogcode.agent.turn import Usage
    from ogcode.agent.usage import log_usage
    from ogcode.scribe.compose import compose
    from ogcode.scribe.drain import Drain

    memory = Memory.of(root, home)
    opened = dict[str, Model]()

    async def composed(job: Job) -> str:
        from ogcode.agent.models.choice import open_model

        try:
            config, _ = load_config(home, None)
        except ConfigBroken as error:
            raise ModelError(str(error)) from error
        name = config.scribe_model or job.model
        if name not in opened:
            opened[name] = await open_model(
                name,
                environ=os.environ,
                api_base=config.api_base,
                num_ctx=job.window if name == job.model and name.startswith("ollama") else config.num_ctx,
                prices_cache=home / "prices.json",
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

        return await compose(job, model, spent)

    try:
        trusted = Trust(home).holds(root)
    except TrustBroken as error:
        _log(root, f"{error}; until then only this user's own turns are written")
        trusted = False
    drain = Drain(memory, composed, trusted=trusted, log=lambda text: _log(root, text))
    if asyncio.run(drain.run()):
        open_index(memory).close()


def _log(root: Root, text: str) -> None:
    """Say what happened on one line; a log that is a link is left alone."""
    path = root.store / "scribe.log"
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())}"
    with contextlib.suppress(OSError):  # nowhere left to say it
        if path.exists() and path.lstat().st_size >= LOG:
            path.unlink()
        append_line(path, line.encode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
