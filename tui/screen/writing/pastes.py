"""Long texts, each shown as one piece that stays whole."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from textual.document._document import Location

_LONG = 2_000
_TALL = 20
"""Characters and lines from which on a paste is one piece."""
_MOST = 20_000
_TALLEST = 500
"""Of any text: more makes each key slow."""
_KEPT = 20_000_000
"""Characters of earlier pieces that Up and Ctrl+Y bring back as such."""
_PICTURE = re.compile(r"(?i)(?:file://|/|~/)[^\n]*\.(?:png|jpe?g|gif|webp)")


class Pastes:
    def __init__(self) -> None:
        self._pieces: dict[str, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """Give what is shown of a paste: itself where it is short, else a token that stands for it."""
        return self._token(text) if _is_more(text, _LONG, _TALL) else text

    def put(self, text: str) -> str:
        """Give what is shown of a message that comes back: what was one piece is one again."""
        for token, piece in self._pieces.items():
            text = text.replace(piece, token)
        return self._token(text) if _is_more(text, _MOST, _TALLEST) else text

    def unfold(self, text: str) -> str:
        """Put the texts in the place of their tokens."""
        if not self._pieces:
            return text
        tokens = "|".join(map(re.escape, self._pieces))
        return re.sub(tokens, lambda found: self._pieces[found[0]], text)

    def sent(self) -> None:
        """Forget the oldest where they are too many; nothing in the prompt needs them now."""
        size = sum(map(len, self._pieces.values()))
        for token in [*self._pieces]:
            if size <= _KEPT:
                break
            size -= len(self._pieces.pop(token))

    def around(self, start: Location, end: Location, line: Callable[[int], str]) -> tuple[Location, Location]:
        """Widen what is to be changed, so that no token is cut; what is written into one goes behind it."""
        if start == end:
            behind = self._edge(end, line, 1)
            return behind, behind
        return self._edge(start, line, 0), self._edge(end, line, 1)

    def _token(self, text: str) -> str:
        self._count += 1
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        token = f"[pasted {self._count}: {size}]"
        self._pieces[token] = text
        return token

    def _edge(self, place: Location, line: Callable[[int], str], side: int) -> Location:
        """Give the edge of the token that a place is within, or the place."""
        row, column = place
        for token in self._pieces:
            begin = line(row).rfind(token, max(0, column - len(token) + 1), column + len(token) - 1)
            if 0 <= begin < column < begin + len(token):
                return row, begin + side * len(token)
        return place


def _is_more(text: str, characters: int, lines: int) -> bool:
    return len(text) >= characters or text.count("\n") + 1 >= lines


def dropped(text: str, home: Path) -> str:
    """Give the path of a picture that was dropped or pasted as a path, as terminals write it; empty for all else."""
    word = text.strip()
    if word[:1] in "'\"" and word[-1:] == word[:1]:
        word = word[1:-1]
    if not _PICTURE.fullmatch(word) or len(word) > 4_096:
        return ""
    plain = unquote(word.removeprefix("file://")) if word.startswith("file://") else re.sub(r"\\(.)", r"\1", word)
    try:
        path = home / plain[2:] if plain.startswith("~/") else Path(plain)
        return str(path) if path.is_file() else ""
    except OSError:
        return ""
