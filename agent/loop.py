"""One turn: ask, do what was asked for, ask again, until the model has answered."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby

from ogcode.agent.arguments import mended, no_such_tool, sendable
from ogcode.agent.events import (
    Answered,
    Emit,
    Event,
    Progress,
    ReasoningDelta,
    Retrying,
    Steered,
    SummedUp,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Waiting,
    Warned,
)
from ogcode.agent.guard import GARBLED, nudged, repeats
from ogcode.agent.model import (
    ContextOverflow,
    Delayed,
    Finished,
    Model,
    ModelError,
    Options,
    Reasoning,
    Restarted,
    Text,
    ToolSpec,
    Truncated,
    priced,
    thinks,
)
from ogcode.agent.tool import Malformed, Pictured, Tool, ToolError
from ogcode.agent.turn import Cause, Limits, Message, Opening, ToolCall, Turn, Usage, Verdict
from ogcode.agent.window.fit import longest, reserve
from ogcode.agent.window.stubs import changed_files
from ogcode.agent.window.summary import TIMES, accepted, output, summary_request
from ogcode.agent.window.view import View

Approve = Callable[[ToolCall], Awaitable[Verdict]]
Steering = Callable[[], Sequence[str]]
"""Hands over what the user has said since it was last asked."""


@dataclass(frozen=True, slots=True)
class Form:
    """The shape that an answer must have; one that has not is asked for again, once."""

    schema: Mapping[str, object]
    wrong: Callable[[str], str]
    """Tells the model what is wrong with an answer; empty where nothing is."""


async def run_turn(
    opening: Opening,
    *,
    model: Model,
    tools: Sequence[Tool],
    emit: Emit,
    approve: Approve,
    limits: Limits,
    steering: Steering = tuple,
    options: Options = Options(),  # noqa: B008  # frozen
    form: Form | None = None,
    progress: Progress | None = None,
) -> Turn:
    """Run one turn to its end. Owns no state; `progress` is the caller's, for what tools spend besides.

    Raises:
        ModelError: the model could not answer; what was reported by then stands.
    """
    held = {tool.name: tool for tool in tools}
    specs = [held[name].spec for name in sorted(held)]
    history = opening.messages()
    progress = progress or Progress(opening.request)
    options = replace(options, max_output=reserve(model.window, options.max_output))
    view = View(specs, model.window, longest(options.max_output, model.window, thinks=thinks(model)))
    garbled, refused = 0, ""

    def report(event: Event) -> None:
        progress.add(event)
        emit(event)

    while not (cause := _reached(limits, progress)):
        for text in steering():
            report(Steered(text))
            history = (*history, Message("user", text))
        shown, asked = nudged(history, options)
        request = await _fitted(view, shown, model, options, progress, report)
        if request is None:
            return progress.turn("limit", "window", refused or _outgrown(model.window, progress))
        try:
            reply, end = await _ask(model, request, specs, asked, report)
        except ContextOverflow as error:
            if isinstance(error, Truncated) or not view.overflowed():
                raise
            refused = str(error)
            report(Retrying(f"{error}; asking with less of this turn", 0.0))
            continue
        refused = ""
        reply = replace(reply, calls=_unique([mended(call) for call in reply.calls], history))
        report(reply)
        view.learn(reply.usage)
        history = (*history, Message("assistant", reply.text, tuple(map(sendable, reply.calls)), thought=end.thought))
        if end.reason == "length":
            return progress.turn("limit", "tokens", "the answer was cut at the model's output limit")
        if not reply.calls and form and options.schema is None and (wrong := form.wrong(reply.text)):
            history, options = (*history, Message("user", wrong)), replace(options, schema=form.schema)
            continue
        if not reply.calls:
            silent = not reply.text.strip() and not progress.steps
            return progress.turn("failed", "provider", "the model gave no answer") if silent else progress.turn("done")
        garbled += 1
        for calls in _side_by_side(reply.calls, held):
            for answer, understood in await _answers(calls, held, approve, report):
                history, garbled = (*history, answer), 0 if understood else garbled
        if garbled >= GARBLED:
            return progress.turn("limit", "loop", f"the model's calls were malformed {garbled} times in a row")
        if repeats(history):
            return progress.turn("limit", "loop", "the model repeated the same calls without getting further")
    return progress.turn("limit", cause, _why(limits, progress, cause))


async def _fitted(
    view: View, history: Sequence[Message], model: Model, options: Options, progress: Progress, report: Emit
) -> Sequence[Message] | None:
    """Make the next request fit: by stubs, then by a summary of the model's own, then by a line for each old step."""
    changed = changed_files(progress.steps)
    request = view.request(history, changed)
    if request or view.summaries >= TIMES or not (steps := view.old_steps(history)):
        return request or view.squeezed(history, changed)
    report(Waiting("summing up the turn so far, to make room"))
    words = "\n\n".join([progress.request, *progress.steered])
    asking = summary_request(view, words, steps, changed)
    summary, why = "", "the model gave nothing"
    try:
        said, _ = await _ask(model, asking, (), replace(options, max_output=output(model.window)), _silently(report))
        summary = accepted(said.text, model.window)
        report(SummedUp(summary, said.usage))
    except ModelError as error:
        why = str(error)
    if not summary:
        report(Warned(f"the turn so far could not be summed up ({why}): its older steps are told in a line each"))
    view.sum_up(history, summary)
    return view.request(history, changed) or view.squeezed(history, changed)


