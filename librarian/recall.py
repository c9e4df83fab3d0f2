"""Answer a question from memory, with citations that were checked."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.events import Emit
from ogcode.agent.index.reading import Passage
from ogcode.agent.loop import run_turn
from ogcode.agent.memory.markdown import cut
from ogcode.agent.model import Delta, Finished, Model, ModelError, Options, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.models.shapes import may_be_calls
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Verdict
from ogcode.agent.window.fit import size
from ogcode.librarian.citations import cite
from ogcode.librarian.fence import fence, fenced
from ogcode.librarian.known import coming
from ogcode.librarian.library import Library, Opened, marks
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

REMINDER = "Answer in one to three sentences, and end each with the handle of the passage it is from, like [1]."
"""Small models forget by the end what they were told at the beginning."""

LEFT_OUT = " [… no room for the rest …]"

NOTHING = "Nothing about this was found in memory."
UNANSWERED = "No answer was put together; this is what the notes say:"
UNCITED = "no note is cited for this: treat it as unverified"
LONGEST = 4_000
"""Characters of an answer at most, whatever the model thinks of its tokens."""

_CITATION = re.compile(r"\[\[[^\]\n]*\]\]|\[unverified: [^\]\n]*\]")
_ABSENT = re.compile(r"\W*nothing found\W*", re.IGNORECASE)


class RecallFailed(Exception):
    """Memory could not be asked; that is not the same as finding nothing."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A section that an answer rests on; it was opened, and it is in scope."""

    note: str
    section: str
    path: str
    """From `.ogcode`; of a turn that waits for its note, its spool file."""
    origin: str
    stale: tuple[str, ...]
    """Files that the note names and that have changed since."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    """With `[[note#Section]]` links, all of them checked."""
    citations: tuple[Citation, ...] = ()
    marks: tuple[str, ...] = ()
    """What speaks against it, a sentence each."""

    def told(self) -> str:
        """Give the answer with what speaks against it."""
        return "\n".join([self.text, *(f"({mark})" for mark in self.marks)])


async def recall(question: str, *, library: Library, model: Model, emit: Emit, seconds: float = SECONDS) -> Answer:
    """Answer a question from the notes in scope.

    Raises:
        RecallFailed: the model failed or took too long.
    """
    try:
        return await _answer(question, library, model, emit, seconds)
    except TimeoutError as error:
        raise RecallFailed(f"memory did not answer within {seconds:g} s; ask a narrower question") from error
    except ModelError as error:
        raise RecallFailed(f"memory could not be asked: {error}") from error
    except sqlite3.Error as error:
        raise RecallFailed(f"the index went away ({error}); ask again") from error


async def _answer(question: str, library: Library, model: Model, emit: Emit, seconds: float) -> Answer:
    if not library.facts and not library.notes.entries(limit=1):
        return Answer("Nothing is remembered yet.")
    facts = coming(question, library.facts, library.top)
    room = PASSAGES - sum(len(each.text) for each in facts)
    passages = [*facts, *library.notes.passages(question, characters=room)]
    prompt = Path(__file__).with_name("prompt.md").read_text("utf-8").strip()
    async with asyncio.timeout(seconds):
        turn = await run_turn(
            Opening(prompt, _asked(question, passages, library)),
            model=_LastWord(model),
            tools=[fenced(tool) for tool in librarian_tools(library)],
            emit=emit,
            approve=_yes,
            limits=Limits(requests=STEPS),
            options=Options(role="librarian", max_output=ANSWER, temperature=0.0),
        )
    answer = cut(clean(turn.answer, prose=True).strip(), LONGEST)
    if answer and not may_be_calls(answer):
        return _checked(answer, passages, library)
    if not passages:
        raise RecallFailed("memory gave no answer; ask a narrower question")
    return _quoted(UNANSWERED, passages, library)


def _asked(question: str, passages: Sequence[Passage], library: Library) -> str:
    told = [
        fence(f"[{library.open(each.entry, each.section)}] {label(each.entry, each.section)}\n{each.text}")
        for each in passages
    ]
    found = "\n\n".join(told) or "(no passage matches the words of the question; memory_map lists what there is)"
    return f"Passages:\n\n{found}\n\nQuestion: {cut(question, 1_000)}" + (f"\n\n{REMINDER}" if told else "")


def _quoted(said: str, passages: Sequence[Passage], library: Library) -> Answer:
    """Let the notes speak for themselves, where the model did not put an answer together that rests on them."""
    opened = [library.opened[library.open(each.entry, each.section) - 1] for each in passages[:QUOTED]]
    told = [
        f"{cut(_unlinked(passage.text), QUOTE)} {each.link}" for passage, each in zip(passages, opened, strict=False)
    ]
    return _marked("\n".join([said, *told]), opened, library)


def _unlinked(text: str) -> str:
    return " ".join(clean(text).split()).replace("[[", "[").replace("]]", "]")


def _checked(answer: str, passages: Sequence[Passage], library: Library) -> Answer:
    text, cited = cite(answer, library.opened)
    said = _CITATION.sub("", text)
    if _ABSENT.fullmatch(said):
        return Answer(NOTHING)
    if passages and not re.search(r"\w", said):
        return _quoted(UNANSWERED, passages, library)
    if not cited and passages:
        return _quoted(f"{text}\n({UNCITED}; this is what the notes say:)", _nearest(text, passages), library)
    return _marked(text, cited, library)


def _nearest(text: str, passages: Sequence[Passage]) -> Sequence[Passage]:
    """Order passages by how much of an answer they hold."""
    said = _words(text)
    return sorted(passages, key=lambda passage: -len(said & _words(passage.text)))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


def _marked(text: str, cited: Sequence[Opened], library: Library) -> Answer:
    """Put beside an answer what it rests on, and what speaks against that."""
    stale = {each.entry.id: library.stale(each.entry) for each in cited}
    citations = tuple(
        Citation(each.entry.id, each.section, each.entry.path, each.entry.origin, stale[each.entry.id])
        for each in cited
    )
    told = marks([(entry, stale[entry.id]) for entry in {each.entry.id: each.entry for each in cited}.values()])
    return Answer(text, citations, tuple(told) if cited else (UNCITED,))


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
    """Keep the beginning of a text, and what closes the fence around it."""
    inner, _, closing = text.rpartition("\n") if text.rpartition("\n")[2].startswith("</memory ") else (text, "", "")
    kept = inner.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")
    return text if len(kept) == len(inner) else f"{kept.removesuffix(LEFT_OUT)}{LEFT_OUT}\n{closing}".rstrip("\n")
