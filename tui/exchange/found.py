"""What a place holds that could be a fact, and what of it can't."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.facts.fact import FactScope
from ogcode.agent.facts.intake import Given
from ogcode.agent.memory.beneath import read_beneath


class NotReadable(Exception):
    """A place can't be read as a memory; the text says why."""


@dataclass(slots=True)
class Found:
    """All of a place is in one of these: nothing is left out unsaid."""

    facts: list[tuple[FactScope, Given]] = field(default_factory=list)
    by_hand: list[tuple[FactScope, str]] = field(default_factory=list)
    """What people wrote beside the facts of an export."""
    left: list[str] = field(default_factory=list)
    """What stays where it is, and why."""


def read_text(folder: Path, name: str, most: int, left: list[str]) -> str:
    """Read a text file below a folder, by way of no link; of one that can't be taken in, say so and give nothing."""
    try:
        content = read_beneath(folder.resolve(), name, most + 1)
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        left.append(f"{name}: not UTF-8")
    except OSError as error:
        left.append(f"{name}: a link, no file, or not to be read ({error.strerror})")
    else:
        if len(content) <= most:
            return text.lstrip("\ufeff").replace("\r\n", "\n")
        left.append(f"{name}: larger than {most:,} bytes")
    return ""


def written_at(path: Path) -> str:
    """Tell when a file was last written: of a fact without a date, that is its date, and never today."""
    moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
