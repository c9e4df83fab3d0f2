"""The cards by which the agent asks: a question with options or free text, and a plan to be approved."""

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from ogcode.agent.clean import clean
from ogcode.agent.tools.ask_user import Alternative, Question
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.card import Asks, paragraph
from ogcode.tui.screen.markdown import Answer


class Choices(Static):
    """Options with their numbers, one of them marked."""

    place = var(0)

    def __init__(self, options: Sequence[Alternative]) -> None:
        super().__init__(markup=False)
        self._options = options

    def on_resize(self) -> None:
        self.watch_place()

    def watch_place(self) -> None:
        lines = list[Content]()
        for place, option in enumerate(self._options):
            marked = place == self.place
            mark = Content.assemble(("❯ " if marked else "  ", "$accent"), (f"{place + 1} ", "bold $accent"))
            named = Content.styled(flat(option.label), "bold" if marked else "")
            told = Content.styled(f"  {flat(option.description)}" if option.description else "", "dim")
            first, *rest = (named + told).wrap(max(self.size.width - mark.cell_length, 8))
            lines += [mark + first, *(Content(" " * mark.cell_length) + line for line in rest)]
        self.update(Content("\n").join(lines))


class QuestionCard(Asks[str]):
    """A question of the agent; the answer is the label of an option, or what the user writes."""

    def __init__(self, question: Question, clock: Callable[[], float]) -> None:
        super().__init__(Content.styled("The agent asks", "bold"), clock)
        self.question = question
        self.options: Sequence[Alternative] = question.options
        self._choices = Choices(self.options)
        if self.options:
            self.scroll_keys = "PgUp PgDn"

    def body(self) -> ComposeResult:
        yield paragraph(Content(clean(self.question.text, prose=True)), "question")

    def below(self) -> ComposeResult:
        if self.options:
            yield self._choices

    def writing(self) -> Input:
        return Input(placeholder="Your answer: the model reads it", select_on_focus=False)

    def keys(self) -> tuple[tuple[str, str], ...]:
        if not self.options:
            return ("Enter", "answer, or just type"), ("Esc", "stop")
        return (
            (f"1-{len(self.options)}", "choose"),
            ("↑↓ Enter", "choose the marked one"),
            ("a letter", "answer in your own words"),
            ("Esc", "stop"),
        )

    def press(self, key: str, character: str) -> bool:
        if key in ("up", "down") and self.options:
            self._choices.place = (self._choices.place + (1 if key == "down" else -1)) % len(self.options)
            self._choices.scroll_visible(animate=False)
        elif key == "enter":
            self.chosen(self._choices.place) if self.options else self.write("")
        elif character.isdecimal() and self.options:
            if 0 < int(character) <= len(self.options):
                self.chosen(int(character) - 1)
        elif character:
            self.write(character)
        else:
            return False
        return True

    def chosen(self, place: int) -> None:
        """Take an option."""
        self.decide(self.options[place].label)

    def written(self, text: str) -> None:
        self.write(None) if not text else self.decide(text)


class PlanCard(QuestionCard):
    """A plan that waits to be approved; the answer is a mode to go on in, or what is still to be planned."""

    def __init__(
        self, question: Question, modes: Sequence[tuple[str, Alternative]], clock: Callable[[], float]
    ) -> None:
        super().__init__(question, clock)
        self._asks = Content.styled("Carry out this plan?", "bold")
        self.mode = ""
        self._modes = modes
        self.options = (*(option for _, option in modes), Alternative("keep planning", "say what should be different"))
        self._choices = Choices(self.options)
        self.scroll_keys = "PgUp PgDn"

    def body(self) -> ComposeResult:
        yield Answer(self.question.plan)

    def writing(self) -> Input:
        return Input(placeholder="What the plan should say instead: the model goes on planning", select_on_focus=False)

    def chosen(self, place: int) -> None:
        if place == len(self._modes):
            self.write("")
            return
        self.mode, option = self._modes[place]
        self.decide(option.label)
