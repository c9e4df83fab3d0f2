"""How a message names a file: `@path`, in quotation marks where it holds a space."""

import re
from collections.abc import Iterator

_NO_WORD = r"(?<![\w@/.\\])@"
_WHOLE = re.compile(rf'{_NO_WORD}(?:"((?:[^"\\\n]|\\.)+)"|(\S+))')
_HALF = re.compile(rf'{_NO_WORD}(?:"((?:[^"\\]|\\.?)*)|((?!")\S*))\Z')
_LONGEST = 400
"""Characters of a path that is being typed."""


def mentions(text: str) -> Iterator[tuple[str, bool]]:
    """Find what may name a file, and tell whether it was quoted."""
    for found in _WHOLE.finditer(text):
        quoted, bare = found.groups()
        yield (_unquoted(quoted), True) if quoted else (bare, False)


def half_typed(before: str) -> tuple[int, str] | None:
    """Find the `@` word that ends where the cursor is: where it begins, and its path so far."""
    found = _HALF.search(before, max(0, len(before) - _LONGEST))
    if not found:
        return None
    quoted, bare = found.groups()
    return found.start(), _unquoted(quoted) if bare is None else bare


def written(path: str) -> str:
    """Write a path as the user would; behind a folder one goes on."""
    folder = path.endswith("/")
    if not re.search(r'\s|^"', path):
        return f"@{path}" if folder else f"@{path} "
    escaped = re.sub(r'(["\\])', r"\\\1", path)
    return f'@"{escaped}' if folder else f'@"{escaped}" '


def _unquoted(text: str) -> str:
    """Take out the backslashes before quotation marks and backslashes; any other is one."""
    return re.sub(r'\\(["\\])', r"\1", text)
