"""Have a model write the note of a turn, and check it; one attempt to mend it, then a note without a model."""

import asyncio
from collections.abc import Callable, Sequence

from ogcode.agent.memory.extract import render_note
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.model import Broken, Finished, Model, Options, Restarted, Text, priced
from ogcode.agent.turn import Message, Usage
from ogcode.scribe.prompts import rules, shape
from ogcode.scribe.validate import LONGEST, NoteRefused, Written, validate

OUTPUT = 900
"""Tokens of a note at most."""

TRIES = 3
"""How often the model is asked for one note, whatever for: after a failure, or to mend the note."""

SILENCE = 120.0
"""Seconds without a word after which it is given up on: a local model may have to be loaded first, and to read."""


async def compose(
    job: Job, model: Model, spent: Callable[[Usage], None], *, mark: str, silence: float = SILENCE
) -> str:
    """Write the note of a job; `mark` is a random word that nothing in the turn can know.

    Raises:
        ModelError: the model could not be asked.
        NoteRefused: it gave no note, twice.
    """
    asked = f"[turn {mark}]\n{digest(job)}\n[end of turn {mark}]\n\n{shape(job)}"
    messages = [Message("system", rules()), Message("user", asked)]
    answers, tries = list[str](), 0
    for again in (False, True):
        text, reason, tries = await _asked(model, messages, spent, silence, tries + 1)
        if reason != "length":
            answers.insert(0, text)
        last = again or tries == TRIES
        try:
            written = _held(answers, job, lenient=last)
            break
        except NoteRefused as refusal:
            if last:
                raise
            messages += [
                Message("assistant", text or "(nothing)"),
                Message("user", f"That is no note: {refusal}. Write it again."),
            ]
    return render_note(job, written.title, written.topics, written.told, model.name)


def _held(answers: Sequence[str], job: Job, *, lenient: bool) -> Written:
    """Take the first answer that is a note; what was cut off is none."""
    refusal = NoteRefused("it was cut off; write a shorter one")
    for answer in answers:
        try:
            return validate(answer, job, lenient=lenient)
        except NoteRefused as error:
            refusal = error
    raise refusal


async def _asked(
    model: Model, messages: list[Message], spent: Callable[[Usage], None], silence: float, tries: int
) -> tuple[str, str, int]:
    """Give the answer, why it ended, and how often the model was asked by now."""
    text, reason = "", "stop"
    now = asyncio.get_running_loop().time
    options = Options(role="scribe", max_output=OUTPUT, temperature=0.2)
    try:
        async with asyncio.timeout(silence) as clock:
            async for delta in model.stream(messages, (), options=options):
                clock.reschedule(now() + silence)
                match delta:
                    case Text(piece):
                        text += piece
                    case Restarted(why) if tries == TRIES:
                        raise Broken(why)
                    case Restarted():
                        text, tries = "", tries + 1
                    case Finished(reason, usage):
                        spent(priced(usage, model))
    except TimeoutError as error:
        raise Broken(f"{model.name} said nothing for {silence:g} s") from error
    return text[:LONGEST].encode("utf-8", "replace").decode(), reason, tries
