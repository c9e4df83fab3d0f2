"""Have a model write the note of a turn, and check it; one attempt to mend it, then a note without a model."""

from collections.abc import Callable
from pathlib import Path

from ogcode.agent.memory.extract import render_note
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.model import Finished, Model, Options, Restarted, Text, priced
from ogcode.agent.turn import Message, Usage
from ogcode.scribe.validate import LONGEST, NoteRefused, Written, validate

OUTPUT = 900
"""Tokens of a note at most."""


async def compose(job: Job, model: Model, spent: Callable[[Usage], None]) -> str:
    """Write the note of a job.

    Raises:
        ModelError: the model could not be asked.
        NoteRefused: it gave no note, twice.
    """
    system = Path(__file__).with_name("prompt.md").read_text("utf-8").strip()
    messages = [Message("system", system), Message("user", digest(job))]
    for attempt in range(2):
        text, reason = await _asked(model, messages, spent)
        try:
            if reason == "length":
                raise NoteRefused("it was cut off; write a shorter one")
            written = validate(text, job, lenient=bool(attempt))
        except NoteRefused as refusal:
            if attempt:
                raise
            messages += [
                Message("assistant", text or "(nothing)"),
                Message("user", f"That is no note: {refusal}. Write it again."),
            ]
        else:
            return _note(job, written, model)
    raise AssertionError("unreachable")


def _note(job: Job, written: Written, model: Model) -> str:
    return render_note(job, written.title, written.topics, written.body, model.name)


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
    return text[: 3 * LONGEST].encode("utf-8", "replace").decode(), reason
