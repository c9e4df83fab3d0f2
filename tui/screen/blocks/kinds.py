"""Which block shows which call."""

from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.work import WorkDesk
from ogcode.tui.screen.blocks.asked import AskedBlock
from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.blocks.change import ChangeBlock
from ogcode.tui.screen.blocks.command import CommandBlock
from ogcode.tui.screen.blocks.recall import RecallBlock
from ogcode.tui.screen.blocks.steps import StepsBlock


def tool_block(call: ToolCall, work: WorkDesk | None, difference: str = "") -> ToolBlock:
    """Make the block of a call; without `work`, as for a turn of long ago, of what is known of it."""
    match call.name:
        case "memory_recall" | "project_memory_recall":
            return RecallBlock(call)
        case "edit" | "write":
            return ChangeBlock(call, work.difference(call) if work else difference)
        case "bash":
            return CommandBlock(call, work.printing if work else str)
        case "ask_user":
            return AskedBlock(call)
        case "todo":
            return StepsBlock(call)
        case _:
            return ToolBlock(call)
