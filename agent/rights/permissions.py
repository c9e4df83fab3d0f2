"""Whether a call may run: rules and modes over what a call says. Text decides only when to ask; it is no sandbox."""

import json
import posixpath
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ogcode.agent.clean import clean
from ogcode.agent.commands.floor import forbidden
from ogcode.agent.loop import Approve
from ogcode.agent.rights.matching import (
    allows,
    denies,
    denies_somewhere,
    is_rule,
    only_follows_a_job,
    opens,
    rule_for,
    speaks_of,
    start_of,
    subject_of,
)
from ogcode.agent.tool import Effect, Tool
from ogcode.agent.turn import ToolCall, Verdict

if TYPE_CHECKING:
    from ogcode.agent.commands.ground import Ground
    from ogcode.agent.rights.beyond import Beyond, Beyonds

Mode = Literal["plan", "ask", "edit", "auto", "yolo"]
Ask = Callable[[ToolCall, str], Awaitable[Verdict]]
"""Shows a call and why it is asked for to a person, who decides."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user allowed, denied and wants to be asked for, each as `Tool` or `Tool(glob)`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for rule in (*self.allow, *self.deny, *self.ask):
            if not is_rule(rule):
                raise ValueError(f"'{rule}' is not a rule; write Tool or Tool(glob), as in Bash(npm test*)")

    def __or__(self, other: "Rules") -> "Rules":
        """Put rules behind these; each stands once."""

        def both(mine: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys((*mine, *theirs)))

        return Rules(both(self.allow, other.allow), both(self.deny, other.deny), both(self.ask, other.ask))


@dataclass(frozen=True, slots=True)
class Decision:
    kind: Literal["allow", "ask", "deny"]
    why: str
    """For the person who is asked, or the model that is refused."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A call that did not run for want of a permission."""

    call: ToolCall
    reason: str


def decide(
    call: ToolCall,
    effect: Effect | None,
    *,
    mode: Mode,
    rules: Rules,
    trusted: bool,
    sandboxed: bool = False,
    memory_tools: frozenset[str] = frozenset(),
    place: Callable[[str], str] = posixpath.normpath,
    ground: "Ground | None" = None,
    beyond: "Beyond | None" = None,
) -> Decision:
    """Decide about a call whose tool has this effect at most; None is a tool that nobody knows.

    In order: what nobody wants, what rules deny, what they ask for, what is allowed. `memory_tools` touch ogcode's own
    memory only and are allowed in every mode. `place` gives the name by which path rules know what the model named.
    `ground` is where commands run: without it none is known to only read. `sandboxed` commands can't leave it.
    `beyond` is where a call leads that reads outside the workspace.
    """
    subject = str(beyond.real) if beyond else subject_of(call, place)
    if mode != "yolo" and call.name == "bash" and (why := forbidden(subject)):
        return Decision("deny", f"{why}; no permission covers that, the user would have to do it")
    if beyond and beyond.secret:
        return Decision("deny", f"{clean(subject)} may hold credentials, which no permission covers; do without it")
    if rule := _first(rules.deny, denies, call.name, subject):
        return Decision("deny", f"the rule '{rule}' denies it; do it another way, or ask the user")
    if rule := _first(rules.ask, denies, call.name, subject):
        return Decision("ask", f"{_RULE_ASKS} '{rule}'")
    if beyond:
        open_to = next((rule for rule in rules.allow if trusted and opens(rule, subject)), "")
        outside = Decision("ask", f"it reads {clean(subject)}, {_OUTSIDE}")
        return Decision("allow", f"the rule '{open_to}' allows it") if open_to else outside
    if call.name in memory_tools:
        return Decision("allow", "it concerns ogcode's memory only")
    if call.name == "bash" and only_follows_a_job(call):
        return Decision("allow", "it starts nothing")
    runs = call.name == "bash" and effect == "run" and trusted
    if runs and _harmless(subject, replace(rules, allow=()), ground):
        return Decision("allow", "it only reads")
    decision = _by_mode(effect, mode, trusted=trusted, sandboxed=sandboxed and clean(subject, prose=True) == subject)
    if decision.kind == "allow" and effect == "write" and mode != "yolo" and (later := _runs_later(call, subject)):
        decision = Decision("ask", f"{clean(later)} is run or obeyed later, without a question")
    if decision.kind != "ask" or not trusted or effect is None:
        return decision
    rule = next((rule for rule in rules.allow if _covers(rule, call.name, subject, ground)), "")
    if not rule and runs and _harmless(subject, rules, ground):
        rule = ", ".join(rules.allow)
    if rule and any(denies_somewhere(denied, call.name, subject) for denied in (*rules.deny, *rules.ask)):
        return Decision("ask", _MAY_DENY)
    return Decision("allow", f"the rule '{rule}' allows it") if rule else decision


