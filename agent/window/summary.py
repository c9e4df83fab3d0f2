"""Have the model sum up a turn that outgrows its window: what is asked, and what is taken of the answer."""

from collections.abc import Sequence
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.turn import Message
from ogcode.agent.window.stubs import SHORT, asked, shortened
from ogcode.agent.window.view import View

TIMES = 2
"""Summaries of one turn at most."""
LONGEST = 2_000
"""Tokens."""


def output(window: int) -> int:
    """Bound the summary's answer in tokens: some models think first."""
    return min(LONGEST, window // 8)


def summary_request(view: View, words: str, steps: Sequence[Message], changed: Sequence[str]) -> tuple[Message, ...]:
    """Ask for a summary of steps, their results cut as far as it takes."""
    prompt = Path(__file__).with_name("summary.md").read_text("utf-8").strip()
    most = view.window * 3
    while True:
        asking = Message("system", prompt), Message("user", _told(words, view.summary, steps, changed, most))
        if most < SHORT or view.fits_bare(asking, output(view.window)):
            return asking
        most = most * 3 // 4


def accepted(answer: str, window: int) -> str:
    """Clean and bound a summary; empty where there is none."""
    return shortened(clean(answer, prose=True).strip(), min(LONGEST, window // 12) * 3)


def _told(words: str, earlier: str, steps: Sequence[Message], changed: Sequence[str], most: int) -> str:
    calls = {call.id: call for message in steps for call in message.calls}
    told = list[str]()
    for message in steps:
        match message.role:
            case "tool" if message.call_id in calls:
                told.append(f"> {asked(calls[message.call_id])}\n{shortened(message.content, most)}")
            case "tool":
                told.append(shortened(message.content, most))
            case "user":
                told.append(f"The user added: {shortened(message.content, most)}")
            case _ if message.content.strip():
                told.append(f"You said: {shortened(message.content.strip(), most)}")
    parts = [
        f"<task>\n{shortened(words, max(most, 2_000))}\n</task>",
        f"<earlier_notes>\n{earlier}\n</earlier_notes>" if earlier else "",
        f"<changed>\n{', '.join(changed)}\n</changed>" if changed else "",
        "<steps>\n" + "\n\n".join(told).replace("</steps", "<\\/steps") + "\n</steps>",
    ]
    return "\n\n".join(part for part in parts if part)
