"""The desk that the app works at: one conversation in one folder, and everything it can ask for."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ogcode.agent.events import Emit, Event, ToolFinished, ToolStarted, TurnFinished, Warned
from ogcode.agent.memory.switch import MEANS, MemorySwitch
from ogcode.agent.model import Model
from ogcode.agent.rights.permissions import Ask, Denial, Mode, Rules
from ogcode.agent.settings.config import ConfigBroken
from ogcode.agent.settings.kept import keep_rule
from ogcode.agent.tools.preview import DOOMED
from ogcode.agent.turn import Limits, ToolCall, Turn, Verdict
from ogcode.tui.arguments import MODES
from ogcode.tui.behind.remembering import Remembering
from ogcode.tui.behind.rights import Rights
from ogcode.tui.behind.scribes import Scribes
from ogcode.tui.behind.settings import Settings
from ogcode.tui.behind.showing import Showing
from ogcode.tui.behind.tally import Names, Tally
from ogcode.tui.behind.work import Work
from ogcode.tui.choice import Choice
from ogcode.tui.desks.desk import ModelLine, Status
from ogcode.tui.message.prompting import Prompting
from ogcode.tui.place import Here, branch_at

if TYPE_CHECKING:
    from ogcode.tui.desks.sessions import SessionsDesk
    from ogcode.tui.memory.desk import MemoryDesk


@dataclass(frozen=True, slots=True)
class Later:
    """A model that is opened once the app is there, and the librarian's where that is another."""

    name: str
    """As far as it is known by now."""
    open: Callable[[], Awaitable[tuple[Model, Model | None]]]


