"""Finished turns that wait for their notes: one signed file each, durable before a turn counts as finished."""

import contextlib
import errno
import json
import os
from collections.abc import Container, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISREG

from ogcode.agent.files.durable import create_file, make_folder, replace_file
from ogcode.agent.memory.job import Job, JobBroken
from ogcode.agent.memory.notes import LARGEST, note_id, parse_note
from ogcode.agent.rights.seal import Seal

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
        if not os.access(store / name, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), store / name)
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
    taken = _ids(store / "spool", job.session_id) | _ids(store / "memory", job.session_id)
    for later in range(3600):
        named = replace(job, id=note_id(started + timedelta(seconds=later), job.session_id))
        if named.id in taken:
            continue
        with contextlib.suppress(FileExistsError):
            create_file(store / "spool" / f"{named.id}.json", _sealed(named, seal))
            if not _is_anothers(store, named):
                return named
            drop_job(store, named)
    raise FileExistsError(f"no free name for a note near {job.created_at}")


def _ids(folder: Path, session_id: str) -> set[str]:
    tag = f"--{session_id[:8]}"
    names = (entry.name for entry in os.scandir(folder))
    return {"--".join(name.removesuffix(".json").split("--")[:2]) for name in names if tag in name}


def _is_anothers(store: Path, job: Job) -> bool:
    """Tell whether another turn has come, and got its note under this id, since the names were listed."""
    for entry in os.scandir(store / "memory"):
        if entry.name.startswith(f"{job.id}--"):
            with contextlib.suppress(FileNotFoundError):
                return parse_note(entry.name, Path(entry.path).read_bytes()).turn != job.turn
    return False


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


def jobs(store: Path, *, but: Container[str] = ()) -> Iterator[tuple[Path, Job | JobBroken, str]]:
    """Yield what waits, oldest first, with its mark, `but` for some ids; not what waits elsewhere, behind a link."""
    spool = store / "spool"
    if not os.access(spool, os.R_OK | os.X_OK) or store.is_symlink() or spool.is_symlink():
        return
    for path in sorted(spool.glob("[!.]*.json")):
        if path.stem in but:
            continue
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
