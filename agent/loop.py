"""One turn: ask, do what was asked for, ask again, until the model has answered."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count

from ogcode.agent.events import (
    Answered,
    Emit,
    Event,
    Progress,
    ReasoningDelta,
    Retrying,
    Steered,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Waiting,
)
from ogcode.agent.fit import fitted, reserve
from ogcode.agent.guard import nudged, repeats
from ogcode.agent.model import Delayed, Finished, Model, Options, Reasoning, Restarted, Text, ToolSpec, priced
from ogcode.agent.tool import Tool, ToolError
from ogcode.agent.turn import Cause, Limits, Message, Opening, ToolCall, Turn, Usage, Verdict

Approve = Callable[[ToolCall], Awaitable[Verdict]]
Steering = Callable[[], Sequence[str]]
"""Hands over what the user has said since it was last asked."""


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

    def report(event: Event) -> None:
        progress.add(event)
        emit(event)

    while not (cause := _reached(limits, progress)):
        for text in steering():
            report(Steered(text))
            history = (*history, Message("user", text))
        request = fitted(nudged(history), specs, model.window, options.max_output)
        if request is None:
            return progress.turn("limit", "window", f"the turn outgrew the window of {model.window} tokens")
        reply, reason = await _ask(model, request, specs, options, report)
        reply = replace(reply, calls=_unique(reply.calls, history))
        report(reply)
        history = (*history, Message("assistant", reply.text, reply.calls))
        if reason == "length":
            return progress.turn("limit", "tokens", "the answer was cut at the model's output limit")
        if not reply.calls:
            silent = not reply.text.strip() and not progress.steps
            return progress.turn("failed", "provider", "the model gave no answer") if silent else progress.turn("done")
        for call in reply.calls:
            history = (*history, await _answer(call, held, approve, report))
        if repeats(history):
            return progress.turn("limit", "loop", "the model repeated the same calls without getting further")
    return progress.turn("limit", cause, f"the limit of this turn was reached: {cause}")


async def _ask(
    model: Model, request: Sequence[Message], specs: Sequence[ToolSpec], options: Options, report: Emit
) -> tuple[Answered, str]:
    text, calls, reason, usage = "", list[ToolCall](), "stop", Usage()
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
            case Finished(reason, usage):
                pass
    return Answered(text, () if reason == "length" else tuple(calls), priced(usage, model)), reason


async def _answer(call: ToolCall, held: dict[str, Tool], approve: Approve, report: Emit) -> Message:
    """Run one call. Every call gets its answer, whatever becomes of it."""
    report(ToolStarted(call))
    try:
        if call.name not in held:
            raise ToolError(f"there is no tool named {call.name}; there are {', '.join(sorted(held))}")
        arguments = held[call.name].arguments(call.arguments)
        verdict = await approve(call)
        if not verdict.allowed:
            raise ToolError(f"not allowed: {verdict.reason}")
        output, failed = await held[call.name].function(**arguments), False
    except ToolError as error:
        output, failed = f"error: {error}", True
    report(ToolFinished(call, output, failed))
    return Message("tool", output, call_id=call.id, name=call.name)


def _reached(limits: Limits, progress: Progress) -> Cause:
    if limits.requests is not None and progress.requests >= limits.requests:
        return "turns"
    if limits.tokens is not None and progress.usage.tokens >= limits.tokens:
        return "tokens"
    if limits.cost is not None and (progress.usage.cost or 0.0) >= limits.cost:
        return "cost"
    return ""


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
