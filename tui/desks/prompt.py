"""What the prompt needs of the rest of ogcode: its history and draft, files, own commands, pictures, an editor."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Found:
    """Paths as the user would type them; a folder ends with a slash."""

    paths: tuple[str, ...]
    whole: bool = True
    """All files are known; else more may be found a moment later."""
    left_out: str = ""
    """Why some never will be, and how to name one of those."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a command of the user's own."""

    output: str
    """Bounded, and safe to show."""
    failed: bool


class PromptDesk(Protocol):
    """What returns at once must do so within a millisecond, but for what is said to be called in a thread."""

    vim: bool
    """Whether keys mean what they mean in vi."""

    def history(self) -> Sequence[str]:
        """Give earlier prompts of this project, oldest first. Reads a file: in a thread."""

    def remember(self, text: str) -> None: ...

    def take_draft(self) -> str:
        """Give what a session that did not come to its end left unsent; each once, and empty where there is none."""

    def keep_draft(self, text: str) -> None:
        """Keep what is not sent yet for the case of a crash; empty forgets it. Writes a file: in a thread.

        Raises:
            OSError: it can't be kept.
        """

    def find(self, word: str, stale: Callable[[], bool]) -> Found:
        """Find files that fit a half-typed path, the best first; given up once `stale`. Takes time: in a thread."""

    def steer(self, text: str) -> None:
        """Say something into the running turn; it is taken up at the next step, which `Steered` tells."""

    async def run(self, command: str, feed: Callable[[bytes], None], *, tell: bool) -> Ran:
        """Run a command of the user's own, its output fed on as it comes; cancelling ends it.

        `tell` lets the next message bring it to the model.

        Raises:
            OSError, ValueError: it could not be started.
        """

    async def edit(self, text: str, run: "RunOnTerminal") -> str:
        """Let the user's editor change a text.

        Raises:
            EditorFailed: the text is as it was; one sentence.
        """

    async def picture(self) -> str:
        """Save the picture that lies in the clipboard and give its path; empty where there is none."""


RunOnTerminal = Callable[[Sequence[str], Path], Awaitable[int]]
"""Runs a command on the terminal, in a folder, and gives its exit code."""


class EditorFailed(Exception):
    """The editor did not change the text; one sentence."""
