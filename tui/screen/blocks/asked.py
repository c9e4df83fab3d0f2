"""A question of the agent, or a plan of its own; what the user said to it stands below."""

from ogcode.tui.calls import given
from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.blocks.lines import flat


class AskedBlock(ToolBlock):
    """Names the question."""

    def about(self) -> str:
        return (
            "about its plan" if given(self.call).get("plan") else flat(str(given(self.call).get("question", ""))[:400])
        )

    def gist(self, output: str) -> str:  # noqa: ARG002  # a block's way
        return "answered"
