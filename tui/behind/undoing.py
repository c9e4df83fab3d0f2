"""Undo, redo and rewind: files by the account of a session, turns by its transcript."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.agent.events import Emit, Warned
from ogcode.agent.session import Session
from ogcode.agent.transcript import Past, Transcript, recollect
from ogcode.agent.undo.back import Undo
from ogcode.agent.undo.plan import NothingToUndo, Plan
from ogcode.agent.undo.rewound import mark, rewound
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.agent.sandbox.wrapped import Wrap, Wrapped
    from ogcode.tui.opened import Opened

REWIND = (
    "/rewind TURN puts files and conversation back to before a turn; /rewind TURN files, or conversation, only that"
)
_LISTED = 12
"""Turns that can be chosen from, and files that the model is told of."""


def undo_of(here: Here, session: Session, private: Path) -> Undo:
    """Give the way back of a session; what is not saved is kept in its private folder, as long as it lasts."""

    def folder() -> Path:
        return here.root.store / "undo" if session.memory == "on" else private / "undo"

    return Undo(here.workspace(), folder, lambda: session.id, here.seal, here.now)


def noting(opened: "Opened", emit: Emit) -> "Wrap":
    """Close commands in, and remember in which turns one ran that may have changed files.

    Where one changed what is run or obeyed later, the user is told: nobody was asked about that.
    """

    def wrap(command: Sequence[str], environ: Mapping[str, str]) -> "Wrapped":
        from ogcode.agent.commands.ground import Ground
        from ogcode.agent.commands.reading import only_reads  # only where a command runs
        from ogcode.agent.rights.dormant import stamps

        ground = Ground(opened.here.root.top, environ["PATH"], beside=opened.here.tailored.beside)
        wrapped = opened.boundary.wrap(command, environ)
        if only_reads(command[-1].strip(), ground):
            return wrapped
        opened.undo.ran(opened.session.turns + 1)
        before = stamps(ground.top)

        def settle() -> Sequence[str]:
            now = stamps(ground.top)
            if changed := [clean(name) for name, state in now.items() if before.get(name) != state]:
                emit(Warned(f"a command has changed {', '.join(changed)}, which is run or obeyed later: look at it"))
            return wrapped.settle()

        return replace(wrapped, settle=settle)

    return wrap


def carry_out(undo: Undo, plan: Plan, transcript: Transcript | None, folder: Path) -> tuple[Plan, str]:
    """Do what was planned; give it as it was done, and what the model is to be told of it.

    Raises:
        OSError: a file of ogcode's own can't be written.
    """
    done = undo.do(plan)
    if done.conversation and transcript:
        back = done.act == "redo"
        transcript.rewound(done.conversation, back=back)
        mark(folder, undo.seal, transcript.path.stem, done.conversation, back=back)
    told = _told(undo, done)
    if told and transcript:
        transcript.put_back(told)
    return done, told


def remember_rewound(here: Here, past: Past) -> None:
    """Put on record what a kill kept from it: the transcript was the first to know."""
    known = rewound(here.root.store / "undo", here.seal).get(past.session_id, frozenset())
    for turns, back in ((past.rewound - known, False), (known - past.rewound, True)):
        with suppress(OSError):  # the next start tries again
            if turns:
                mark(here.root.store / "undo", here.seal, past.session_id, sorted(turns), back=back)


def put_back(opened: "Opened", command: str, argument: str) -> str:
    """Do `/undo`, `/redo` or `/rewind` in a session, and say what became of it."""
    transcript = opened.transcript if opened.memory == "on" else None
    try:
        plan = _plan(opened, transcript, command, argument)
        if isinstance(plan, str):
            return plan
        if plan.conversation and transcript is None:
            return "what is said is not saved here, so no turn can be taken out of it; /new begins a new session"
        done, told = carry_out(opened.undo, plan, transcript, opened.here.root.store / "undo")
        if done.conversation and transcript:
            opened.session.go_back(recollect(transcript.path))
        opened.session.beside = "\n".join(filter(None, (opened.session.beside, told)))
    except NothingToUndo as nothing:
        return str(nothing)
    except OSError as error:
        return f"{error.filename or 'undo'}: {error.strerror or error}"
    return "\n".join([*done.told(opened.undo.workspace), *_hints(done)])


def _plan(opened: "Opened", transcript: Transcript | None, command: str, argument: str) -> Plan | str:
    """Plan what was asked for; a text says why that can't be done, or what there is to choose from."""
    match command, argument.split():
        case "/undo", []:
            return opened.undo.last()
        case "/redo", []:
            return opened.undo.again()
        case (("/undo" | "/redo"), _):
            return f"{command} takes no words; {REWIND}"
        case _, [number, *what] if number.isdecimal() and what in ([], ["files"], ["conversation"], ["both"]):
            turns = tuple(each for each in _turns(opened, transcript) if each >= int(number))
            if not turns:
                return f"there is no turn {number} to go back before in this session; /rewind lists them"
            if what == ["files"]:
                return opened.undo.before(turns[0])
            plan = opened.undo.before(turns[0], turns)
            return plan if what != ["conversation"] else Plan("undo", (), (), conversation=turns)
    choices = choices_of(opened)[:_LISTED]
    return "\n".join([REWIND, *(f"  {number}: {clean(' '.join(said.split()))[:80]}" for number, said in choices)])


def _turns(opened: "Opened", transcript: Transcript | None) -> Sequence[int]:
    if transcript is None:
        return sorted({each.turn for each in opened.undo.history().standing()})
    return recollect(transcript.path).numbers


def choices_of(opened: "Opened") -> Sequence[tuple[int, str]]:
    """Give the turns of a session that one can go back before, the last first, and what was asked in each."""
    transcript = opened.transcript if opened.memory == "on" else None
    said = dict[int, str]()
    if transcript:
        past = recollect(transcript.path)
        said = {number: request for number, (request, _) in zip(past.numbers, past.said, strict=True)}
    return [(number, said.get(number, "")) for number in sorted(_turns(opened, transcript), reverse=True)]


def _hints(done: Plan) -> Iterator[str]:
    if done.act == "undo" and (done.conversation or any(not step.why for step in done.steps)):
        yield "/redo takes this back"


def _told(undo: Undo, done: Plan) -> str:
    """Tell the model what it would otherwise not know: that files are not as the last answer left them."""
    changed = [step for step in done.steps if not step.why and step.does != "already so"]
    names = [shlex.quote(undo.workspace.display(Path(step.change.path))) for step in changed]
    if not names:
        return ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    did = "redone" if done.act == "redo" else "undone"
    return f"(The user has {did} your changes of {done.of_turns()} to {', '.join(names[:_LISTED])}{more}.)"
