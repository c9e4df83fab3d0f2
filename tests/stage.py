"""A desk that plays scripted turns, a clock that stands still, and eyes for what is on the screen."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from stage_memory import StagedMemory
from stage_remembering import StagedRemembering
from stage_sessions import StagedSessions, StagedSettings
from stage_showing import StagedShowing
from stage_work import StagedRights, StagedWork
from textual.app import App
from textual.pilot import Pilot

from ogcode.agent.events import Answered, Emit, Event, Progress, TextDelta, ToolFinished, ToolStarted, TurnFinished
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import ModelError
from ogcode.agent.turn import ToolCall, Turn, Usage
from ogcode.tui.desks.desk import Ask, ModelLine, Status
from ogcode.tui.desks.prompt import Found, Ran, RunOnTerminal

Play = Callable[[Emit, Ask], Awaitable[None]]

SIZE = (100, 30)
NOTE = "2026-09-12T091412Z--3f8c21aa"
STATUS = Status("scripted/demo.toml", "ask", 0, 0, 32_768, None, 14, 0, "main", scripted=True, trusted=True)


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def saying(*pieces: str) -> Play:
    async def play(emit: Emit, approve: Ask) -> None:
        for piece in pieces:
            emit(TextDelta(piece))
        emit(Answered("".join(pieces), (), Usage(1200, 34)))

    return play


def happening(*events: Event) -> Play:
    async def play(emit: Emit, approve: Ask) -> None:
        for event in events:
            emit(event)

    return play


def calling(*calls: ToolCall, why: str = "it runs a command", output: str = "ok") -> Play:
    """Ask for each call, one after the other."""

    async def play(emit: Emit, approve: Ask) -> None:
        for call in calls:
            emit(ToolStarted(call))
            verdict = await approve(call, why)
            emit(ToolFinished(call, output if verdict.allowed else verdict.reason, failed=not verdict.allowed))
        await saying("finished")(emit, approve)

    return play


def waiting(*events: Event) -> Play:
    """Report these, then hang until interrupted."""

    async def play(emit: Emit, approve: Ask) -> None:
        for event in events:
            emit(event)
        await asyncio.Event().wait()

    return play


@dataclass
class StagedPrompt:
    """A `PromptDesk` that finds what it was given."""

    past: list[str] = field(default_factory=list)
    vim: bool = False
    files: Sequence[str] = ()
    left: str = ""
    kept: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    ran: list[tuple[str, bool]] = field(default_factory=list)
    run_as: Callable[[Callable[[bytes], None]], Awaitable[Ran]] | None = None
    written: Callable[[str], str] = str.upper
    pasted: str = ""

    def history(self) -> Sequence[str]:
        return list(self.past)

    def remember(self, text: str) -> None:
        self.past.append(text)

    def take_draft(self) -> str:
        return self.left

    def keep_draft(self, text: str) -> None:
        self.kept.append(text)

    def find(self, word: str, stale: Callable[[], bool]) -> Found:
        return Found(tuple(path for path in self.files if word.lower() in path.lower()))

    def steer(self, text: str) -> None:
        self.said.append(text)

    async def run(self, command: str, feed: Callable[[bytes], None], *, tell: bool) -> Ran:
        self.ran.append((command, tell))
        return await self.run_as(feed) if self.run_as else Ran("ok", failed=False)

    async def edit(self, text: str, run: RunOnTerminal) -> str:
        return self.written(text)

    async def picture(self) -> str:
        return self.pasted


async def nothing() -> None: ...


@dataclass
class Stage:
    """A `Desk`: each message plays the next turn; without one left, it answers with an echo."""

    plays: list[Play] = field(default_factory=list)
    state: Status = STATUS
    shown: str = ""
    prompt: StagedPrompt = field(default_factory=StagedPrompt)
    before: Sequence[tuple[str, str]] = ()
    named: Sequence[ModelLine] | ModelError = (ModelLine("ollama/qwen3:8b"), ModelLine("openai/gpt-5"))
    silent: Sequence[str] = ()
    notices: Sequence[str] = ()
    asked: list[str] = field(default_factory=list)
    ended: list[Turn] = field(default_factory=list)
    closed: bool = False
    opening: Callable[[], Awaitable[None]] = nothing
    work: StagedWork = field(default_factory=StagedWork)
    rights: StagedRights = field(init=False)
    showing: StagedShowing = field(default_factory=StagedShowing)
    remembering: StagedRemembering = field(default_factory=StagedRemembering)
    sessions: StagedSessions = field(default_factory=StagedSessions)
    settings: StagedSettings = field(default_factory=StagedSettings)
    memory: StagedMemory = field(init=False)

    def __post_init__(self) -> None:
        self.rights = StagedRights(lambda call: self.shown or call.arguments)
        self.memory = StagedMemory(lambda: self.state.memory)

    async def open(self) -> None:
        await self.opening()

    async def ask(self, text: str, *, emit: Emit, approve: Ask) -> Turn:
        self.asked.append(text)
        progress = Progress(text)

        def report(event: Event) -> None:
            progress.add(event)
            emit(event)

        try:
            await (self.plays.pop(0) if self.plays else saying(f"echo: {text}"))(report, approve)
            turn = progress.turn("done")
        except ModelError as error:
            turn = progress.turn("failed", "provider", str(error))
        except asyncio.CancelledError:
            self._end(progress.turn("interrupted", "", "interrupted by the user"), emit)
            raise
        self._end(turn, emit)
        return turn

    def _end(self, turn: Turn, emit: Emit) -> None:
        self.ended.append(turn)
        emit(TurnFinished(turn, NOTE, 14_200))

    def status(self) -> Status:
        return self.state

    async def models(self) -> tuple[Sequence[ModelLine], Sequence[str]]:
        if isinstance(self.named, ModelError):
            raise self.named
        return self.named, self.silent

    async def use_model(self, name: str) -> str:
        if name == "none":
            raise ModelError("there is no model named none")
        self.state = replace(self.state, model=name)
        return f"from the next turn on: {name}"

    def set_mode(self, mode: str) -> None:
        self.state = replace(self.state, mode=mode)

    def use_memory(self, switch: MemorySwitch) -> str:
        self.state = replace(self.state, memory=switch)
        return f"memory is {switch} from the next turn on"

    def ways_back(self) -> Sequence[tuple[int, str]]:
        return [*enumerate(self.asked, 1)][::-1]

    def put_back(self, command: str, argument: str) -> str:
        return f"{command} {argument}: 1 put back"

    def new_session(self) -> None:
        self.asked.clear()

    def earlier(self) -> Sequence[tuple[str, str]]:
        return self.before

    def close(self) -> None:
        self.closed = True


def screen_text(app: App[int]) -> str:
    """What a person sees: the lines that the compositor would draw."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[int], holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until a condition holds, or say what is on the screen instead."""
    end = time.monotonic() + seconds
    while not holds():
        await pilot.pause()
        assert time.monotonic() < end, f"did not come true; the screen shows\n{screen_text(pilot.app)}"


async def sees(pilot: Pilot[int], text: str) -> None:
    """Wait until the screen shows a text."""
    await until(pilot, lambda: text in screen_text(pilot.app))
