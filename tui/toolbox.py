"""The tools of a session, what decides about their calls, and memory as they read it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.events import Emit, ignore
from ogcode.agent.loop import Approve
from ogcode.agent.model import Model, sees
from ogcode.agent.rights.permissions import Ask, Denial, Mode, Rules, policy
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import rows
from ogcode.tui.place import Here, mode_here

if TYPE_CHECKING:
    from ogcode.agent.tools.files import Keep
    from ogcode.librarian.library import Library
    from ogcode.tui.opened import Opened

MEMORY_TOOLS = frozenset("memory_recall project_memory_recall memory_read remember memory_update memory_forget".split())


def approval(
    here: Here,
    opened: "Opened",
    ask: Ask | None,
    *,
    mode: Callable[[], Mode],
    rules: Rules,
    denials: list[Denial],
    keep: Callable[[str], None] | None = None,
    elsewhere: str = "",
) -> Approve:
    """Put together what decides about calls.

    `ask` None is a run without a person, `keep` is given rules for good, `mode` is asked for with each call.
    """
    from ogcode.agent.commands.ground import Ground
    from ogcode.agent.tools.shell import child_environment

    workspace = here.workspace()
    given = child_environment(here.environ, workspace, trusted=here.trusted)
    decide = policy(
        ask,
        opened.tools(ignore),
        mode=lambda: mode_here(here, mode()),
        rules=rules,
        trusted=here.trusted,
        denials=denials,
        sandboxed=opened.boundary.strong,
        memory_tools=MEMORY_TOOLS,
        place=lambda path: workspace.display(workspace.real(path)),
        ground=Ground(workspace.top, given["PATH"], workspace.hidden, workspace.beside),
        keep=keep,
        beyonds=opened.beyonds,
    )
    return opened.knowledge.careful(decide, opened.session, ask, denials, elsewhere)


def workspace_tools(
    here: Here, model: Callable[[], Model], keep: "Keep", resumed: Path | None, *, admitted: Collection[Path]
) -> tuple[Tool, ...]:
    """Build the tools that work on the repository, but for the one that runs commands; a small window bounds them.

    `resumed` is the transcript of the session that is gone on with, `admitted` are places outside that may be read.
    """
    from ogcode.agent.tools.files import file_tools
    from ogcode.agent.tools.ignore import ignore_files
    from ogcode.agent.tools.maps import map_tools
    from ogcode.agent.tools.process import program
    from ogcode.agent.tools.search import search_tools
    from ogcode.agent.tools.todo import last_list, todo_tool
    from ogcode.agent.window.fit import share

    workspace = here.workspace()
    ripgrep = program("rg", here.environ.get("PATH", ""), outside=here.root.top)
    person = here.environ.get("HOME", "")
    ignoring = ignore_files(workspace.top, Path(person) if person else None, here.environ.get("XDG_CONFIG_HOME", ""))

    def bounded(most: int) -> Callable[[], int]:
        return lambda: share(model().window, most)

    reading = replace(workspace, admitted=admitted.__contains__)
    return (
        *file_tools(reading, max_bytes=bounded(24_000), keep=keep, sees=lambda: sees(model())),
        *search_tools(workspace, ripgrep=ripgrep, max_bytes=bounded(12_000), ignoring=ignoring),
        *map_tools(workspace, max_bytes=bounded(4_500), ignoring=ignoring),
        todo_tool(lambda: last_list(rows(resumed)) if resumed else ""),
    )


def command_tool(opened: "Opened", outputs: Path, emit: Emit) -> Tool:
    """Build the tool that runs commands and keeps their long outputs in a folder."""
    from ogcode.agent.tools.shell import shell_tool
    from ogcode.agent.window.fit import share
    from ogcode.tui.behind.undoing import noting

    here = opened.here
    kept = None if here.root.store.is_symlink() or outputs.is_symlink() else outputs
    return shell_tool(
        here.workspace(),
        environ=here.environ,
        output_folder=kept,
        trusted=here.trusted,
        max_bytes=share(opened.session.model.window, 30_000),
        sandbox=noting(opened, emit),
        jobs=opened.jobs,
    )


def open_library(here: Here, sessions: Mapping[str, int] | None) -> "Library":
    """Open memory for one recall: the index brought up to date, read-only, in one scope."""
    from ogcode.agent.index.cache import Memory, open_index
    from ogcode.agent.index.reading import Notes, Scope
    from ogcode.agent.undo.rewound import rewound
    from ogcode.librarian.library import Library
    from ogcode.tui.knowledge import facts_to_recall

    index = open_index(Memory.of(here.root, here.home))
    scope = Scope(sessions, rewound(here.root.store / "undo", here.seal))
    notes = Notes(index, here.root.store, scope, trusted=here.trusted, now=here.now)
    found = Library(notes, here.root.sessions, here.root.top, here.seal, here.secrets)
    if sessions is None:
        found.find_facts = lambda: facts_to_recall(here)
    return found
