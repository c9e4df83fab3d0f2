"""The tools by which the model keeps facts, and says what holds for the rest of a conversation."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from ogcode.agent.events import Emit, Warned
from ogcode.agent.facts.block import entry
from ogcode.agent.facts.fact import FactRefused, one_line
from ogcode.agent.facts.standing import Standing
from ogcode.agent.facts.store import WAIT, Facts, FactsBusy
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.sensitive.secrets import findings
from ogcode.agent.tool import Tool, ToolError, tool

Reach = Literal["project", "global", "session"]

_READ = 12_000
"""Characters that one reading of facts gives at most."""

_FOUND = 20
_IDS = re.compile(r"[ms]-[0-9a-f]{1,16}")
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Session:
    """What the tools need of the session that they work in."""

    memory: Callable[[], MemorySwitch]
    source: Callable[[], str]
    """The id of the note that the current turn will have."""
    standing: Callable[[], Standing]
    stand: Callable[[Standing], None]
    """Keeps what stands from now on. Raises OSError where it can't be kept."""
    secrets: Callable[[], tuple[str, ...]]


def fact_tools(facts: Facts, session: Session, emit: Emit, *, some: bool) -> tuple[Tool, ...]:
    """Build `remember`, and, where there are `some` facts, the tools that need one."""

    def may_save() -> None:
        if session.memory() != "on":
            raise ToolError(
                "memory is read-only now: nothing was saved. Tell the user so; it holds for this conversation if kept "
                "with scope session"
            )

    @tool(effect="write")
    async def remember(text: str, scope: Reach = "project", summary: str = "") -> str:
        """Keep a fact, and why."""
        if scope == "session":
            if found := findings(text, session.secrets()):
                raise ToolError(f"it holds a secret ({found[0].kind}); say it without")
            return _standing(session, lambda standing: standing.with_line(text))
        may_save()
        source = session.source()
        saved = await _patiently(lambda: facts.remember(text, scope, summary=summary, source=source))
        fact = saved.fact
        if not saved.new:
            return f"already known as {fact.id} ({fact.scope}); nothing was saved"
        emit(Warned(f"remembered {fact.id} ({fact.scope}): {fact.summary} · undo: ogcode memory undo {fact.id}"))
        near = "".join(f"\nalike: {entry(each)[:400]}" for each in saved.alike)
        also = "\nIf one of these says the same, forget one of the two." if near else ""
        return f"remembered as {fact.id} ({fact.scope}, {fact.file}){near}{also}"

    if not some:
        return (remember,)

    @tool(effect="write")
    async def memory_update(
        id: Annotated[str, "of the fact"],  # noqa: A002  # the model's word
        text: Annotated[str, "the whole new text"],
        summary: str = "",
    ) -> str:
        """Replace a fact that changed or was wrong."""
        if id.startswith("s-"):
            return _standing(session, lambda standing: (standing.changed(id, text), id))
        may_save()
        source = session.source()
        fact = await _patiently(lambda: facts.update(id, text, summary=summary, source=source))
        emit(Warned(f"updated {fact.id} ({fact.scope}): {fact.summary} · undo: ogcode memory undo {fact.id}"))
        return f"updated {fact.id}"

    @tool(effect="write")
    async def memory_forget(id: Annotated[str, "of the fact"]) -> str:  # noqa: A002
        """Forget a fact that is wrong or no longer wanted."""
        if id.startswith("s-"):
            return _standing(session, lambda standing: (standing.without(id), id))
        may_save()
        fact = await _patiently(lambda: facts.forget(id))
        emit(Warned(f"forgot {fact.id} ({fact.scope}): {fact.summary} · undo: ogcode memory undo {fact.id}"))
        return f"forgot {fact.id}; do not use it any more"

    @tool(effect="read")
    async def memory_read(ids: Annotated[str, "ids, or words to look for"]) -> str:
        """Read facts in full."""
        known = await asyncio.to_thread(facts.known)
        asked = _IDS.findall(ids)
        if asked:
            found, missing = facts.read(asked, known)
        else:
            from ogcode.agent.facts.find import speaking

            found = [each for _, each in speaking(ids, known.facts)][:_FOUND]
            missing = [] if found else [one_line(ids, 60)]
        shown, room = list[str](), _READ
        for each in found:
            room -= len(entry(each))
            shown += [entry(each)] if room >= 0 else [f"- {each.id} is long; read it alone, or its file {each.file}"]
        return "\n".join([*shown, *([f"missing: {', '.join(missing)}"] if missing else [])])

    return remember, memory_update, memory_forget, memory_read


def _standing(session: Session, change: Callable[[Standing], tuple[Standing, str]]) -> str:
    try:
        standing, name = change(session.standing())
        session.stand(standing)
    except FactRefused as error:
        raise ToolError(str(error)) from error
    except OSError as error:
        raise ToolError(f"it could not be kept: {error.strerror}") from error
    kept = "holds for the rest of this conversation" if name in dict(standing.lines) else "no longer stands"
    return f"{name} {kept}"


async def _patiently(change: Callable[[], _Made]) -> _Made:
    """Change facts as soon as nobody else does.

    Raises:
        ToolError: it could not be done.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            return await asyncio.to_thread(change)
        except FactsBusy as error:
            if time.monotonic() > until:
                raise ToolError(str(error)) from error
            await asyncio.sleep(0.005)
        except FactRefused as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(
                f"nothing was saved: {error.filename or 'a file'}: {error.strerror}; tell the user"
            ) from error
