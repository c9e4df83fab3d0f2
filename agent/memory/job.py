"""What a turn leaves for the scribe: everything its note is made of, already cut and scrubbed."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import get_args

from ogcode.agent.turn import Outcome

NEVER = "never"
"""Stands behind every date."""

_LATER = ("failure", "tried_at", "due_at", "refused", "again")
"""Left out while empty: what was sealed before there were these stays as it was, to the byte."""

_ID = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z--[0-9a-z]{1,40}")


class JobBroken(Exception):
    """A spool file is not a job; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    """Also the note's id."""
    session_id: str
    turn: int
    created_at: str
    """ISO 8601, UTC: when the turn began."""
    outcome: Outcome
    model: str
    """The session's model, for a scribe that has none of its own."""
    window: int
    """Its window in tokens: a local model is asked with the same one."""
    request: str
    steps: tuple[str, ...]
    """One line a tool call: name, arguments, never output."""
    answer: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Paths that the turn worked on and the start of their content hashes at its end."""
    changed: tuple[str, ...] = ()
    """Those of them that it wrote."""
    symbols: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Definitions that its edits touched, by path."""
    dropped: int = 0
    """Calls that did not fit."""
    reason: str = ""
    """Why the turn ended, when it was not done."""
    tries: int = 0
    """Drains in which a model was asked for it in vain."""
    upgrade: bool = False
    """A note without a model is there already; this job stays to better it."""
    failure: str = ""
    """Why there is no better note yet: one sentence."""
    tried_at: str = ""
    """ISO 8601, UTC: when a model was last asked."""
    due_at: str = ""
    """When it is tried again by itself; empty is at once, `NEVER` only when somebody asks for it."""
    refused: bool = False
    """The model answers, but makes no note of this turn: that it works for others is no reason to try again."""
    again: bool = False
    """Somebody wants another note, though a model wrote the one that is there."""

    def to_json(self) -> bytes:
        told = {name: value for name, value in asdict(self).items() if value or name not in _LATER}
        return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "replace")

    @classmethod
    def from_json(cls, name: str, content: bytes) -> "Job":
        """Read a spool file.

        Raises:
            JobBroken: it is not one.
        """
        try:
            given = json.loads(content)
            json.dumps(given, ensure_ascii=False).encode()  # lone surrogates are refused
            known = {each.name for each in fields(cls)}
            job = cls(**{key: value for key, value in given.items() if key in known})
            if job.outcome not in get_args(Outcome) or not all(
                isinstance(each, str)
                for each in (
                    *(job.id, job.session_id, job.created_at, job.model, job.request, job.answer, job.reason),
                    *(job.failure, job.tried_at, job.due_at),
                )
            ):
                raise TypeError("wrong kinds of values")
            numbers = (job.turn, job.window, job.dropped, job.tries, job.upgrade, job.refused, job.again)
            if not _ID.fullmatch(job.id) or not all(isinstance(each, int) and 0 <= each < 2**31 for each in numbers):
                raise TypeError("wrong id or numbers")
            return cls(
                **{
                    **{each.name: getattr(job, each.name) for each in fields(cls)},
                    "steps": tuple(map(str, job.steps)),
                    "changed": tuple(map(str, job.changed)),
                    "symbols": {str(path): tuple(map(str, names)) for path, names in job.symbols.items()},
                    "files": {str(path): str(digest) for path, digest in job.files.items()},
                }
            )
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise JobBroken(f"{name}: not a turn waiting for its note ({error})") from error


def digest(job: Job) -> str:
    """Render what the scribe's model sees: request, calls, answer."""
    calls = "\n".join(f"- {step}" for step in job.steps) or "(no tool was called)"
    left_out = f"\n({job.dropped} more calls left out)" if job.dropped else ""
    touched = "\n".join(f"- {path}: {', '.join(names)}" for path, names in job.symbols.items() if names)
    symbols = f"\n\nSymbols touched:\n{touched}" if touched else ""
    ended = f"\n\nThe turn ended as: {job.outcome} ({job.reason})" if job.outcome != "done" else ""
    return (
        f"Request:\n{job.request}\n\nTool calls, in order:\n{calls}{left_out}{symbols}\n\n"
        f"Final answer:\n{job.answer or '(none)'}{ended}"
    )
