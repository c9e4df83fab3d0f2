"""How often does a model ask its memory when it must? Ten conversations whose third turn needs their first.

    python bench/follow_ups.py openai/NAME          (OPENAI_BASE_URL and the like as for ogcode itself)

Each conversation states a fact, goes on to something else, then asks for the fact. The first two turns are scripted,
the third is the model's: does it call a recall tool, and does its answer hold the fact? The second turn's answer, which
the third one sees, does not hold it.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from ogcode.agent.events import ignore
from ogcode.agent.models.choice import open_model
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.toolbox import MEMORY_TOOLS
from ogcode.tui.wiring import open_session

FACTS = (
    (
        "Our release is called Heron. Just say ok.",
        "As I told you two messages ago: what is our release called?",
        "heron",
    ),
    ("The retry limit must be 7, because 5 lost mails. Say ok.", "Which retry limit did we decide on before?", "7"),
    ("I prefer tabs over spaces in this project. Say ok.", "What did I say earlier about indentation?", "tab"),
    (
        "The staging server is called mango. Say ok.",
        "Remind me: which name has the staging server I mentioned?",
        "mango",
    ),
    ("We drop Redis, since it was too slow. Say ok.", "Why did we decide to drop Redis?", "slow"),
    ("The owner of billing is Petra. Say ok.", "Who did I say owns billing?", "petra"),
    ("The bug number is 4711. Say ok.", "What was the bug number from before?", "4711"),
    ("Deploys happen on Tuesdays only. Say ok.", "On which day do we deploy, as discussed?", "tuesday"),
    ("The cache lives for 90 seconds. Say ok.", "How long did we say that the cache lives?", "90"),
    ("Name the new module 'otter'. Say ok.", "What name did we choose for the new module?", "otter"),
)
BETWEEN = "What is two plus two? Answer with one word."


async def yes(call: ToolCall) -> Verdict:  # noqa: ARG001  # all is allowed in an empty folder
    return Verdict(True)


async def conversation(model_name: str, first: str, last: str) -> tuple[bool, str]:
    """Play one conversation; tell whether memory was asked, and the answer."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "HOME": folder, "OGCODE_HOME": f"{folder}/home"}
        (Path(folder) / "repository").mkdir()
        here = look_around(Path(folder) / "repository", environ, utc_now, trust=True)
        model = await open_model(model_name, environ=environ)
        session = open_session(here, ScriptedModel("Ok.", "Four."), Choice(), memory="on", librarian=model).session
        for request in (first, BETWEEN):
            await session.ask(request, emit=ignore, approve=yes, limits=Limits())
        session.model = model
        turn = await session.ask(last, emit=ignore, approve=yes, limits=Limits(requests=4, seconds=60))
    return any(step.name in MEMORY_TOOLS for step in turn.steps), " ".join(turn.answer.split())


async def main(model_name: str) -> None:
    """Play all conversations and print what came of them."""
    asked = right = 0
    for first, last, fact in FACTS:
        recalled, answer = await conversation(model_name, first, last)
        held = fact in answer.lower()
        asked, right = asked + recalled, right + held
        print(
            f"{'recalled' if recalled else 'no recall':10} {'right' if held else 'wrong':6} {last}\n    {answer[:160]}",
            flush=True,
        )
    print(f"{model_name}: memory asked in {asked} of {len(FACTS)}, the fact given in {right} of {len(FACTS)}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
