"""What `read` names outside the workspace: a person is asked, but for what holds credentials, where nobody is."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.arguments import Unreadable, read
from ogcode.agent.sandbox.layout import CREDENTIALS
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall

_NO_FILES = tuple(map(Path, ("/proc", "/sys", "/dev", "/run")))
"""They show processes, their environment and their keys."""
_KEPT = tuple(tuple(name.split("/")) for name in (*CREDENTIALS, ".ogcode", "shadow", "gshadow", "shadow-", "gshadow-"))


@dataclass(frozen=True, slots=True)
class Beyond:
    """A place outside."""

    real: Path
    secret: bool


@dataclass(frozen=True, slots=True)
class Beyonds:
    """Tells what is outside, and remembers what a person has let be read there."""

    workspace: Workspace
    hidden: Sequence[str] = ()
    """Real paths of what is never read."""
    admitted: set[Path] = field(default_factory=set)

    def of(self, call: ToolCall) -> Beyond | None:
        """Tell where a call leads to that reads outside; None for every other call, and where there is nothing."""
        if call.name != "read":
            return None
        try:
            real = self.workspace.real(str(read(call.arguments).get("path", "")))
        except (Unreadable, ToolError):
            return None
        if self.workspace.base(real):  # of that, the tool knows
            return None
        secret = self._secret(real)
        return Beyond(real, secret) if secret or os.path.lexists(real) else None

    def settle(self, place: Beyond, *, allowed: bool) -> None:
        """Let the tool read a place, or not any more: what is allowed once is allowed once."""
        self.admitted.add(place.real) if allowed else self.admitted.discard(place.real)

    def _secret(self, real: Path) -> bool:
        parts = tuple(part.casefold() for part in real.parts)
        return any(real.is_relative_to(place) for place in (*_NO_FILES, *map(Path, self.hidden))) or any(
            parts[at : at + len(kept)] == kept for kept in _KEPT for at in range(1, len(parts))
        )