def policy(
    ask: Ask | None,
    tools: Sequence[Tool],
    *,
    mode: Callable[[], Mode],
    rules: Rules,
    trusted: bool,
    denials: list[Denial],
    sandboxed: bool = False,
    memory_tools: frozenset[str] = frozenset(),
    place: Callable[[str], str] = posixpath.normpath,
    ground: "Ground | None" = None,
    keep: Callable[[str], None] | None = None,
    beyonds: "Beyonds | None" = None,
) -> Approve:
    """Make what approves calls of these tools; without `ask`, in a headless run, what needs a person is denied.

    Every call that is not allowed is added to `denials`. `mode` is asked at each call: the user may change it while the
    turn runs. `keep` is given each rule that the person allows for good.
    """
    effects = {tool.name: tool.effect for tool in tools}

    async def approve(call: ToolCall) -> Verdict:
        nonlocal rules
        beyond = beyonds.of(call) if beyonds else None
        decision = decide(
            call,
            effects.get(call.name),
            mode=mode(),
            rules=rules,
            trusted=trusted,
            sandboxed=sandboxed,
            memory_tools=memory_tools,
            place=place,
            ground=ground,
            beyond=beyond,
        )
        match decision.kind:
            case "allow":
                verdict = Verdict(True)
            case "deny":
                verdict = Verdict(False, decision.why)
            case "ask":
                refused = Verdict(False, _unattended(call, decision.why, trusted=trusted, beyond=beyond))
                verdict = refused if ask is None else await ask(call, decision.why)
        if beyonds and beyond:
            beyonds.settle(beyond, allowed=verdict.allowed)
        if verdict.allowed and verdict.rule and keep is not None:
            rules |= Rules(allow=(verdict.rule,))
            keep(verdict.rule)
        if not verdict.allowed:
            denials.append(Denial(call, verdict.reason))
        return verdict

    return approve


def lasting(call: ToolCall, why: str, *, trusted: bool) -> str:
    """Give the rule that would allow a call from now on where it is asked `why`; empty where none would be heeded."""
    heeded = trusted and call.name in ("bash", "write", "edit") and why != _MAY_DENY
    return rule_for(call) if heeded and not why.startswith(_RULE_ASKS) and _OUTSIDE not in why else ""


_MAY_DENY = "it may contain what a rule denies"
_RULE_ASKS = "it is asked for each time by the rule"
_OUTSIDE = "which is outside the workspace"


def _first(rules: Sequence[str], fits: Callable[[str, str, str], bool], name: str, subject: str) -> str:
    return next((rule for rule in rules if fits(rule, name, subject)), "")


def _harmless(command: str, rules: Rules, ground: "Ground | None") -> bool:
    """Tell whether each command of a text only reads what may be read, or is allowed by a rule."""
    from ogcode.agent.commands.reading import parts  # only where a command is judged

    guarded = [rule for rule in (*rules.deny, *rules.ask) if speaks_of(rule, "read")]

    def readable(path: str) -> bool:
        folder = guarded and ground is not None and (ground.top / path).is_dir()
        return not folder and not any(denies(rule, "read", path) for rule in guarded)

    told = parts(command, ground)
    return told is not None and all(
        (part.reads is not None and all(map(readable, part.reads)))
        or (not part.fed and any(_covers(rule, "bash", part.text, ground) for rule in rules.allow))
        for part in told
    )


def _covers(rule: str, name: str, subject: str, ground: "Ground | None") -> bool:
    """Tell whether a rule allows a call: `Bash(sed -n*)` means to read, and not all else that such a program can do."""
    if not allows(rule, name, subject):
        return False
    if name != "bash":
        return True
    from ogcode.agent.commands.reading import NOWHERE, means_to_read, only_reads  # only where a command is judged

    return not means_to_read(start_of(rule)) or only_reads(subject, ground or NOWHERE)


def _by_mode(effect: Effect | None, mode: Mode, *, trusted: bool, sandboxed: bool) -> Decision:
    if effect == "read":
        return Decision("allow", "it only reads")
    if mode == "plan":
        return Decision("deny", "in plan mode nothing is changed or run; finish the plan, and say what you would do")
    if effect is None:
        return Decision("ask", "nothing is known about this tool")
    if not trusted:
        return Decision("ask", "this folder is not trusted, so every change and every command is asked for")
    if mode == "yolo" or (effect == "write" and mode in ("edit", "auto")):
        return Decision("allow", f"mode {mode} allows it")
    if mode == "auto" and sandboxed:
        return Decision("allow", "the sandbox holds it")
    if mode == "auto":
        return Decision("ask", "there is no sandbox that holds commands well enough to run them without asking")
    return Decision("ask", "it changes files" if effect == "write" else "it runs a command")


def _runs_later(call: ToolCall, subject: str) -> str:
    """Name what a call writes that runs later, by its real name or by the one it was given; empty for all else."""
    from ogcode.agent.rights.dormant import runs_later  # only where something is written

    return next((name for name in (subject, subject_of(call, posixpath.normpath)) if runs_later(name)), "")


def _unattended(call: ToolCall, why: str, *, trusted: bool, beyond: "Beyond | None") -> str:
    needs = f"needs a person's permission ({why}), and this is a headless run"
    if beyond:
        rule = rule_for(replace(call, arguments=json.dumps({"path": str(beyond.real)})))
        return f"{needs}; the user can allow it with --allow '{clean(rule)[:200]}', or open its folder with --add-dir"
    if not trusted:
        return f"{needs}; the user can start it with --trust"
    if why.startswith(_RULE_ASKS):
        return f"{needs}; do it another way"
    rule = clean(rule_for(call) or call.name.capitalize())[:200]
    return f"{needs}; the user can allow it with --allow '{rule}' or with another --mode"
