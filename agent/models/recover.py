"""Tool calls that arrive as text: found where they can't be anything else, and never shown as prose."""

import json
import re
from collections.abc import AsyncGenerator, Sequence

from ogcode.agent.arguments import fits, fitting
from ogcode.agent.model import Delta, Finished, Options, Restarted, Text, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.models.shapes import SPECIAL, Call, leading, may_be_calls, may_be_closed, named_in, next_in
from ogcode.agent.turn import Message, ToolCall, Usage
from ogcode.agent.window.fit import size

_SPECIAL = "|".join(map(re.escape, SPECIAL))
_LONGEST = max(map(len, SPECIAL))
_LONGEST_NAME = 64
"""Characters; providers take no longer ones."""
_FENCES = r"(?m)^[ \t]*(?:```|~~~)"
_INTRODUCED = r"(?:\A|\n|[.:!?…]\s)[ \t]*\Z"
_ABOUT = (
    r"(?i)\b(?:for example|for instance|an? example|examples?:|e\.g\.|like (?:this|so)|looks? like|written|"
    r"(?:call|tag|tool|json|xml|this|following|right|correct) (?:format|syntax)|(?:format|syntax) (?:is|for|of)|"
    r"(?:do not|don't|never|must not|instead of)|would (?:be|look|write|send|emit|answer)|"
    r"you (?:can|could|would|should|may|might|must|need|write|send)|models? (?:write|emit|send|answer|call)s?|"
    r"means?|emits?|quote[ds]?|documentation)\b"
)
"""Words of somebody who writes about calls instead of making one."""


class Recovering(Around):
    """A model whose calls are calls, also when it writes them as text."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        text, shown, native = "", 0, False
        async for delta in self._model.stream(messages, tools, options=options):
            match delta:
                case Text(piece) if tools:
                    held = shown < len(text)
                    for line in piece.splitlines(keepends=True):
                        text += line
                        ended = line.endswith("\n") and (held or not shown) and may_be_closed(text)
                        if ended and (calls := before_nonsense(text, tools, messages)):
                            # A small model that writes calls may never stop, or makes up their results.
                            for call in calls:
                                yield call
                            yield Finished("stop", Usage(size(messages, tools), len(text) // 4))
                            return
                    end = _prose(text, shown)
                    if end > shown:
                        yield Text(text[shown:end])
                        shown = end
                    continue
                case ToolCall():
                    native = True
                case Restarted():
                    text, shown, native = "", 0, False
                case Finished(reason, _) if shown < len(text):
                    found = calls_in(text, tools, messages) if reason == "stop" and not native else ()
                    if not found and reason == "stop" and not native and not shown:
                        found = misnamed_in(text, tools, messages)
                    for call in found:
                        yield call
                    if not found and (reason == "stop" or not re.match(_SPECIAL, text[shown:].lstrip())):
                        yield Text(text[shown:])
            yield delta


def calls_in(text: str, tools: Sequence[ToolSpec], messages: Sequence[Message] = ()) -> tuple[ToolCall, ...]:
    """Read the calls of an answer: of tools that were offered, and all of them or none.

    They count where the whole answer is nothing but calls, in any shape. They also count after prose where they are in
    special tags (not bare JSON, nor JSON in a fence), stand at the end of the answer, begin a line or follow a
    sentence, are outside every fence, fit what the tool takes, and are not introduced by words about calls, such as
    "for example". What the user or a tool has said in the very same words is a quotation and never counts.
    Calls in special tags whose arguments can't be read are given as they are, for the model to be told.
    """
    start = _start(text)
    found, rest = leading(text[start:])
    if rest and found:
        return _unread(rest, found, tools, messages) if not start else ()
    return _accepted(text, start, found, tools, messages)


def misnamed_in(text: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Read an answer that is nothing but calls, one of a tool that is not there: that one, for the model to be told.

    It must be what a tool takes that is there; and once in a turn is enough: who says it again means it as an answer.
    """
    names = {spec.name for spec in tools}
    found, rest = leading(text)
    wrong = next((call for call in found if call[0] not in names), None)
    asked = any(call.name not in names for message in messages for call in message.calls)
    quoted = any(text.strip() in each.content for each in messages if each.role in ("user", "tool"))
    if rest or wrong is None or asked or quoted or not fitting(wrong[1], tools):
        return ()
    name = re.sub(r"[^\w-]", "_", wrong[0], flags=re.ASCII)[:_LONGEST_NAME] or "unnamed"
    return (ToolCall("call_1", name, json.dumps(wrong[1], ensure_ascii=False)),)


def _unread(
    rest: str, found: Sequence[Call], tools: Sequence[ToolSpec], messages: Sequence[Message]
) -> tuple[ToolCall, ...]:
    """Give the call that can't be read and follows others, for the model to be told; none of them runs."""
    name, names = next_in(rest), {spec.name for spec in tools}
    quoted = any(rest in each.content for each in messages if each.role in ("user", "tool"))
    if name not in names or quoted or any(each not in names for each, _ in found):
        return ()
    return (ToolCall("call_1", name, rest),)


def before_nonsense(text: str, tools: Sequence[ToolSpec], messages: Sequence[Message] = ()) -> tuple[ToolCall, ...]:
    """Read the calls of an answer that goes on with calls it has made already, or with results that it makes up."""
    start = _start(text)
    found, rest = leading(text[start:])
    invented = len(found) if not rest and "<tool_response" in text else 0
    known = found[: next((place for place, each in enumerate(found) if each in found[:place]), invented)]
    return _accepted(text, start, known, tools, messages) if known else ()


def _accepted(
    text: str, start: int, found: Sequence[Call], tools: Sequence[ToolSpec], messages: Sequence[Message]
) -> tuple[ToolCall, ...]:
    written, names = text[start:].strip(), {spec.name for spec in tools}
    if not written or any(written in each.content for each in messages if each.role in ("user", "tool")):
        return ()
    if start and re.search(_ABOUT, _introduction(text[:start])):
        return ()
    if not found and (name := named_in(written)) in names:
        return (ToolCall("call_1", name, written),)
    if any(name not in names for name, _ in found) or (start and not all(_fits(call, tools) for call in found)):
        return ()
    return tuple(
        ToolCall(f"call_{place}", name, json.dumps(arguments, ensure_ascii=False))
        for place, (name, arguments) in enumerate(found, 1)
    )


def _start(text: str) -> int:
    """Find where the calls of an answer begin, if there are any."""
    return 0 if may_be_calls(text) else _special(text, 0)


def _prose(text: str, shown: int) -> int:
    """Say up to where a text, of which a part is shown, can be nothing but prose."""
    if not shown and may_be_calls(text):
        return 0
    if (special := _special(text, shown)) < len(text):
        return special
    for length in range(min(_LONGEST, len(text) - shown), 0, -1):
        if any(each.startswith(text[-length:]) for each in SPECIAL):
            return len(text) - length
    return len(text)


def _special(text: str, start: int) -> int:
    """Find where special tags begin at a place where a call may begin; the end of the text where they do nowhere."""
    for found in re.compile(_SPECIAL).finditer(text, start):
        before = text[: found.start()]
        if re.search(_INTRODUCED, before[-40:]) and len(re.findall(_FENCES, before)) % 2 == 0:
            return found.start()
    return len(text)


def _introduction(prose: str) -> str:
    """Give the last line with words in it."""
    return next((line for line in reversed(prose.splitlines()) if line.strip()), "")


def _fits(call: Call, tools: Sequence[ToolSpec]) -> bool:
    name, given = call
    return any(fits(given, spec) for spec in tools if spec.name == name)
