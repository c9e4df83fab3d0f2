"""What the model thought."""

from textual.content import Content

from ogcode.agent.clean import clean
from ogcode.tui.screen.blocks.fold import Fold


class ReasoningBlock(Fold):
    """What the model thought; it is shown to nobody else and never remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._words = 0

    @property
    def text(self) -> str:
        return self._text

    def write(self, piece: str) -> None:
        open_word = bool(self._text) and not self._text[-1].isspace() and bool(piece) and not piece[0].isspace()
        self._words += len(piece.split()) - open_word
        self._text += piece
        if self.folded or "\n" in piece:
            self.draw()

    def head(self) -> Content:
        return Content.styled(f"thought, {self._words:,} word{'' if self._words == 1 else 's'}", "dim")

    def body(self) -> Content:
        return Content.styled(clean(self._text, prose=True).strip(), "dim")
