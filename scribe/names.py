"""Which paths and symbols a text names, and whether the turn named them too."""

import re

_NAME = re.compile(
    r"""
      (?P<link> \[\[ [^\[\]\n]* \]\] | https?:// [^\s)>\]`"']+ )
    | (?P<code> (`+) (?!`) .+? (?<!`) \3 (?!`) )
    | (?P<path> (?<![\w:/]) (?: [\w.@~+-]* / )+ [\w.@+-]* \w
        | \b [\w-]+ \. (?: py | [jt]sx? | go | rs | java | rb | php | cs | c | h | cc | cpp | md | txt | toml | json
          | ya?ml | ini | cfg | lock | sh | sql | html | css ) \b )
    | (?P<call> \b [A-Za-z_] [\w.]* (?= \( (?! e?s\) ) ) )
    | (?P<word> \b (?: _* [^\W_]+ _ \w* [^\W_] _* | [A-Za-z]* [a-z] [A-Z] \w* ) \b )
    """,
    re.VERBOSE,
)
_PART = re.compile(r"[\w.@~+/-]*\w")
_STRUCTURED = re.compile(r"[a-z][A-Z]|[^\W_]_|/|\.\w")

_OF_THE_WORLD = frozenset(
    """GitHub GitLab JavaScript TypeScript PostgreSQL MySQL SQLite MongoDB GraphQL OpenAI YouTube LinkedIn iOS macOS
    iPhone LaTeX NumPy PyTorch TensorFlow DevOps WebSocket PowerShell""".split()
)
"""Names that are no symbols, whatever they look like."""


class Named:
    """What a turn named."""

    def __init__(self, text: str) -> None:
        self._text = " ".join(text.split())
        self._folded = self._text.casefold()

    def invented(self, text: str) -> list[str]:
        """List the paths, symbols, code and links of a text that the turn did not name; `and/or` is no path."""
        return [match[0] for match in _NAME.finditer(text) if not self._known(match)]

    def holds(self, name: str) -> bool:
        """Tell whether a name stands in the turn: to the letter, or in any case where it is a plain word."""
        name = name.removeprefix("./")
        if not _STRUCTURED.search(name):
            return _stands(name.casefold(), self._folded)
        return _stands(name, self._text)

    def _known(self, match: re.Match[str]) -> bool:
        name = match[0]
        match match.lastgroup:
            case "link":
                return name.rstrip(".,;:") in self._text
            case "path":
                told = "." in name or name.count("/") > 1 or name.startswith(("/", "~"))
                return not told or self.holds(name)
            case "call":
                return all(map(self.holds, name.split(".")))
            case "word":
                return name in _OF_THE_WORLD or _stands(name.casefold(), self._folded)
            case _:
                code = " ".join(name.strip("`").split())
                return _stands(code, self._text) or all(map(self._part, _PART.findall(code)))

    def _part(self, part: str) -> bool:
        return self.holds(part) or ("/" not in part and all(map(self.holds, filter(None, part.split(".")))))


def _stands(name: str, text: str) -> bool:
    """Find a name that is not the end or the beginning of another one; a folder stands before its files."""
    before = r"(?<![\w@+-])(?<!\w\.)" if re.search(r"/|\.\w+$", name) else r"(?<!\w)"
    return bool(name) and re.search(rf"{before}{re.escape(name)}(?!\w)", text) is not None
