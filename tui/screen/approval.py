"""The card that asks whether a call may run: exactly what it would do, why it asks, and one key to answer."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from ogcode.agent.clean import clean
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.calls import given
from ogcode.tui.desks.rights import Asking
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.card import Asks, paragraph
from ogcode.tui.screen.diff import Diff

_NO = "the user said no"


class ApprovalCard(Asks[Verdict]):
    """One call that asks."""

    def __init__(self, call: ToolCall, asking: Asking, clock: Callable[[], float]) -> None:
        job = given(call).get("job")
        behind = f" in the background, as {flat(job)[:40]}" if isinstance(job, str) and job.strip() else ""
        super().__init__(Content.assemble("Allow ", (flat(call.name), "bold"), f"{behind}?"), clock)
        self.call = call
        self.always = False
        self._asking = asking

    def told(self) -> ComposeResult:
        yield paragraph(Content(clean(self._asking.why)), "why")

    def body(self) -> ComposeResult:
        yield Diff(self._asking.preview)

    def below(self) -> ComposeResult:
        if self._asking.boundary:
            yield paragraph(Content.styled(flat(self._asking.boundary), "dim"), "boundary")
        if self._asking.rule:
            rule = clean(self._asking.rule)
            yield paragraph(Content.assemble(("g keeps the rule  ", "dim"), (rule, "bold")), "rule")

    def writing(self) -> Input:
        return Input(placeholder="Why not, or what to do instead: the model reads it", select_on_focus=False)

    def keys(self) -> tuple[tuple[str, str], ...]:
        return (
            ("y", "yes, once"),
            ("a", "always this exact call"),
            *((("g", "for good"),) if self._asking.rule else ()),
            ("n", "no"),
            ("r", "no, because…"),
            ("Esc", "stop"),
        )

    def press(self, key: str, character: str) -> bool:  # noqa: ARG002  # a card's way
        match key:
            case "y":
                self.decide(Verdict(True))
            case "a":
                self.always = True
                self.decide(Verdict(True))
            case "g" if self._asking.rule:
                self.decide(Verdict(True, rule=self._asking.rule))
            case "n":
                self.decide(Verdict(False, _NO))
            case "r" | "N" | "R" | "upper_n" | "upper_r":
                self.write("")
            case _:
                return False
        return True

    def written(self, text: str) -> None:
        self.decide(Verdict(False, text or _NO))
