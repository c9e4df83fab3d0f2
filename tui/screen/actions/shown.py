"""`/context`, `/cost`, `/diff`, `/doctor`, `/copy`: what there is to be seen of a session, and to be taken along."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.tui.screen.actions.command import MARGINS, Command, Front, beside

if TYPE_CHECKING:
    from ogcode.tui.behind.context import Part
    from ogcode.tui.screen.app import Ogcode

_BAR = 20
_STATES = {"ok": "plain", "warning": "warning", "failed": "warning"}


async def _context(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    await app.transcript.say(context_told(await app.desk.showing.context(), app.size.width - MARGINS), "plain")


def context_told(parts: "Sequence[Part]", wide: int) -> str:
    """Tell the parts of a request, each with its share of the window."""
    window = sum(part.tokens for part in parts)
    sent = sum(part.tokens for part in parts if part.name not in ("answer", "free"))
    lines = [f"the next request begins with {sent:,} tokens, before your words:"]
    for part in parts:
        cells = round(_BAR * part.tokens / window) if window else 0
        bar = ("░" if part.name == "free" else "█") * max(cells, bool(part.tokens))
        head = f"{part.tokens:>9,}  {bar:<{_BAR}}  "
        lines.append(beside(head, clean(f"{part.name}: {part.detail}" if part.detail else part.name), wide))
    return "\n".join(lines)


async def _cost(app: Front, argument: str) -> None:  # noqa: ARG001
    await app.transcript.say(app.desk.showing.cost(), "plain")


async def _diff(app: "Ogcode", argument: str) -> None:  # noqa: ARG001
    from ogcode.tui.screen.diff import Diff

    changes = app.desk.showing.changes()
    for change in changes:
        again = partial(Diff, change, classes="plain")
        await app.transcript.add(again(), again)
    if not changes:
        await app.transcript.say("nothing that ogcode's tools changed in this session stands; git tells the rest")


async def _doctor(app: Front, argument: str) -> None:  # noqa: ARG001
    async def examine() -> None:
        troubles = 0
        async for check in app.desk.showing.checks():
            await app.transcript.say(f"{check.state:<8}{check.name}: {check.said}", _STATES[check.state])
            troubles += check.state != "ok"
        await app.transcript.say(f"{troubles} to look at" if troubles else "all is well")

    await app.transcript.say(f"looking whether ogcode works here; {app.stop_key} stops it")
    app.examine(examine())


async def _copy(app: "Ogcode", argument: str) -> None:
    from ogcode.tui.screen.terminal import copy

    answers = app.desk.showing.answers()
    number = int(argument) if argument.isdecimal() and len(argument) < 6 else 1 if not argument else 0
    if not 0 < number <= len(answers):
        there = f"there are {len(answers)}; /copy 1 is the last one" if answers else "there is none yet"
        await app.transcript.say(f"there is no answer '{clean(argument) or 1}' to copy: {there}", "warning")
        return
    await app.transcript.say(copy(app, answers[-number]))


SAID = (
    Command(
        "/cost",
        "",
        "tokens and cost of this turn and this session, and with replay",
        _cost,
        aliases=("/usage", "/stats"),
    ),
    Command("/doctor", "", "try out whether ogcode works here", _doctor, at_rest=True),
)
COMMANDS: "tuple[Command[Ogcode], ...]" = (
    Command("/context", "", "what the next request will hold, part by part", _context, at_rest=True),
    *SAID,
    Command("/diff", "", "what ogcode's tools changed in this session", _diff),
    Command("/copy", "[N]", "copy the last answer, or the Nth last, as it was written", _copy),
)