class Conversation:
    """Implements `Desk`; with a model that comes later, `open` must have returned before a session is needed."""

    def __init__(
        self,
        here: Here,
        model: Model | Later,
        choice: Choice,
        *,
        mode: Mode,
        rules: Rules,
        limits: Limits,
        memory: MemorySwitch,
        librarian: Model | None = None,
    ) -> None:
        self._here = here
        self._choice = choice
        self._memory: MemorySwitch = memory
        self._mode: Mode = mode
        self._rules = rules
        self._limits = limits
        self._tally = Tally()
        self._scribes = Scribes(here)
        self._notes = Names(here.root.memory)
        self._spooled = Names(here.root.spool)
        self.prompt = Prompting(
            here, lambda: self._memory if self._later else self._opened.memory, lambda: self._opened
        )
        self.remembering = Remembering(here, lambda: self._memory if self._later else self._opened.memory)
        self.work = Work(lambda: self._opened)
        self.rights = Rights(
            lambda: self._opened, lambda: self._mode, lambda: self._rules, self._without, self.work.preview
        )
        self.settings = Settings(here, lambda: self._opened, self.status, self._tally)
        self.showing = Showing(lambda: self._opened, lambda: (self._tally.turn, self._tally.replay), self._beside)
        self._later = model if isinstance(model, Later) else None
        """Until it is opened."""
        if not isinstance(model, Later):
            self._begin(model, librarian)

    async def open(self) -> None:
        if self._later:
            model, librarian = await self._later.open()
            self._begin(model, librarian)
            self._later = None

    def _begin(self, model: Model, librarian: Model | None) -> None:
        self._model, self._librarian = model, librarian
        from ogcode.tui.wiring import open_session  # not needed for the prompt to be of use

        self._opened = open_session(self._here, model, self._choice, memory=self._memory, librarian=librarian)

    @property
    def notices(self) -> Sequence[str]:
        return self._opened.notices

    @property
    def session_id(self) -> str:
        return self._opened.session.id

    @property
    def turns(self) -> int:
        return 0 if self._later else self._opened.session.turns

    async def ask(self, text: str, *, emit: Emit, approve: Ask) -> Turn:
        note = ""
        self._tally.begin()

        def watch(event: Event) -> None:
            nonlocal note
            self._tally.add(event)
            match event:
                case ToolStarted(call):
                    self.work.began(call)
                case ToolFinished(call, _, False):
                    self._tally.change(self.work.difference(call))
                case TurnFinished(turn, note):
                    self.showing.said(turn.answer)
            emit(event)

        async def worth_asking(call: ToolCall, why: str) -> Verdict:
            """Ask the person, but not about what would fail anyhow."""
            shown = self.work.preview(call)
            return Verdict(False, shown) if shown.startswith(DOOMED) else await approve(call, why)

        def keep(rule: str) -> None:
            self._rules |= Rules(allow=(rule,))
            try:
                keep_rule(self._here.home, rule)
            except (ConfigBroken, OSError) as error:
                emit(Warned(f"the rule holds for this session only: {error}"))

        self.work.begin(planning=self._mode == "plan")
        from ogcode.tui.toolbox import approval

        try:
            beside = await self.prompt.attached(text, ask=approve, emit=emit)
            decide = approval(
                self._here,
                self._opened,
                worth_asking,
                mode=lambda: self._mode,
                rules=self._rules,
                denials=list[Denial](),
                keep=keep,
                elsewhere=beside.outside,
            )
            session = self._opened.session
            session.beside = "\n".join(filter(None, (session.beside, beside.text)))
            with self._opened.at_work():
                return await session.ask(
                    text,
                    emit=watch,
                    approve=decide,
                    limits=self._limits,
                    steering=self.prompt.steering,
                    images=beside.images,
                )
        finally:
            self.prompt.steering()  # what was not taken up is the next message
            if note and self._opened.memory == "on":
                self._scribes.start()

    def _beside(self) -> Mapping[str, str]:
        return {"plan mode": self.work.grant(planning=self._mode == "plan"), "your commands": self.prompt.printed}

    def status(self) -> Status:
        spooled = self._spooled.now()  # first: a turn leaves it once its note is there
        notes = self._notes.now()
        if self._later:
            spent, model, window, memory = self._tally.running, self._later.name, 0, self._memory
            sandbox = ""
        else:
            spent = self._opened.session.usage + self._tally.running
            model, window = self._model.name, self._model.window
            memory, sandbox = self._opened.memory, self._opened.boundary.told
        return Status(
            model=model,
            mode=self._mode,
            turn_tokens=self._tally.turn.tokens,
            replay_tokens=self._tally.replay,
            window=window,
            session_tokens=spent.tokens,
            cost=spent.cost,
            notes=len(notes),
            pending=len(spooled - notes),
            branch=branch_at(self._here.root.top),
            scripted=model.startswith("scripted/"),
            trusted=self._here.trusted,
            memory=memory,
            used_tokens=self._tally.used,
            sandbox=sandbox,
            own=self.settings.line,
        )

    async def models(self) -> tuple[Sequence[ModelLine], Sequence[str]]:
        from ogcode.agent.models.offered import Offered, Silent, offered
        from ogcode.tui.commands.models import told

        here = self._here
        found = await offered(
            environ=here.environ, api_base=here.config.api_base, prices_cache=here.home / "prices.json"
        )
        says = dict.fromkeys(filter(None, (self._model.name, here.config.model)), "")
        says |= {each.name: "; ".join(told(each)) for each in found if isinstance(each, Offered)}
        silent = [each.said for each in found if isinstance(each, Silent)]
        return [ModelLine(name, each) for name, each in says.items()], silent

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
            self._scribes.stop()
        elif self._spooled.now():
            self._scribes.start()
        said = f"memory is {self._opened.memory} from the next turn on: {MEANS[self._opened.memory]}"
        return "; ".join([*notices, said])

    def ways_back(self) -> Sequence[tuple[int, str]]:
        from ogcode.tui.behind.undoing import choices_of

        return choices_of(self._opened)

    def put_back(self, command: str, argument: str) -> str:
        from ogcode.tui.behind.undoing import put_back

        return put_back(self._opened, command, argument)

    def new_session(self) -> None:
        self._change_session(Choice())

    def _change_session(self, choice: Choice) -> None:
        from ogcode.tui.wiring import open_session

        before, memory = self._opened, self._opened.memory
        self._opened = open_session(self._here, self._model, choice, memory=memory, librarian=self._librarian)
        before.close()
        self.prompt.forget()
        self._tally.forget()

    @cached_property
    def sessions(self) -> "SessionsDesk":
        from ogcode.tui.behind.sessions import Sessions  # not before somebody asks for one

        return Sessions(self._here, lambda: self._opened, self._change_session)

    @cached_property
    def memory(self) -> "MemoryDesk":
        from ogcode.tui.memory.keeper import Keeper  # not before somebody looks

        def switch() -> MemorySwitch:
            return self._memory if self._later else self._opened.memory

        async def librarian() -> Model:
            return self._librarian or self._model

        return Keeper(self._here, librarian=librarian, scribe=self._scribes.start, switch=switch)

    def earlier(self) -> Sequence[tuple[str, str]]:
        past = self._opened.past
        return past.said if past else ()

    def _without(self, rule: str) -> None:
        self._rules = replace(self._rules, allow=tuple(each for each in self._rules.allow if each != rule))

    def close(self) -> None:
        self.prompt.close()
        if "memory" in self.__dict__:
            self.memory.close()
        if not self._later:
            self._opened.close()
