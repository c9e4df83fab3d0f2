"""A plan that is to be approved: what can be answered, and what the model is told."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.ask_user import Alternative

if TYPE_CHECKING:
    from ogcode.tui.desks.desk import Desk

_EDIT = "edit", Alternative("yes, and files are changed without asking", "mode edit; commands are still asked for")
_ASK = "ask", Alternative("yes, and each change is asked for", "mode ask")


def ways_on(mode: str) -> Sequence[tuple[str, Alternative]]:
    """Give the modes in which a plan can be carried out, each with what is said of it.

    Raises:
        ToolError: the mode is not `plan`: some models present what they were asked as a plan, again and again.
    """
    if mode != "plan":
        raise ToolError(f"the mode is {mode}: no plan has to be approved, carry it out; to let the user choose, ask")
    return _EDIT, _ASK


def approved(desk: "Desk", mode: str) -> str:
    """Go on in a mode, and say so to the model."""
    if mode != desk.status().mode:
        desk.set_mode(mode)
    return f"the user approves the plan; the mode is {mode} now. Carry it out."


def not_yet(said: str) -> str:
    """Tell the model what is still to be planned."""
    return f"the user does not approve the plan yet; change it and present it again: {said}"
