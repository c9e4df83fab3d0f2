"""Finished turns that wait for their notes: one signed file each, durable before a turn counts as finished."""

import contextlib
import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISREG

from ogcode.agent.durable import create_file, make_folder, replace_file
from ogcode.agent.memory.job import Job, JobBroken
from ogcode.agent.memory.notes import LARGEST, note_id
from ogcode.agent.seal import Seal

_IGNORE = b"*\n"


def prepare_store(store: Path) -> None:
    """Make `.ogcode` and what it needs, invisible to git.

    Raises:
        OSError: the folder can't be made or written.
    """
    if store.is_symlink():
        raise OSError(errno.ELOOP, f"{store} is a link; memory is only kept in a folder of the project's own")
    for name in ("memory", "spool", "sessions", "locks"):
        if (store / name).is_symlink():
            raise OSError(errno.ELOOP, f"{store / name} is a link; memory is only kept in folders of the project's own")
        make_folder(store / name)
    ignore = store / ".gitignore"
    with contextlib.suppress(FileNotFoundError):
        if ignore.stat().st_size:
            return
    replace_file(ignore, _IGNORE)


def add_job(store: Path, job: Job, seal: Seal) -> Job:
    """Put a job on disk, under the first free second from its own; return it with its final id.

    Raises:
        OSError: the job is not on disk.
    """
    prepare_store(store)
    started = datetime.fromisoformat(job.created_at)
    for later in range(3600):
        named = replace(job, id=note_id(started + timedelta(seconds=later), job.session_id))
        if any((store / "memory").glob(f"{named.id}--*.md")):
            continue  # an earlier turn of this second has its note already
        with contextlib.suppress(FileExistsError):
            create_file(store / "spool" / f"{named.id}.json", _sealed(named, seal))
            return named
    raise FileExistsError(f"no free name for a note near {job.created_at}")


def put_back(store: Path, job: Job, seal: Seal) -> None:
    """Write a job again, with its tries counted or marked as an upgrade."""
    replace_file(store / "spool" / f"{job.id}.json", _sealed(job, seal))


def drop_job(store: Path, job: Job) -> None:
    """Remove a job whose note is on disk."""
    (store / "spool" / f"{job.id}.json").unlink(missing_ok=True)


def later_than(previous: str, started: datetime) -> datetime:
    """Give the start of a turn, moved on where the clock went back behind the note id before it."""
    try:
        before = datetime.strptime(previous[:18], "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return started
    return max(started, before + timedelta(seconds=1))


def jobs(store: Path) -> Iterator[tuple[Path, Job | JobBroken, str]]:
    """Yield what waits, oldest first, with its mark; not what waits elsewhere, where a link leads to."""
    if store.is_symlink() or (store / "spool").is_symlink():
        return
    for path in sorted((store / "spool").glob("[!.]*.json")):
        try:
            facts = path.lstat()
            if not S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
                yield path, JobBroken(f"{path.stem}: not a turn waiting for its note (a link, or huge)"), ""
                continue
            content = path.read_bytes()
        except OSError:
            continue  # gone meanwhile
        yield path, *open_job(path.stem, content)


def open_job(name: str, content: bytes) -> tuple[Job | JobBroken, str]:
    """Read a spool file: the job (or what is wrong) and the mark that it bears."""
    try:
        outer = json.loads(content)
        job = Job.from_json(name, json.dumps(outer["job"]).encode())
        if job.id != name:
            raise JobBroken(f"{name}: holds the job of {job.id}")
        return job, str(outer.get("seal", ""))
    except JobBroken as error:
        return error, ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return JobBroken(f"{name}: not a turn waiting for its note ({error})"), ""


def is_ours(job: Job, mark: str, seal: Seal) -> bool:
    """Tell whether this user's ogcode spooled the job."""
    return seal.knows(job.to_json(), mark)


def _sealed(job: Job, seal: Seal) -> bytes:
    inner = job.to_json()
    return b'{"job": ' + inner + b', "seal": "' + seal.sign(inner).encode() + b'"}\n'
