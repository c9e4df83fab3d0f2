"""What terminals send for a key, in the form that Textual reads rightly."""

import re

_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d+)~")
"""xterm's `modifyOtherKeys`: Textual takes the letter for text, whatever is held with it."""
_KITTY_KEY = re.compile(r"\x1b\[(\d+)(?::(\d*))?(?::\d*)?(?:;(\d*)(?::(\d*))?(;[\d:]*)?)?([u~A-HPQS])")
"""A key and what it is with Shift; what is held, and whether it was let go; its text."""
_ALT_KEY = re.compile(r"\x1b\x1b[\[O](\d*)([A-DFH~])")
"""Alt as older terminals send it: Textual takes it for Escape and the key."""
_SHIFT, _LOCKS = 2, 0b1100_0000
_LET_GO = "3"


def with_alt(typed: str) -> str:
    """Write keys with Alt in the newer form."""
    return _ALT_KEY.sub(lambda found: f"\x1b[{found[1] or 1};3{found[2]}", typed)


def plainer(sequence: str) -> str:
    """Write one key as Textual reads it: as a letter where it is one, and empty where it was let go.

    Raises:
        ValueError, OverflowError: it can be none.
    """
    if found := _OTHER_KEY.fullmatch(sequence):
        held, code = found.groups()
        shifted, text, end = "", "", "u"
    elif found := _KITTY_KEY.fullmatch(sequence):
        code, shifted, held, became, text, end = found.groups(default="")
        if became == _LET_GO:
            return ""
    else:
        return sequence
    modifiers = (int(held or 1) - 1 & ~_LOCKS) + 1
    if end == "u" and modifiers <= _SHIFT and not text:
        letter = chr(int(code))
        if letter.isprintable():
            return chr(int(shifted or ord(letter.upper()))) if modifiers == _SHIFT else letter
    return f"\x1b[{code};{modifiers}{text}{end}" if modifiers > 1 or text else f"\x1b[{code}{end}"
