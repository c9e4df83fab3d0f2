"""What is offered for the word before the cursor, and how it takes the word's place."""

from textual.widgets import TextArea

from ogcode.tui.desks.prompt import Found, PromptDesk
from ogcode.tui.message.mentions import half_typed
from ogcode.tui.screen.suggestions import Suggestions
from ogcode.tui.screen.writing.offers import Offer, commands, files
from ogcode.tui.screen.writing.seeking import Seeking


class Completing:
    def __init__(self, area: TextArea, desk: PromptDesk, suggestions: Suggestions) -> None:
        self._area = area
        self._suggestions = suggestions
        self._seeking = Seeking(area, desk, self._show_files)
        self._looked = ("", 0)
        """The line and the column that something was offered for."""
        self._silent = ""
        """A text for which nothing is offered."""

    @property
    def chosen(self) -> Offer | None:
        self.offer()  # a key can come before the word that the last one has changed something
        return self._suggestions.chosen

    @property
    def before(self) -> str:
        """The line up to the cursor."""
        row, column = self._area.cursor_location
        return self._area.document[row][:column]

    def move(self, step: int) -> None:
        self._suggestions.move(step)

    def be_silent(self) -> None:
        """Offer nothing for the text that is there now: it was not typed."""
        self._silent = self._area.text

    def offer(self) -> None:
        """Offer what may complete the word before the cursor."""
        row, column = self._area.cursor_location
        line = self._area.document[row]
        if self._looked == (line, column):
            return
        self._looked = line, column
        silent, self._silent = self._silent, ""
        word = half_typed(line[:column])
        if silent and silent == self._area.text:
            self.shut()
        elif word:
            self._seeking.want(word[1])
        else:
            self._seeking.want(None)
            first = row == 0 and self._area.document.line_count == 1 and line.startswith("/")
            self._suggestions.offer(commands(line) if first else [])

    def shut(self) -> None:
        """Offer nothing until something else is typed."""
        self._seeking.want(None)
        self._suggestions.offer([])

    def is_whole(self, chosen: Offer) -> bool:
        """Tell whether the path that is offered first is what was typed already."""
        word = half_typed(self.before)
        return word is not None and not self._suggestions.moved and chosen.shown == word[1]

    def complete(self, chosen: Offer) -> None:
        """Put what was chosen in the place of the word."""
        row, column = self._area.cursor_location
        word = half_typed(self.before)
        if word is None:  # a command, which is all that there is
            text, start, end = f"{chosen.text.rstrip(' ')} ", (0, 0), self._area.document.end
        else:
            closed = self._area.document[row][column : column + 1] == '"'
            text, start, end = chosen.text, (row, word[0]), (row, column + closed)
        self._area.replace(text, start, end, maintain_selection_offset=False)
        self._area.move_cursor((start[0], start[1] + len(text)))

    def _show_files(self, word: str, found: Found) -> None:
        typed = half_typed(self.before)
        if typed and typed[1] == word:
            self._suggestions.offer(files(found.paths), found.left_out)
