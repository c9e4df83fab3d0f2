"""What the user said for the rest of a conversation: it rides with every message and goes before every file."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from ogcode.agent.facts.fact import FactRefused, on_one_line, same, tidy

ROOM = 600
"""Bytes: 200 tokens."""

_HEAD = "The user said this for the rest of this conversation. It goes before every file and rule; a later line wins."


@dataclass(frozen=True, slots=True)
class Standing:
    lines: tuple[tuple[str, str], ...] = ()
    """Each with its id."""

    @classmethod
    def of(cls, rows: object) -> "Standing":
        """Read what a transcript kept."""
        pairs = rows if isinstance(rows, list) else []
        return cls(tuple((str(row[0]), str(row[1])) for row in pairs if isinstance(row, list) and len(row) == 2))

    def told(self) -> str:
        if not self.lines:
            return ""
        return "\n".join(
            ["<standing>", _HEAD, *(f"- [{name}] {on_one_line(text)}" for name, text in self.lines), "</standing>"]
        )

    def with_line(self, text: str) -> tuple["Standing", str]:
        """Add what the user said; the second value is its id.

        Raises:
            FactRefused: it is empty, or there is no room for it.
        """
        said = " ".join(tidy(text).split())
        if again := next((name for name, each in self.lines if same(each) == same(said)), ""):
            return self, again
        name = next(name for n in count(1) if (name := f"s-{n}") not in dict(self.lines))
        return self._sound([*self.lines, (name, said)]), name

    def changed(self, name: str, text: str) -> "Standing":
        """Put another text in the place of one.

        Raises:
            FactRefused: there is none of that id, or no room for it.
        """
        self._has(name)
        said = " ".join(tidy(text).split())
        return self._sound((each, said if each == name else old) for each, old in self.lines)

    def without(self, name: str) -> "Standing":
        """Leave one out.

        Raises:
            FactRefused: there is none of that id.
        """
        self._has(name)
        return Standing(tuple(line for line in self.lines if line[0] != name))

    def _has(self, name: str) -> None:
        if name not in dict(self.lines):
            raise FactRefused(f"nothing stands as {name}; there is {', '.join(dict(self.lines)) or 'nothing'}")

    def _sound(self, lines: Iterable[tuple[str, str]]) -> "Standing":
        made = Standing(tuple(lines))
        if not all(text for _, text in made.lines):
            raise FactRefused("the text is empty; say what holds from now on in a sentence")
        if len(made.told().encode("utf-8", "replace")) > ROOM:
            raise FactRefused(
                "that is too long to ride with every message; say it shorter, or forget what stands: "
                + "; ".join(f"{name} {text[:60]}" for name, text in self.lines)
            )
        return made
