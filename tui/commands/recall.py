"""`ogcode recall`: a question to the librarian."""

import asyncio
import sys
from dataclasses import asdict

from ogcode.agent.clean import clean
from ogcode.agent.events import ignore
from ogcode.librarian.recall import Answer, RecallFailed, recall
from ogcode.tui.commands.notes import conversation, open_notes
from ogcode.tui.commands.terminal import answer, answer_json
from ogcode.tui.place import Here
from ogcode.tui.toolbox import open_library


def ask_librarian(here: Here, question: str, tag: str, *, as_json: bool) -> int:
    """Print what memory says to a question, with citations."""
    notes = open_notes(here)  # says what is left out, too
    library = open_library(here, {conversation(notes, tag): sys.maxsize} if tag else None)

    async def ask() -> Answer:
        from ogcode.agent.models.choice import choose
        from ogcode.agent.models.slot import all_at_work
        from ogcode.tui.models import model_here

        configured = here.config.librarian_model or here.config.model
        name = await choose(flag="", environ=here.environ, configured=configured)
        model = await model_here(here, name)
        with all_at_work([model]):
            return await recall(question, library=library, model=model, emit=ignore)

    try:
        found = asyncio.run(ask())
    except RecallFailed as error:
        sys.stderr.write(f"ogcode: {clean(str(error))}\n")
        return 75
    if as_json:
        cited = [{**asdict(each), "path": str(here.root.store / each.path)} for each in found.citations]
        answer_json({"question": question, "answer": found.text, "citations": cited, "marks": found.marks})
    else:
        answer(found.told())
    return 0
