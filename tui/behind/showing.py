"""What can be shown of a session: what its next request holds, what it has cost, said and changed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.agent.turn import Usage

if TYPE_CHECKING:
    from ogcode.tui.behind.context import Part
    from ogcode.tui.commands.checks import Check
    from ogcode.tui.opened import Opened


class Showing:
    """Implements `ShowingDesk`."""

    def __init__(
        self,
        opened: "Callable[[], Opened]",
        turn: Callable[[], tuple[Usage, int]],
        beside: Callable[[], Mapping[str, str]],
    ) -> None:
        self._opened = opened
        self._beside = beside
        """What goes out with the user's next words, by what it is."""
        self._turn = turn
        """What the last turn used, and what it would have with all earlier turns sent again (0: not known)."""
        self._said = list[str]()
        self._session = ""

    def said(self, answer: str) -> None:
        """Take note of an answer."""
        self._mine()
        self._said.append(answer)

    def answers(self) -> Sequence[str]:
        self._mine()
        return [each for each in self._said if each.strip()]

    def _mine(self) -> None:
        """Begin with what was said before this process, where the session is another than before."""
        opened = self._opened()
        if opened.session.id != self._session:
            self._session = opened.session.id
            self._said = [answer for _, answer in opened.past.said] if opened.past else []

    async def context(self) -> "Sequence[Part]":
        from ogcode.tui.behind.context import parts_of_next_request

        opened = self._opened()
        await asyncio.to_thread(_vocabulary)
        return parts_of_next_request(opened, self._beside())

    def cost(self) -> str:
        return "\n".join(self._costs())

    def _costs(self) -> Iterator[str]:
        from ogcode.agent.usage import read_ledger
        from ogcode.tui.commands.spending import add_up

        opened = self._opened()
        turn, replay = self._turn()
        yield f"this turn     {_used(turn)}"
        if replay > turn.tokens:
            yield f"              with every earlier turn sent again it would have been {replay:,} tokens"
        yield f"this session  {_used(opened.session.usage)}"
        ledger = [each for each in read_ledger(opened.here.root.store) if each]
        mine = add_up(each for each in ledger if each.session_id == opened.session.id)
        for role in ("agent", "librarian", "scribe"):
            if (part := mine.roles[role]).requests:
                number = f"{part.requests:,} request{'s' * (part.requests > 1)}"
                yield f"  {role:<12}{number}, {_used(part.usage)}"
        sent, replayed = mine.roles["agent"].usage.input_tokens, mine.replay.tokens
        if replayed > sent:
            plain, cached = mine.replay.cost(opened.here, mine.roles["agent"].usage.cost)
            priced = "" if plain is None or cached is None else f": ${plain:.4f}, ${cached:.4f} with all of it cached"
            yield f"  with replay   {replayed:,} tokens sent instead of {sent:,}{priced}"
        yield f"this folder   {_used(add_up(ledger).total.usage)}; more: ogcode stats"

    def changes(self) -> Sequence[str]:
        from ogcode.agent.tool import ToolError
        from ogcode.agent.tools.preview import difference
        from ogcode.agent.tools.store import load
        from ogcode.agent.undo.kept import Gone, kept

        opened = self._opened()
        undo, first = opened.undo, dict[str, str]()
        for entry in undo.history().standing():
            for change in entry.changes:
                first.setdefault(change.path, change.before)
        shown = list[str]()
        for path, before in first.items():
            real = Path(path)
            name = undo.workspace.display(real)
            try:
                was = kept(undo.folder(), before) if before else None
                now = load(undo.workspace, real) if real.is_file() else None
            except (Gone, ToolError, OSError) as error:
                shown.append(f"{clean(name)}: can't be compared: {clean(str(error))}")
                continue
            if was != now:
                shown.append(difference(name, was, now))
        return shown

    async def checks(self) -> "AsyncIterator[Check]":
        from ogcode.tui.commands.checks import checks_of

        opened = self._opened()
        async for check in checks_of(opened.here, opened.session.model.name):
            yield check


def _vocabulary() -> None:
    """Load what tokens are counted by: that takes a moment, once."""
    from ogcode.agent.window.tokens import count

    count("")


def _used(usage: Usage) -> str:
    cost = "" if usage.cost is None else f", ${usage.cost:.4f}" if usage.cost else ""
    cached = f", {usage.cache_read_input_tokens:,} of it cached" if usage.cache_read_input_tokens else ""
    unknown = ", cost not known" if usage.cost is None else ""
    return f"{usage.input_tokens:,} tokens sent{cached}, {usage.output_tokens:,} received{cost}{unknown}"
