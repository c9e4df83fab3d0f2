"""Answer a question from memory, with citations that were checked."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from ogcode.agent.events import Emit
from ogcode.agent.fit import size
from ogcode.agent.loop import run_turn
from ogcode.agent.memory.markdown import cut
from ogcode.agent.memory.search import Passage
from ogcode.agent.model import Delta, Finished, Model, ModelError, Options, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.models.recover import may_be_calls
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Verdict
from ogcode.librarian.library import Library
from ogcode.librarian.tools import label, librarian_tools

STEPS = 8
TOKENS = 5_700
"""Of one recall in all, over all its requests."""

SECONDS = 90.0
PASSAGES = 3_000
"""Characters of the sections that come with the question."""

ANSWER = 400
"""Tokens of the answer at most."""

QUOTED, QUOTE = 3, 400
"""Sections, and characters of each, that are quoted where the model gives no answer."""

LEFT_OUT = " [… no room for the rest …]"

NOTHING = "Nothing about this was found in memory."


class RecallFailed(Exception):
    """Memory could not be asked; that is not the same as finding nothing."""


async def recall(question: str, *, library: Library, model: Model, emit: Emit) -> str:
    """Answer a question from the notes in scope, with `[[note#Section]]` links.

    Raises:
        RecallFailed: the model failed or took too long.
    """
    if not library.notes.entries(limit=1):
        return "Nothing is remembered yet."
    passages = library.notes.passages(question, notes=8, characters=PASSAGES)
    prompt = Path(__file__).with_name("prompt.md").read_text("utf-8").strip()
    opening = Opening(prompt, _asked(question, passages, library))
    try:
        async with asyncio.timeout(SECONDS):
            turn = await run_turn(
                opening,
                model=_LastWord(model),
                tools=librarian_tools(library),
                emit=emit,
                approve=_yes,
                limits=Limits(requests=STEPS),
                options=Options(role="librarian", max_output=ANSWER, temperature=0.0),
            )
    except TimeoutError as error:
        raise RecallFailed(f"memory did not answer within {SECONDS:.0f} s; ask a narrower question") from error
    except ModelError as error:
        raise RecallFailed(f"memory could not be asked: {error}") from error
    except sqlite3.Error as error:
        raise RecallFailed(f"the index went away ({error}); ask again") from error
    answer = turn.answer.strip()
    if answer and not may_be_calls(answer):
        return _checked(answer, library)
    if not passages:
        raise RecallFailed("memory gave no answer; ask a narrower question")
    return _quoted(passages[:QUOTED], library)


def _asked(question: str, passages: Sequence[Passage], library: Library) -> str:
    told = [
        f"[{library.open(passage.entry, passage.section)}] {label(passage.entry, passage.section)}\n{passage.text}"
        for passage in passages
    ]
    found = "\n\n".join(told) or "(no passage matches the words of the question; memory_map lists what there is)"
    return f"Question: {cut(question, 1_000)}\n\nPassages:\n\n{found}"


def _quoted(passages: Sequence[Passage], library: Library) -> str:
    """Let the notes speak for themselves, where the model did not put an answer together."""
    told = [
        f"{cut(' '.join(each.text.split()), QUOTE)} {library.opened[library.open(each.entry, each.section) - 1].link}"
        for each in passages
    ]
    marks = library.stale({passage.entry.id: passage.entry for passage in passages}.values())
    return "\n".join(
        ["No answer was put together; this is what the notes say:", *told, *(f"({mark})" for mark in marks)]
    )


def _checked(answer: str, library: Library) -> str:
    expanded, cited = library.cite(answer)
    if not cited and answer.strip("`*_ ").lower().startswith("nothing found"):
        return NOTHING
    marks = library.stale(cited)
    if not cited:
        marks.append("no note is cited for this: treat it as unverified")
    return "\n".join([expanded, *(f"({mark})" for mark in marks)])


async def _yes(call: ToolCall) -> Verdict:  # noqa: ARG001  # all three tools are allowed
    return Verdict(allowed=True)


class _LastWord(Around):
    """A model that is told to answer when the steps or the tokens of a recall run out."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._spent = 0
        self._steps = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncIterator[Delta]:
        self._steps += 1
        this = size(messages, tools)
        calls = [(call.name, call.arguments) for message in messages for call in message.calls]
        again = len(set(calls)) < len(calls)  # whoever asks the same twice will not find more
        last = again or self._steps >= STEPS or self._spent + 2 * this + 2 * ANSWER > TOKENS
        asked = _shortened(messages, () if last else tools, TOKENS - self._spent - ANSWER - 20)
        if last and self._steps > 1:
            asked = [*asked, Message("user", "Answer now from what you have read.")]
        given = set[tuple[str, str]]()
        async for delta in self._model.stream(asked, () if last else tools, options=options):
            if isinstance(delta, Finished):
                self._spent += delta.usage.tokens or this
            if isinstance(delta, ToolCall):
                if last or (delta.name, delta.arguments) in given:
                    continue
                given.add((delta.name, delta.arguments))
            yield delta


def _shortened(messages: Sequence[Message], tools: Sequence[ToolSpec], room: int) -> Sequence[Message]:
    """Shorten what was read, all results alike, until a request keeps within its tokens."""
    share = 4_500
    while size(messages, tools) > room and share > 100:
        share = share * 3 // 4
        messages = [
            replace(each, content=_start(each.content, share)) if each.role == "tool" else each for each in messages
        ]
    return messages


def _start(text: str, size: int) -> str:
    kept = text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")
    return text if len(kept) == len(text) else f"{kept.removesuffix(LEFT_OUT)}{LEFT_OUT}"
