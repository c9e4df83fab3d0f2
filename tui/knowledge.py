"""What is always known in a session: rules as they are, facts as they were when it began, and what became of them."""

from collections.abc import Sequence
from dataclasses import replace

from ogcode.agent.arguments import shown
from ogcode.agent.events import Emit, Warned
from ogcode.agent.facts.block import changes
from ogcode.agent.facts.consent import careful, reads_outside
from ogcode.agent.facts.fact import Fact
from ogcode.agent.facts.shelf import Known
from ogcode.agent.facts.store import Facts
from ogcode.agent.facts.tools import Reach, Session, fact_tools
from ogcode.agent.loop import Approve
from ogcode.agent.rights.permissions import Ask, Denial
from ogcode.agent.rules import Written, block, find_rules, nested_rules
from ogcode.agent.session import Session as Asked
from ogcode.agent.tool import Pictured, Tool
from ogcode.agent.turn import ToolCall
from ogcode.tui.place import Here


def facts_here(here: Here) -> Facts:
    """Open the facts of a place."""
    return Facts(
        here.root,
        here.home,
        here.folder,
        trusted=here.trusted,
        accepted=here.accepted,
        secrets=lambda: here.secrets,
        now=here.now,
    )


def facts_to_recall(here: Here) -> tuple[Fact, ...]:
    """Give what the librarian may read of facts: those of the project, and what people wrote beside them.

    Raises:
        OSError: they can't be read.
    """
    return () if here.tailored.wishes.bare else facts_here(here).known().of_project()


class Knowledge:
    """Of one session."""

    def __init__(self, here: Here) -> None:
        self._here = here
        self._bare = here.tailored.wishes.bare
        self.facts = facts_here(here)
        self.began = Known() if self._bare else self.facts.known()
        self._some = bool(self.began.facts)
        self._rules = self._written()

    def rules_changed(self) -> bool:
        """Tell whether a file of rules is not as it was when it was last looked at."""
        before, self._rules = self._rules, self._written()
        return self._rules != before

    def news(self, session: Asked) -> str:
        """Tell what has changed of the facts since the session began; once there is one, its tools are there."""
        now = Known() if session.memory == "off" or self._bare else self.facts.known()
        self._some = self._some or bool(now.facts or session.standing.lines)
        return "" if session.memory == "off" else changes(self.began, now)

    def tools(self, session: Asked, emit: Emit) -> tuple[Tool, ...]:
        """Give the tools for facts that there is a use for."""
        within = Session(
            memory=lambda: session.memory,
            source=lambda: session.running,
            standing=lambda: session.standing,
            stand=session.stand,
            secrets=lambda: self._here.secrets,
        )
        return fact_tools(self.facts, within, emit, some=self._some)

    def with_rules(self, tools: Sequence[Tool], emit: Emit) -> Sequence[Tool]:
        """Let tools give, with the first result from a folder, the rules that hold there; for one turn."""
        if self._bare or not self._here.trusted:
            return tools
        workspace, seen = self._here.workspace(), set[str]()

        def rules_for(path: str) -> str:
            real = workspace.real(path)
            if workspace.base(real) is None:
                return ""
            folder, notices = (real if real.is_dir() else real.parent), list[str]()
            found = nested_rules(workspace.top, self._here.folder, folder, notices)
            files = [file for file in found if file.name not in seen]
            seen.update(file.name for file in files)
            told = block("rules", files, 8_000)
            for notice in (*notices, *told.notices):
                emit(Warned(notice))
            return f"\n{told.text}" if told.text else ""

        def ruled(tool: Tool) -> Tool:
            async def function(**given: object) -> str:
                output = await tool.function(**given)
                return output if isinstance(output, Pictured) else output + rules_for(str(given.get("path", "")))

            return replace(tool, function=function) if "path" in tool.hints else tool

        return [ruled(tool) for tool in tools]

    def careful(
        self, approve: Approve, session: Asked, ask: Ask | None, denials: list[Denial], elsewhere: str
    ) -> Approve:
        """Ask also for what one turn wants to keep of what it has read elsewhere, or was given from there."""
        here, workspace = self._here, self._here.workspace()

        def scope_of(call: ToolCall) -> Reach | None:
            given = shown(call.arguments)
            named = str(given.get("id", ""))
            scope = given.get("scope", "project")
            if scope == "session" or named.startswith("s-"):
                return "session"
            if session.memory != "on":
                return None  # the tool refuses
            if call.name == "remember":
                return "global" if scope == "global" else "project"
            found, _ = self.facts.read([named])
            return found[0].scope if found else None

        return careful(
            approve,
            ask,
            scope_of=scope_of,
            outside=lambda call: reads_outside(call, workspace, trusted=here.trusted),
            trusted=here.trusted,
            unattended_global=here.tailored.keeps_global,
            denials=denials,
            elsewhere=elsewhere,
        )

    def _written(self) -> tuple[Written, ...]:
        here = self._here
        found = find_rules(home=here.home, top=here.root.top, folder=here.folder, trusted=here.trusted, notices=[])
        return () if self._bare else tuple(found)
