"""Ask the librarian on behalf of a person; what it costs is on record."""

from collections.abc import Awaitable, Callable

from ogcode.agent.events import Answered, Event
from ogcode.agent.model import Model, ModelError
from ogcode.agent.models.slot import at_work
from ogcode.agent.usage import log_usage
from ogcode.librarian.recall import RecallFailed, recall
from ogcode.tui.memory.desk import NotDone
from ogcode.tui.place import Here
from ogcode.tui.toolbox import open_library


async def ask(here: Here, question: str, librarian: Callable[[], Awaitable[Model]], *, recorded: bool) -> str:
    """Give the librarian's answer, with links to what it rests on.

    Raises:
        NotDone: memory could not be asked.
    """
    store = here.root.store
    try:
        model = await librarian()

        def count(event: Event) -> None:
            if recorded and isinstance(event, Answered):
                usage, name = event.usage, model.name
                log_usage(store, usage, role="librarian", model=name, session_id="", turn=0, now=here.now())

        with at_work(here.root.locks):
            answer = await recall(question, library=open_library(here, None), model=model, emit=count)
    except (RecallFailed, ModelError) as error:
        raise NotDone(str(error)) from error
    return answer.told()
