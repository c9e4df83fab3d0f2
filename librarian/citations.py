"""The citations of an answer: handles and links are checked against what was opened, code is left alone."""

import re
from collections.abc import Sequence

from ogcode.librarian.fence import plain
from ogcode.librarian.library import Opened

_CODE = re.compile(
    r"(^ {0,3}(`{3,}|~{3,})[^\n]*(?:\n(?! {0,3}\2)[^\n]*)*(?:\n[^\n]*)?"
    r"|(?<!`)``(?!`)(?:[^`\n]|`(?!`))*``(?!`)|(?<!`)`(?!`)[^`\n]*`(?!`))",
    re.MULTILINE,
)
"""A fenced block, to its end or that of the text; or a span on one line."""

_ID = r"\d{4}-\d\d-\d\dT\d{6}Z--[0-9a-z]+"
_FACT = r"m-[0-9a-f]{4,16}(?![\w-])"
_NUMBERS = r"\^?\d{1,3}(?:\s*(?:[,;–-]|and)\s*\d{1,3})*"  # models write ranges with it
_HANDLES = rf"(?<![\w)\]\[\\])(?P<handles>(?:\[{_NUMBERS}\](?:\([^()\s]*\))?)+)(?!\])"
_LINK = rf"\[\[(?P<link>(?![\s-])[^\[\]\n]+)\]\]|\[(?P<single>(?:{_ID}|{_FACT})[^\[\]\n]*)\]"
_LINK_IN_CODE = re.compile(rf"\[\[(?P<link>{_ID}[^\[\]\n]*)\]\]")
_BETWEEN = re.compile(rf"[,;]\s*(?={_ID})")
_TWICE = re.compile(r"(\[\[[^\[\]\n]+\]\])(?:[ ,;]*\1)+")
_HANDLE = re.compile(rf"\[({_NUMBERS})\]")
_NUMBER = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")


def cite(answer: str, opened: Sequence[Opened]) -> tuple[str, list[Opened]]:
    """Expand handles to links, mark what was never opened, and give what is cited.

    A handle is a number in brackets that stands alone: `argv[1]` is none, and neither is anything in code.
    """
    cited = list[Opened]()
    sections = "|".join(sorted({re.escape(each.heading) for each in opened if each.heading}, key=len, reverse=True))
    bare = rf"(?<![\w/#\[-])(?P<bare>{_ID}(?:--[\w-]+)?(?:\.md\b)?(?:#(?:{sections or '(?!)'}))?)"
    citation = re.compile(f"{_LINK}|{_HANDLES}|{bare}", re.IGNORECASE)

    def link_of(found: Opened) -> str:
        if found not in cited:
            cited.append(found)
        return found.link

    def named(written: str) -> str:
        name, _, section = (part.strip() for part in written.partition("#"))
        near = [each for each in opened if each.is_called(name, section)]
        return link_of(near[0]) if near else f"[unverified: {plain(name)}]"

    def numbered(first: int, last: int) -> list[str]:
        if first == 0 < last:
            return [f"[{first}-{last}]"]  # a class of characters: no handle is 0
        known = [link_of(opened[place - 1]) for place in range(max(first, 1), min(last, len(opened)) + 1)]
        unknown = max(first, len(opened) + 1) if last > len(opened) else first
        told = f"{unknown}-{last}" if unknown < last else f"{unknown}"
        return known if 0 < last <= len(opened) else [*known, f"[unverified: {told}]"]

    def handles(written: str) -> str:
        links = [
            link
            for found in _HANDLE.finditer(written)
            for first, last in _NUMBER.findall(found[1])
            for link in numbered(*sorted((int(first), int(last or first))))
        ]
        return " ".join(dict.fromkeys(links))

    def checked(found: re.Match[str]) -> str:
        if found["handles"]:
            return handles(found["handles"])
        written = found["link"] or found["single"] or found["bare"]
        if re.fullmatch(_NUMBERS, written.strip()):
            return handles(f"[{written.strip()}]")
        return " ".join(named(each) for each in _BETWEEN.split(written))

    def in_code(code: str) -> str:
        inner = code.strip("`")
        if "\n" not in code and (whole := citation.fullmatch(inner)) and not whole["handles"]:
            return checked(whole)  # a link that is dressed as code
        return _LINK_IN_CODE.sub(lambda found: named(found["link"]), code)

    pieces = _CODE.split(_unwrapped(answer))
    # split() leaves text, code, its fence, text, …
    told = [citation.sub(checked, pieces[0])]
    for code, text in zip(pieces[1::3], pieces[3::3], strict=True):
        told += [in_code(code), citation.sub(checked, text)]
    return _TWICE.sub(r"\1", "".join(told)), cited


def _unwrapped(answer: str) -> str:
    """Take off a fence around the whole answer: it is no code."""
    whole = re.fullmatch(r"(`{3,})(?:markdown|md|text)?\n((?:(?!`{3})[^\n]*\n)*)\1", answer)
    return whole[2].strip() if whole else answer
