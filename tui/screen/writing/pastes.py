"""Long pastes, each shown as one piece."""

import re
from pathlib import Path
from urllib.parse import unquote

_LONG = 2_000
_TALL = 20
_PICTURE = re.compile(r"(?i)(?:file://|/|~/)[^\n]*\.(?:png|jpe?g|gif|webp)")


class Pastes:
    def __init__(self) -> None:
        self._pieces: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """Give what is shown of a text: itself where it is short, else a token that stands for it."""
        lines = text.count("\n") + 1
        if len(text) < _LONG and lines < _TALL:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        token = f"[pasted {len(self._pieces) + 1}: {size}]"
        self._pieces[token] = text
        return token

    def unfold(self, text: str) -> str:
        """Put the texts in the place of their tokens."""
        if not self._pieces:
            return text
        tokens = "|".join(map(re.escape, self._pieces))
        return re.sub(tokens, lambda found: self._pieces[found[0]], text)

    def clear(self) -> None:
        self._pieces.clear()


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
