"""How far memory goes: turns are saved and recalled, recalled only, or neither; and what may be recalled."""

from typing import Literal

MemorySwitch = Literal["on", "read", "off"]
RecallScope = Literal["project", "conversation"]

SWITCHES: tuple[MemorySwitch, ...] = ("on", "read", "off")
SCOPES: tuple[RecallScope, ...] = ("project", "conversation")
"""Each from the widest to the narrowest."""

MEANS: dict[MemorySwitch, str] = {
    "on": "turns are saved and recalled",
    "read": "earlier turns are recalled, nothing is saved",
    "off": "nothing is saved and nothing recalled",
}


def narrower_switch(one: MemorySwitch, other: MemorySwitch) -> MemorySwitch:
    """Pick the one that does less."""
    return max(one, other, key=SWITCHES.index)


def narrower_scope(one: RecallScope, other: RecallScope) -> RecallScope:
    """Pick the one that reaches less far."""
    return max(one, other, key=SCOPES.index)
