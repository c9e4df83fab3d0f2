"""Write new lines with the indentation of the file, where the model wrote another one."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"([ \t]*)([^\r\n]*(?:\r\n|\n|\r)?)")


@dataclass(frozen=True, slots=True)
class _Unit:
    """How one indentation translates into the other."""

    char: str
    ratio: float

    def convert(self, indent: str) -> str:
        return self.char * round(len(indent) * self.ratio)


def reindented(there: str, old: str, new: str, *, tabs: bool) -> str | None:
    """Re-indent `new` as `there` is to `old`, which differ only in indentation; None where that is contradictory."""
    known = dict[str, str]()
    for (have, body), (sent, _) in zip(_indents(there), _indents(old), strict=False):
        if body.strip() and known.setdefault(sent, have) != have:
            return None
    unit = _unit(known, tabs=tabs)
    return "".join(
        (_translated(indent, known, unit) if body.strip() else indent) + body for indent, body in _indents(new)
    )


def _indents(text: str) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in _LINE.finditer(text) if found[0]]


def _unit(known: dict[str, str], *, tabs: bool) -> _Unit:
    pairs = sorted({(len(sent), len(have)) for sent, have in known.items()})
    tabbed = any("\t" in have for have in known.values()) or (tabs and not any(known.values()))
    char = "\t" if tabbed else " "
    if len(pairs) > 1:
        (sent, have), (more, deeper) = pairs[0], pairs[-1]
        return _Unit(char, (deeper - have) / (more - sent))
    sent_tabs = any("\t" in sent for sent in known)
    if sent_tabs == tabbed and (sent_tabs or any(known)):
        return _Unit(char, 1.0)
    sent, have = pairs[0] if pairs else (0, 0)
    if sent and have:
        return _Unit(char, have / sent)
    return _Unit(char, 0.25 if tabbed else 1.0)


def _translated(indent: str, known: dict[str, str], unit: _Unit) -> str:
    if indent in known:
        return known[indent]
    shorter = [sent for sent in known if indent.startswith(sent)]
    if shorter:
        base = max(shorter, key=len)
        return known[base] + unit.convert(indent[len(base) :])
    longer = [sent for sent in known if sent.startswith(indent)]
    if not longer:
        return indent
    base = min(longer, key=len)
    less = unit.convert(base[len(indent) :])
    return known[base].removesuffix(less) if known[base].endswith(less) else ""
