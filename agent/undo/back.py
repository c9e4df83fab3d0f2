"""Putting files back: what would be done, and doing it. Bytes that are not of our tools are never written over."""

import os
import secrets
import stat
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from shlex import quote

from ogcode.agent.clean import clean
from ogcode.agent.files.durable import sweep
from ogcode.agent.rights.seal import Seal
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.store import load, put, unfinished
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.undo.account import Account, Change, Entry, History
from ogcode.agent.undo.kept import LARGEST, Gone, digest, keep, kept
from ogcode.agent.undo.plan import NothingToUndo, Plan, Step

_STALE = 3_600.0
"""Seconds after which nobody works on an unfinished file any more."""

_BACK = "-back"
"""Ends the mark of what is put back: the bytes of that are kept, those of a change may not be."""

_IN_BETWEEN = "it was changed in between by you or by a command"
_SINCE = "it was changed since, by you or by a command"


@dataclass(frozen=True, slots=True)
class Undo:
    """The way back for one session. It touches the files that our tools changed, and no others."""

    workspace: Workspace
    folder: Callable[[], Path]
    session: Callable[[], str]
    seal: Seal
    now: Callable[[], datetime]

    def keep(self, turn: int, path: Path, before: bytes | None, after: bytes) -> str:
        """Keep what a file holds before it changes; durable when this returns. Give the id of the change.

        Raises:
            OSError: it is not kept.
        """
        found = path.lstat() if before is not None else None
        change = Change(
            os.fspath(path),
            "" if before is None else keep(self.folder(), before),
            digest(after),
            None if found is None else stat.S_IMODE(found.st_mode),
            sum(not folder.is_dir() for folder in path.parents),
        )
        return self._add(Plan("change", (turn,), ()), (change,))

    def ran(self, turn: int) -> None:
        """Remember that a command ran, which may have changed anything."""
        if turn not in self.history().ran:
            with suppress(OSError):  # nothing is told of what undo can't do; a full disk must not keep commands back
                self._add(Plan("ran", (turn,), ()))

    def history(self) -> History:
        return self._account.history()

    def last(self) -> Plan:
        """Plan to put back what the last turn with changes has changed.

        Raises:
            NothingToUndo: there is none.
        """
        history = self.history()
        standing = [each for each in history.standing() if each.id not in history.left]
        if not standing:
            raise NothingToUndo("no file was changed by ogcode's tools in this session, or all of it is put back")
        turn = standing[-1].turn
        return self._back(history, [each for each in standing if each.turn == turn])

    def before(self, turn: int, conversation: Sequence[int] = ()) -> Plan:
        """Plan to put the files back to what they were before a turn; with it, turns may go out of a conversation.

        Raises:
            NothingToUndo: neither is there.
        """
        history = self.history()
        entries = [each for each in history.standing() if each.turn >= turn]
        if not entries and not conversation:
            raise NothingToUndo(f"no file was changed by ogcode's tools since turn {turn}, or all of it is put back")
        return self._back(history, entries, tuple(conversation))

    def again(self) -> Plan:
        """Plan to take the last undo back.

        Raises:
            NothingToUndo: nothing was undone, or something was changed since.
        """
        if not (undone := self.history().undone):
            raise NothingToUndo("there is nothing to redo: nothing was undone, or files were changed since")
        entry = undone[-1]
        steps = tuple(
            self._step((each.after,), Change(each.path, "", each.before, each.mode, each.folders), (entry.id,))
            for each in entry.changes
        )
        turns = tuple(sorted({each.turn for each in self.history().changes if each.id in entry.of}))
        return Plan("redo", turns, steps, (entry.id,), conversation=entry.turns)

    def do(self, plan: Plan) -> Plan:
        """Put files back as planned; give the plan with what could not be done after all.

        An undo is on the account when all of it is done, a redo before: whatever is cut short can be undone.

        Raises:
            OSError: the account can't be written.
        """
        done, changes = list[Step](), list[Change]()
        if plan.act == "redo" and (plan.conversation or any(not step.why for step in plan.steps)):
            self._add(plan, tuple(step.change for step in plan.steps if not step.why))
        for step in plan.steps:
            try:
                if not step.why:
                    changes.append(self._do(step))
                done.append(step)
            except (OSError, ToolError, Gone) as error:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                done.append(Step(step.change, step.of, why))
        if plan.act == "undo" and (changes or plan.conversation):
            taken = tuple(name for step in done if not step.why for name in step.of)
            left = tuple(name for step in done if step.why for name in step.of)
            self._add(replace(plan, of=taken), tuple(changes), left)
        return replace(plan, steps=tuple(done))

    def sweep(self) -> None:
        """Remove the unfinished files that a kill has left, here and beside those that were to be written."""
        sweep(self.folder(), older_than=_STALE, now=self.now().timestamp())
        history = self.history()
        for entry in (*history.changes, *history.undos):
            for change in entry.changes:
                with suppress(OSError, ToolError, ValueError):
                    self._clear(history, entry.id, change)
                    self._clear(history, entry.id + _BACK, change)

    def _clear(self, history: History, name: str, change: Change) -> None:
        """Remove an unfinished file of ours; who wrote at the moment of a kill may find his bytes under its name.

        Raises:
            ToolError: it may be somebody else's.
        """
        path = Path(change.path)
        place = path.with_name(unfinished(name))
        if not os.path.lexists(place):
            return
        content = load(self.workspace, place)
        known = {part for each in history.of_path(change.path) for part in (each.before, each.after)}
        begun = change.before == self._holds(path) and not name.endswith(_BACK)
        if not begun and digest(content) not in known and not self._begins(known, content):
            raise ToolError(f"{clean(str(place))} may hold what somebody else wrote; look at it and move it away")
        with self.workspace.parent(path) as folder:
            os.unlink(place.name, dir_fd=folder)

    def _holds(self, path: Path) -> str:
        return digest(load(self.workspace, path)) if os.path.lexists(path) else ""

    def _begins(self, known: set[str], content: bytes) -> bool:
        """Tell whether this is the beginning of something that is kept."""
        for name in known - {""}:
            with suppress(Gone):
                if kept(self.folder(), name).startswith(content):
                    return True
        return False

    @property
    def _account(self) -> Account:
        return Account(self.folder(), self.session(), self.seal)

    def _add(self, plan: Plan, changes: tuple[Change, ...] = (), left: tuple[str, ...] = ()) -> str:
        identity, at = secrets.token_hex(8), self.now().isoformat(timespec="seconds")
        turn = max(plan.turns, default=0)
        entry = Entry(plan.act, identity, self.session(), turn, at, changes, plan.of, left, plan.conversation)
        self._account.add(entry, sync=plan.act != "ran")
        return identity

    def _back(self, history: History, entries: Sequence[Entry], conversation: tuple[int, ...] = ()) -> Plan:
        by_path = dict[str, list[tuple[str, Change]]]()
        for entry in entries:
            for change in entry.changes:
                by_path.setdefault(change.path, []).append((entry.id, change))
        steps = tuple(self._steps_of(each) for each in reversed(by_path.values()))  # the first made has the folder made
        turns = tuple(sorted({each.turn for each in entries}))
        ran = tuple(sorted(history.ran & {*turns, *conversation}))
        return Plan("undo", turns, steps, commands=ran, conversation=conversation)

    def _steps_of(self, changes: Sequence[tuple[str, Change]]) -> Step:
        """Take all changes of one file as one, where nobody else's came between them."""
        of = tuple(name for name, _ in changes)
        first = changes[0][1]
        wanted = Change(first.path, "", first.before, first.mode, first.folders)
        known = {"", first.before}
        for _, change in changes:
            if change.before not in known:
                return self._left(wanted, of, _IN_BETWEEN)
            known.add(change.after)  # which may not have come to be: the account tells what was meant
        return self._step(known, wanted, of)

    def _step(self, ours: Container[str], wanted: Change, of: tuple[str, ...]) -> Step:
        """Plan for one file, which may hold what our tools made of it, nothing, or what it is to hold already."""
        try:
            content = self._content(wanted.path)
        except ToolError as error:
            return Step(wanted, of, str(error))
        now = "" if content is None else digest(content)
        change = Change(wanted.path, now, wanted.after, wanted.mode, wanted.folders)
        if now == wanted.after:
            return Step(change, of)
        if now and now not in ours:
            return self._left(change, of, _SINCE)
        if wanted.after:
            try:
                kept(self.folder(), wanted.after)
            except Gone as error:
                return Step(change, of, str(error))
        return Step(change, of)

    def _left(self, change: Change, of: tuple[str, ...], why: str) -> Step:
        held = str(self.folder() / change.after) if change.after else "/dev/null"
        return Step(change, of, why, f"diff {quote(clean(held))} {quote(clean(change.path))}")

    def _content(self, path: str) -> bytes | None:
        """Read a file where our tools may write.

        Raises:
            ToolError: they may not, or something else has its name.
        """
        real = Path(path)
        if self.workspace.writable(path) != real or real.is_symlink():
            raise ToolError("there is a link in its place")
        if not os.path.lexists(real):
            return None
        found = real.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise ToolError("something that is no file has its name")
        if found.st_size > LARGEST:
            raise ToolError(_SINCE)
        return load(self.workspace, real)

    def _do(self, step: Step) -> Change:
        """Do one step, where things are still as they were when it was planned."""
        wanted, path = step.change, Path(step.change.path)
        content = self._content(wanted.path)
        if ("" if content is None else digest(content)) != wanted.before:
            raise ToolError(_SINCE)
        mode = None if content is None else stat.S_IMODE(path.lstat().st_mode)
        folders = sum(not folder.is_dir() for folder in path.parents)
        if content is not None and wanted.before != wanted.after:
            keep(self.folder(), content)
        if wanted.after and wanted.before != wanted.after:
            self._clear(self.history(), step.of[-1] + _BACK, wanted)
            body = kept(self.folder(), wanted.after)
            put(self.workspace, path, content, body, mark=step.of[-1] + _BACK, mode=wanted.mode)
        elif not wanted.after:
            self._remove(path, wanted)
        return Change(wanted.path, wanted.before, wanted.after, mode, folders)

    def _remove(self, path: Path, wanted: Change) -> None:
        if wanted.before:
            with self.workspace.parent(path) as folder:
                os.unlink(path.name, dir_fd=folder)
                os.fsync(folder)
        for made in list(path.parents)[: wanted.folders]:
            try:
                with self.workspace.parent(made) as above:
                    os.rmdir(made.name, dir_fd=above)
            except OSError:
                return  # somebody else's things are in it
