"""`ogcode doctor`: whether ogcode works here, found out by doing it."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Annotated, Literal

from ogcode.agent.events import Event, Waiting
from ogcode.agent.loop import run_turn
from ogcode.agent.model import Delta, Model, ModelError, Options, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.models.choice import NoModel, chosen, open_client, steadied
from ogcode.agent.models.offered import loaded_now
from ogcode.agent.models.slot import at_work
from ogcode.agent.sensitive.secrets import scrub
from ogcode.agent.tool import tool
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Turn, Verdict
from ogcode.tui.commands.notes import counted
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.models import locks_here
from ogcode.tui.place import Here, ignored_here

SICK = 1
SECONDS = 600.0
"""That the whole round trip may take: a large model may have to be loaded first."""
SYSTEM = "You check a connection. Call the tool ping as you are asked to, then say what it gave back."

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    said: str
    state: State = "ok"
    facts: Mapping[str, object] = field(default_factory=dict)


def check_up(here: Here, named: str, *, as_json: bool) -> int:
    """Check the place, then the model by letting it call a tool; print a line for each, return 1 where one failed."""

    async def run() -> int:
        code = 0
        async for check in checks_of(here, named):
            if as_json:
                answer_json({"check": check.name, "state": check.state, "said": check.said, **check.facts})
            else:
                answer(f"{check.state:8}{check.name}: {check.said}")
            code = SICK if check.state == "failed" else code
        return code

    return asyncio.run(run())


async def checks_of(here: Here, named: str) -> AsyncGenerator[Check]:
    """Check one thing after the other; what is said of it is one line without secrets."""
    for check in _place(here):
        yield _fit_to_show(here, check)
    async for check in _model(here, named):
        yield _fit_to_show(here, check)


def _fit_to_show(here: Here, check: Check) -> Check:
    return replace(check, said=scrub(flat(check.said), here.secrets))


def _place(here: Here) -> Iterator[Check]:
    settings = here.home / "config.toml"
    yield Check("settings", f"{settings} is read" if settings.is_file() else f"{settings} is not there: nothing is set")
    for notice in here.notices:
        yield Check("settings", notice, "warning")
    yield _trust(here)
    git = (here.root.top / ".git").exists()
    yield Check("repository", f"{here.root.top}" if git else f"{here.root.top} is in no git repository")
    yield _sandbox(here)
    for name, folder in (("memory", here.root.store), ("home", here.home)):
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if os.access(there, os.W_OK | os.X_OK):
            yield Check(name, f"{folder} can be written")
        else:
            yield Check(name, f"{folder} can't be written; what is kept there is lost with the session", "warning")


def _sandbox(here: Here) -> Check:
    from ogcode.agent.sandbox.tiers import probe

    found = probe(here.environ, here.root.top)
    facts = {"tier": found.tier, "strong": found.strong}
    return Check("sandbox", f"{found.tier}: {found.why}", "ok" if found.strong else "warning", facts)


def _trust(here: Here) -> Check:
    if here.trusted:
        return Check("trust", "this folder is trusted")
    left_out = ", ".join(ignored_here(here)) or "what others put here"
    return Check("trust", f"this folder is not trusted: {left_out} is ignored; --trust trusts it", "warning")


async def _model(here: Here, named: str) -> AsyncGenerator[Check]:
    try:
        choice = await chosen(flag=named, environ=here.environ, configured=here.config.model)
    except NoModel as error:
        said, ways, _ = str(error).partition(". Do one of these")
        yield Check("model", f"{said}{'; ogcode models lists the ways to one' if ways else ''}", "failed")
        return
    except ModelError as error:
        yield Check("model", str(error), "failed")
        return
    yield Check("model", f"{choice.name} ({choice.why})", facts={"model": choice.name, "why": choice.why})
    began = time.monotonic()
    try:
        client = await open_client(
            choice.name,
            environ=here.environ,
            api_base=here.config.api_base,
            num_ctx=here.config.num_ctx,
            prices_cache=here.home / "prices.json",
        )
    except ModelError as error:
        yield Check("endpoint", str(error), "failed")
        return
    seconds = round(time.monotonic() - began, 3)
    said = f"a window of {client.window:,} tokens, known after {seconds:.2f} s"
    yield Check("endpoint", said, facts={"window": client.window, "seconds": seconds})
    locks = locks_here(here, client.name)
    with at_work(locks) if locks else nullcontext():
        yield await _tools(client)
    try:
        now = await loaded_now(client.name, environ=here.environ, api_base=here.config.api_base)
    except ModelError as error:
        yield Check("loaded", str(error), "warning")
        return
    if now is not None:
        yield _loaded(client, now.context, now.slots)


async def _tools(client: Model) -> Check:
    """Have one tool called with a word that can't be guessed, and another given back."""
    watched = _Watched(client)
    word, reply, given = token_hex(3), token_hex(3), list[str]()

    @tool(effect="read")
    async def ping(word: Annotated[str, "the word that you were asked to send"]) -> str:
        """Send a word and get another one back."""
        given.append(word)
        return reply

    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            turn = await run_turn(
                Opening(SYSTEM, f"Call ping with the word {word}. Then tell me the word that it gave back."),
                model=steadied(watched, attempts=2),
                tools=[ping],
                emit=_tell,
                approve=_yes,
                limits=Limits(requests=4),
                options=Options(temperature=0.0),
            )
    except TimeoutError:
        return Check("tools", f"{client.name} did not get through with one call in {SECONDS:g} s", "failed")
    except ModelError as error:
        return Check("tools", str(error), "failed")
    seconds = round(time.monotonic() - began, 3)
    how = "none" if not given else ("native" if watched.called else "text")
    return _judged(turn, how, exact=word in given, told=reply in turn.answer, seconds=seconds)


def _judged(turn: Turn, how: str, *, exact: bool, told: bool, seconds: float) -> Check:
    usage = turn.usage
    facts = {
        "calls": how,
        "exact": exact,
        "answered": told,
        "seconds": seconds,
        "requests": turn.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    asked = counted(turn.requests, "request")
    spent = f"{asked}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {seconds:.1f} s"
    if how == "none":
        words = turn.answer[:200] or turn.reason
        return Check("tools", f"the tool was not called ({spent}); the model said: {words}", "failed", facts)
    way = "by native tool calls" if how == "native" else "by calls that come as text"
    short = [] if exact else ["the word was not sent as it was given"]
    short += [] if told else ["what came back was not told"]
    said = f"works {way}{''.join(f'; {each}' for each in short)} ({spent})"
    return Check("tools", said, "warning" if short else "ok", facts)


def _loaded(client: Model, context: int, slots: int) -> Check:
    facts = {"context": context, "slots": slots or None}
    beside = f", {slots} at a time" if slots else ""
    if not context:
        return Check("loaded", "the model is not loaded any more", "warning", facts)
    if context < client.window:
        said = f"a context of {context:,} tokens, less than the window of {client.window:,} that ogcode counts on"
        return Check("loaded", said, "warning", facts)
    return Check("loaded", f"a context of {context:,} tokens{beside}", facts=facts)


def _tell(event: Event) -> None:
    if isinstance(event, Waiting):
        remark(f"{event.reason} …")


async def _yes(call: ToolCall) -> Verdict:  # noqa: ARG001  # ping does nothing
    return Verdict(allowed=True)


class _Watched(Around):
    """Knows whether a model has called a tool in its own way."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.called = False

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        async for delta in self._model.stream(messages, tools, options=options):
            self.called = self.called or isinstance(delta, ToolCall)
            yield delta
