"""A place with facts and rules, and sessions in it."""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ogcode.agent.events import Event, Warned
from ogcode.agent.facts.store import Facts
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.rights.permissions import Ask, Denial, Rules
from ogcode.agent.turn import Limits, ToolCall, Turn, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.knowledge import facts_here
from ogcode.tui.opened import Opened
from ogcode.tui.place import Here, look_around
from ogcode.tui.toolbox import approval
from ogcode.tui.wiring import open_session


@dataclass
class Clock:
    """Moves on by a minute each time it is asked."""

    now: datetime = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def a_repository(folder: Path, name: str = "repo") -> Path:
    top = folder / name
    for part in ("objects", "refs"):
        (top / ".git" / part).mkdir(parents=True, exist_ok=True)
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return top


def look(folder: Path, home: Path, *, trust: bool = True, clock: Clock | None = None, **environ: str) -> Here:
    given = {"HOME": str(home.parent), "OGCODE_HOME": str(home), "PATH": os.environ["PATH"], **environ}
    return look_around(folder, given, clock or Clock(), trust=trust)


def a_place(tmp_path: Path) -> Here:
    return look(a_repository(tmp_path), tmp_path / "home")


def facts_of(here: Here) -> Facts:
    return facts_here(here)


def said(facts: Facts) -> list[str]:
    return [fact.text for fact in facts.known().facts]


def call(name: str, **given: object) -> ToolCall:
    return ToolCall("", name, json.dumps(given))


async def agree(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


@dataclass
class Talk:
    """A session whose turns go through the permissions, and what came of them."""

    opened: Opened
    model: ScriptedModel
    events: list[Event] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    """Why a person was asked."""

    async def ask(self, text: str, *, person: Ask | None = agree) -> Turn:
        async def asking(call: ToolCall, why: str) -> Verdict:
            self.asked_for.append(why)
            return await person(call, why) if person else Verdict(False)

        decide = approval(
            self.opened.here,
            self.opened,
            asking if person else None,
            mode=lambda: "yolo",
            rules=Rules(),
            denials=self.denials,
        )
        return await self.opened.session.ask(text, emit=self.events.append, approve=decide, limits=Limits())

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Warned)]

    def system(self, request: int = -1) -> str:
        return self.model.asked[request][0].content

    def message(self, request: int = -1) -> str:
        """Give what the user's message of a request held."""
        return next(each.content for each in reversed(self.model.asked[request]) if each.role == "user")

    def result(self, request: int = -1) -> str:
        return self.model.asked[request][-1].content

    def offered(self, request: int = -1) -> list[str]:
        return [spec.name for spec in self.model.offered[request]]


def talk(
    here: Here, *replies: Reply, memory: MemorySwitch = "on", choice: Choice | None = None, window: int = 128_000
) -> Talk:
    model = ScriptedModel(*replies, window=window)
    return Talk(open_session(here, model, choice or Choice(), memory=memory), model)
