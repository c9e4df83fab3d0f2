"""How far the commands of a session are closed in, and what the user should know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.sandbox.layout import Level
from ogcode.agent.sandbox.tiers import Sandbox, probe
from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.tui.place import Here


class SandboxMissing(Exception):
    """A sandbox was asked for and there is none; one sentence."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The sandbox of a session and the level that is kept to."""

    sandbox: Sandbox
    level: Level
    top: Path
    private: Path

    @classmethod
    def of(cls, here: Here, private: Path) -> "Boundary":
        """Find what there is for this place.

        Raises:
            SandboxMissing: the flag or the settings ask for one that can't be had.
        """
        asked = here.config.sandbox
        if asked == "off":
            return cls(Sandbox("none", "switched off"), "off", here.root.top, private)
        sandbox = probe(here.environ, here.root.top, here.tailored.beside)
        if asked and sandbox.tier == "none":
            raise SandboxMissing(f"sandbox '{asked}' can't be kept: {sandbox.why}")
        return cls(sandbox, "off" if sandbox.tier == "none" else asked or "ws", here.root.top, private)

    @property
    def strong(self) -> bool:
        """Whether a command can be relied on to stay inside, without a network."""
        return self.sandbox.strong and self.level in ("ro", "ws")

    @property
    def notice(self) -> str:
        """What the user should know before the first command; empty where all is as it should be."""
        if self.sandbox.strong:
            return ""
        return f"{self.sandbox.report()}{'; commands run with all your rights' if self.level == 'off' else ''}"

    @property
    def told(self) -> str:
        """Say in two words how far commands are closed in, and by what where it is not the strongest that there is."""
        return self.level if self.level == "off" or self.sandbox.strong else f"{self.level} ({self.sandbox.tier})"

    def wrap(self, command: Sequence[str], environ: Mapping[str, str]) -> Wrapped:
        """Close a command in.

        Raises:
            SandboxRefused: it can't be, as the workspace is now.
        """
        return self.sandbox.wrap(command, level=self.level, cwd=self.top, environ=environ, private=self.private)
