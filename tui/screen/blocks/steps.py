"""The agent's list of steps, as it was when it was kept."""

from textual.content import Content

from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.blocks.lines import flat


class StepsBlock(ToolBlock):
    """Names the step that is worked on; the panel shows them all."""

    def about(self) -> str:
        lines = self.result.output.splitlines() if self.result else []
        return flat(next((line[4:] for line in lines if line.startswith("[>] ")), ""))

    def given(self) -> list[Content]:
        return []  # what it gave is the whole list

    def gist(self, output: str) -> str:
        lines = output.splitlines()
        return flat(lines[-1]) if lines else super().gist(output)
