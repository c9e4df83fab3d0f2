"""The desk that the app works at: one conversation in one folder, and everything it can ask for."""

import contextlib
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from ogcode.agent.config import ConfigBroken
from ogcode.agent.durable import append_line, make_folder
from ogcode.agent.events import Answered, Emit, Event, Nested, SummedUp, TurnFinished, Warned
from ogcode.agent.kept import keep_rule
from ogcode.agent.memory.switch import MEANS, MemorySwitch
from ogcode.agent.model import Model
from ogcode.agent.permissions import Ask, Denial, Mode, Rules
from ogcode.agent.tools.preview import DOOMED, preview
from ogcode.agent.turn import Limits, ToolCall, Turn, Usage, Verdict
from ogcode.tui.arguments import MODES
from ogcode.tui.desk import NoteLine, Status
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here
from ogcode.tui.wiring import approval, open_library, open_session, start_scribe

LINGER = 30.0
"""Seconds that the scribe waits for the next turn while the app is open."""

HISTORY = 500
SHOWN = 20
"""Turns of a resumed session that are shown again."""


class Conversation:
    """Implements `Desk`."""

    def __init__(
        self,
        here: Here,
        model: Model,
        choice: Choice,
        *,
        mode: Mode,
        rules: Rules,
        limits: Limits,
        memory: MemorySwitch,
        librarian: Model | None = None,
    ) -> None:
        self._here = here
        self._model = model
        self._librarian = librarian
        self._mode: Mode = mode
        self._rules = rules
        self._limits = limits
        self._opened = open_session(here, model, choice, memory=memory, librarian=librarian)
        self._tokens = 0
        self._replay = 0
        self._running = Usage()
        """Of the turn that runs: the session counts it when it has ended."""
        self._scribes = list[int]()
        self._memory_names = _Names()
        self._spool_names = _Names()
        self.notices = self._opened.notices

    @property
    def session_id(self) -> str:
        return self._opened.session.id

    @property
    def turns(self) -> int:
        return self._opened.session.turns

    async def ask(self, text: str, *, emit: Emit, approve: Ask) -> Turn:
        note = ""
        self._tokens = self._replay = 0

        def watch(event: Event) -> None:
            nonlocal note
            match event:
                case Answered(_, _, usage) | Nested(_, Answered(_, _, usage)) | SummedUp(_, usage):
                    self._running += usage
                    self._tokens = self._running.tokens
                case TurnFinished(_, note):
                    self._running = Usage()
                    self._replay = event.with_replay
            emit(event)

        async def worth_asking(call: ToolCall, why: str) -> Verdict:
            """Ask the person, but not about what would fail anyhow."""
            shown = self.preview(call)
            return Verdict(False, shown) if shown.startswith(DOOMED) else await approve(call, why)

        def keep(rule: str) -> None:
            self._rules |= Rules(allow=(rule,))
            try:
                keep_rule(self._here.home, rule)
            except (ConfigBroken, OSError) as error:
                emit(Warned(f"the rule holds for this session only: {error}"))

        denials = list[Denial]()
        decide = approval(
            self._here, self._opened, worth_asking, mode=self._mode, rules=self._rules, denials=denials, keep=keep
        )
        try:
            with self._opened.at_work():
                return await self._opened.session.ask(text, emit=watch, approve=decide, limits=self._limits)
        finally:
            if note and self._opened.memory == "on":
                self._start_scribe()

    def status(self) -> Status:
        spooled = self._spool_names.of(self._here.root.spool)  # first: a turn leaves it once its note is there
        notes = self._memory_names.of(self._here.root.memory)
        spent = self._opened.session.usage + self._running
        return Status(
            model=self._model.name,
            mode=self._mode,
            turn_tokens=self._tokens,
            replay_tokens=self._replay,
            window=self._model.window,
            session_tokens=spent.tokens,
            cost=spent.cost,
            notes=len(notes),
            pending=len(spooled - notes),
            branch=_branch(self._here.root.top),
            scripted=self._model.name.startswith("scripted/"),
            trusted=self._here.trusted,
            memory=self._opened.memory,
        )

    async def models(self) -> Sequence[str]:
        from ogcode.agent.models.offered import Offered, offered

        here = self._here
        found = await offered(
            environ=here.environ, api_base=here.config.api_base, prices_cache=here.home / "prices.json"
        )
        named = [self._model.name, here.config.model, *(each.name for each in found if isinstance(each, Offered))]
        return [name for name in dict.fromkeys(named) if name]

    async def use_model(self, name: str) -> str:
        from ogcode.tui.models import model_here

        self._model = await model_here(self._here, name)
        self._opened.use(self._model)
        return f"the next turn goes to {self._model.name}, with a window of {self._model.window:,} tokens"

    def set_mode(self, mode: str) -> None:
        self._mode = MODES[mode]

    def use_memory(self, switch: MemorySwitch) -> str:
        notices = self._opened.switch(switch)
        if self._opened.memory != "on":
            self._stop_scribes()
        elif self._spool_names.of(self._here.root.spool):
            self._start_scribe()
        said = f"memory is {self._opened.memory} from the next turn on: {MEANS[self._opened.memory]}"
        return "; ".join([*notices, said])

    def put_back(self, command: str, argument: str) -> str:
        from ogcode.tui.undoing import put_back

        return put_back(self._opened, command, argument)

    def new_session(self) -> None:
        self._opened.close()
        memory = self._opened.memory
        self._opened = open_session(self._here, self._model, Choice(), memory=memory, librarian=self._librarian)
        self._tokens = self._replay = 0

    def notes(self, query: str = "") -> Sequence[NoteLine]:
        notes = open_library(self._here, None).notes
        entries = notes.find(query, limit=200) if query.strip() else notes.entries(limit=2_000)
        return [
            NoteLine(
                id=entry.id,
                title=entry.title,
                topics="; ".join(entry.topics),
                when=entry.created_at[:16].replace("T", " "),
                origin=entry.origin,
                pending=entry.pending,
            )
            for entry in entries
        ]

    def read_note(self, note_id: str) -> str:
        notes = open_library(self._here, None).notes
        try:
            return next((notes.text(entry) for entry in notes.named(note_id)), f"{note_id} is gone")
        except OSError as error:
            return f"{note_id} can't be read: {error.strerror}"

    def preview(self, call: ToolCall) -> str:
        return preview(self._here.workspace(), call)

    def history(self) -> Sequence[str]:
        try:
            lines = self._history_file().read_bytes().splitlines()[-HISTORY:]
        except OSError:
            return ()
        prompts = list[str]()
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                prompts.append(str(json.loads(line)["prompt"]))
        return prompts

    def remember_prompt(self, text: str) -> None:
        if self._opened.memory != "on":
            return
        with contextlib.suppress(OSError):
            make_folder(self._history_file().parent)
            append_line(self._history_file(), json.dumps({"prompt": text}).encode())

    def earlier(self) -> Sequence[tuple[str, str]]:
        past = self._opened.past
        return past.said[-SHOWN:] if past else ()

    def close(self) -> None:
        self._opened.close()

    def _history_file(self) -> Path:
        from ogcode.agent.memory.manifest import Manifest

        return self._here.home / "history" / Manifest(self._here.home, self._here.root.path).path.name

    def _start_scribe(self) -> None:
        self._bury_scribes()
        with contextlib.suppress(OSError):  # the turn is safe in the spool: the next start will do it
            self._scribes.append(start_scribe(self._here, linger=LINGER))

    def _stop_scribes(self) -> None:
        """End the scribes that were started here; what they had not written yet waits in the spool."""
        self._bury_scribes()
        for process in self._scribes:
            os.kill(process, signal.SIGTERM)  # not reaped yet: the number is no other's

    def _bury_scribes(self) -> None:
        for process in self._scribes.copy():
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(process, os.WNOHANG)[0] == 0:
                    continue
            self._scribes.remove(process)


class _Names:
    """The ids that a folder's files bear, listed again only where the folder has changed."""

    def __init__(self) -> None:
        self._stamp = -1
        self._names = frozenset[str]()

    def of(self, folder: Path) -> frozenset[str]:
        try:
            stamp = folder.stat().st_mtime_ns
            if stamp != self._stamp:
                found = (entry.name for entry in os.scandir(folder) if entry.name.endswith((".md", ".json")))
                self._names = frozenset("--".join(Path(name).stem.split("--")[:2]) for name in found if name[0] != ".")
                self._stamp = stamp
        except OSError:
            return frozenset()
        return self._names


def _branch(top: Path) -> str:
    """Read the branch from `.git/HEAD`, without running git."""
    try:
        git = top / ".git"
        if git.is_file():
            git = (top / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
