"""Make text that others wrote safe to show: no escapes, no controls, nothing that can't be seen."""

import re

_ESCAPE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|\x1b[ -/]*+[0-~]?"
)
"""A whole sequence, or the opener alone of one that is not closed, so that no text can be swallowed."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN = re.compile(f"[{_INVISIBLE}\u200d\ufe0e\ufe0f\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
_UNSEEN_IN_PROSE = re.compile(f"[{_INVISIBLE}]")
_OVERSTRUCK = re.compile(r"[^\x08\n]\x08")


def clean(text: str, *, prose: bool = False) -> str:
    """Remove terminal sequences and make the rest visible: controls as U+FFFD, invisible characters as `<U+200B>`.

    `prose` lets pass what emoji and typography need; never use it where a person decides by what is shown.
    """
    plain = _CONTROL.sub("\ufffd", _ESCAPE.sub("", text.replace("\r\n", "\n")))
    return (_UNSEEN_IN_PROSE if prose else _UNSEEN).sub(lambda found: f"<U+{ord(found[0]):04X}>", plain)


def attribute(text: str) -> str:
    """Give a text as it can stand between the quotation marks of a tag: on one line, ending neither."""
    return " ".join(clean(text).split()).translate(str.maketrans('"<>', "'()"))


def unclosing(text: str, tag: str) -> str:
    """Keep a text from closing the tag that is put around it."""
    return re.sub(rf"<(\s*/\s*{tag})", r"<\\\1", text, flags=re.IGNORECASE)


def fold_returns(text: str) -> str:
    """Keep of each line what a terminal would end up showing: progress bars write over themselves."""
    lines = _ESCAPE.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(_last(line) if "\r" in line or "\b" in line else line for line in lines)


def _last(line: str) -> str:
    written = [part for part in line.split("\r") if part.strip()]
    return _OVERSTRUCK.sub("", written[-1]) if written else ""
