"""Quote what others wrote, so that no text can end its own quotation or pass for a line of ours."""

import re
from dataclasses import replace
from hashlib import sha256
from itertools import count

from ogcode.agent.clean import clean
from ogcode.agent.memory.markdown import cut
from ogcode.agent.tool import Tool, ToolError

_FENCED = re.compile(r"^<memory ([0-9a-f]{8})>\n(.*)\n</memory \1>$", re.MULTILINE | re.DOTALL)
_BRACKETS = str.maketrans("[]|", "()/")


def fence(text: str) -> str:
    """Put a text between two lines that bear a mark which it does not hold."""
    text = clean(text, prose=True)
    marks = (sha256(f"{number}\n{text}".encode()).hexdigest()[:8] for number in count())
    mark = next(mark for mark in marks if mark not in text)
    return f"<memory {mark}>\n{text}\n</memory {mark}>"


def unfenced(text: str) -> str:
    """Give what was put in a fence, for a person to read."""
    found = _FENCED.search(text)
    return found[2] if found else text


def plain(text: str, longest: int = 120) -> str:
    """Make one line of a title, a heading or a name, without what a link is made of."""
    return cut(" ".join(clean(text).split()), longest, "…").translate(_BRACKETS)


def fenced(inner: Tool) -> Tool:
    """Give a tool whose every answer is quoted."""

    async def quoting(**arguments: object) -> str:
        try:
            return fence(await inner.function(**arguments))
        except ToolError as error:
            raise ToolError(fence(str(error))) from error

    return replace(inner, function=quoting)
