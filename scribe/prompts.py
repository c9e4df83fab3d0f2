"""What the scribe's model is told."""

from functools import cache
from pathlib import Path

from ogcode.agent.memory.extract import title_of
from ogcode.agent.memory.job import Job


@cache
def rules() -> str:
    """Say what a note is for and what belongs into it."""
    return Path(__file__).with_name("prompt.md").read_text("utf-8").strip()


def shape(job: Job) -> str:
    """Ask for the note, in its shape and with a title to better: small models heed what stands last."""
    return Path(__file__).with_name("shape.md").read_text("utf-8").strip().replace("{title}", title_of(job))
