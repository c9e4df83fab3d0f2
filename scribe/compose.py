"""Have a model write the note of a turn, and check it; one attempt to mend it, then a note without a model."""

from collections.abc import Callable, Sequence

from ogcode.agent.memory.extract import render_note
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.model import Finished, Model, Options, Restarted, Text, priced
from ogcode.agent.turn import Message, Usage
from ogcode.scribe.prompts import rules, shape
from ogcode.scribe.validate import LONGEST, NoteRefused, Written, validate

OUTPUT = 900
"""Tokens of a note at most."""


async def compose(job: Job, model: Model, spent: Callable[[Usage], None], *, mark: str) -> str:
    """Write the note of a job; `mark` is a random word that nothing in the turn can know.

    Raises:
        ModelError: the model could not be asked.
        NoteRefused: it gave no note, twice.
    """
    asked = f"[turn {mark}]\n{digest(job)}\n[end of turn {mark}]\n\n{shape(job)}"
    messages = [Message("system", rules()), Message("user", asked)]
    answers = list[str]()
    for again in (False, True):
        text, reason = await _asked(model, messages, spent)
        if reason != "length":
            answers.insert(0, text)
        try:
            written = _held(answers, job, lenient=again)
            break
        except NoteRefused as refusal:
            if again:
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


async def _asked(model: Model, messages: list[Message], spent: Callable[[Usage], None]) -> tuple[str, str]:
    text, reason = "", "stop"
    async for delta in model.stream(messages, (), options=Options(role="scribe", max_output=OUTPUT, temperature=0.2)):
        match delta:
            case Text(piece):
                text += piece
            case Restarted():
                text = ""
            case Finished(reason, usage):
                spent(priced(usage, model))
    return text[:LONGEST].encode("utf-8", "replace").decode(), reason
