"""Which session to go on with, as the command line says it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    resume: str = ""
    """A session id or the start of one."""
    latest: bool = False
    fork: bool = False
    identity: str = ""
    """That a session which is begun is to have."""
