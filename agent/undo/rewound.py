"""The turns that were taken out of their conversations, for those who read the notes of more than one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ogcode.agent.files.durable import append_line
from ogcode.agent.rights.seal import Seal
from ogcode.agent.undo.account import sealed, sealed_rows
from ogcode.agent.undo.kept import prepare

Rewound = Mapping[str, frozenset[int]]
"""Session ids, and which of the turns of each."""


def mark(folder: Path, seal: Seal, session: str, turns: Sequence[int], *, back: bool) -> None:
    """Put turns on record as taken out, or as brought back.

    Raises:
        OSError: they are not on record.
    """
    prepare(folder)
    append_line(folder / _NAME, sealed({"session": session, "turns": turns, "back": back}, seal), sync=True)


def rewound(folder: Path, seal: Seal) -> Rewound:
    """Tell which turns are out of their conversations."""
    found = dict[str, frozenset[int]]()
    for row in sealed_rows(folder / _NAME, seal):
        match row:
            case {"session": str(session), "turns": list(turns), "back": bool(back)}:
                named = frozenset(turn for turn in turns if isinstance(turn, int))
                known = found.get(session, frozenset())
                found[session] = known - named if back else known | named
    return {session: turns for session, turns in found.items() if turns}


_NAME = "rewound"