def _silently(report: Emit) -> Emit:
    """Let only that through which is no part of an answer."""

    def emit(event: Event) -> None:
        if isinstance(event, Retrying | Waiting):
            report(event)

    return emit


async def _ask(
    model: Model, request: Sequence[Message], specs: Sequence[ToolSpec], options: Options, report: Emit
) -> tuple[Answered, Finished]:
    text, calls, end = "", list[ToolCall](), Finished("stop", Usage())
    async for delta in model.stream(request, specs, options=options):
        match delta:
            case Text(piece):
                text += piece
                report(TextDelta(piece))
            case Reasoning(piece):
                report(ReasoningDelta(piece))
            case ToolCall():
                calls.append(delta)
            case Restarted(why, seconds):
                text, calls = "", []
                report(Retrying(why, seconds))
            case Delayed(why):
                report(Waiting(why))
            case Finished():
                end = delta
    cut = end.reason == "length"
    return Answered(text, () if cut else tuple(calls), priced(end.usage, model), cut), end


def _side_by_side(calls: Sequence[ToolCall], held: Mapping[str, Tool]) -> Iterator[Sequence[ToolCall]]:
    """Put calls together that only read, as far as they follow each other; all others keep their place in the order."""
    for reads, some in groupby(calls, lambda call: call.name in held and held[call.name].effect == "read"):
        together = tuple(some)
        yield from (together,) if reads else ((call,) for call in together)


async def _answers(
    calls: Sequence[ToolCall], held: Mapping[str, Tool], approve: Approve, report: Emit
) -> Sequence[tuple[Message, bool]]:
    """Run calls at the same time; what is asked for is asked one after the other."""
    asking = asyncio.Lock()

    async def one_by_one(call: ToolCall) -> Verdict:
        async with asking:
            return await approve(call)

    running = [asyncio.ensure_future(_answer(call, held, one_by_one, report)) for call in calls]
    try:
        return [await each for each in running]
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _answer(call: ToolCall, held: Mapping[str, Tool], approve: Approve, report: Emit) -> tuple[Message, bool]:
    """Run one call, and tell whether it made sense. Every call gets its answer, whatever becomes of it."""
    report(ToolStarted(call))
    try:
        if call.name not in held:
            raise Malformed(no_such_tool(call, [held[name].spec for name in sorted(held)]))
        arguments = held[call.name].arguments(call.arguments)
        verdict = await approve(call)
        if not verdict.allowed:
            raise ToolError(f"not allowed: {verdict.reason}")
        output, failed, understood = await held[call.name].function(**arguments), False, True
    except ToolError as error:
        output, failed, understood = f"error: {error}", True, not isinstance(error, Malformed)
    report(ToolFinished(call, str(output), failed))
    images = (output.image,) if isinstance(output, Pictured) else ()
    return Message("tool", str(output), call_id=call.id, name=call.name, images=images), understood


def _reached(limits: Limits, progress: Progress) -> Cause:
    if limits.requests is not None and progress.requests >= limits.requests:
        return "turns"
    if limits.tokens is not None and progress.usage.tokens >= limits.tokens:
        return "tokens"
    spent = progress.usage.cost
    if limits.cost is not None and (spent is None or spent >= limits.cost):
        return "cost"
    return ""


def _why(limits: Limits, progress: Progress, cause: Cause) -> str:
    match cause:
        case "turns":
            return f"the limit of model requests was reached: {limits.requests}"
        case "tokens":
            return f"the limit of tokens was reached: {limits.tokens:,}"
        case _ if progress.usage.cost is None:
            return "the cost can't be limited: what a request cost is not known"
        case _:
            return f"the limit of cost was reached: ${limits.cost:.6g}"


def _outgrown(window: int, progress: Progress) -> str:
    if not progress.requests:
        return f"the message does not fit into the window of {window:,} tokens; shorten it, or put it into a file"
    return f"the turn outgrew the window of {window:,} tokens; say continue to go on from here"


def _unique(calls: Sequence[ToolCall], history: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Give calls ids that no other call of the turn has."""
    seen = {call.id for message in history for call in message.calls}
    named = list[ToolCall]()
    for call in calls:
        free = (f"call_{number}" for number in count(1) if f"call_{number}" not in seen)
        identity = call.id if call.id and call.id not in seen else next(free)
        seen.add(identity)
        named.append(replace(call, id=identity))
    return tuple(named)
