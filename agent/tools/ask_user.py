"""The tool by which the model asks the user inside a turn, so that nothing it has read is lost."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from ogcode.agent.clean import clean
from ogcode.agent.events import Emit, Steered
from ogcode.agent.tool import Tool, ToolError, tool

_MOST = 6
_LONGEST = 2_000
_LONGEST_PLAN = 40_000
_LABEL = 80


@dataclass(frozen=True, slots=True)
class Alternative:
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    options: tuple[Alternative, ...] = ()
    plan: str = ""
    """What is to be approved, where that is the question; then there are no options."""


AskPerson = Callable[[Question], Awaitable[str]]
"""Gives what the user says to it; to a plan, in the words that the model reads."""


Ask = Callable[[Question], Awaitable[str]]
"""Gives what the model is told."""


def ask_user_tool(person: AskPerson, emit: Emit, *, planning: bool = False) -> Tool:
    """Make `ask_user` for one turn; with `planning` it also has a plan approved.

    What the user answers is the user's own word: it is remembered with the turn.
    """
    answered = dict[Question, str]()

    async def ask(asked: Question) -> str:
        if asked in answered:
            return f"the user has answered this already: {answered[asked]}"
        answer = await person(asked)
        emit(Steered(f"{_about(asked)} {answer}"))
        if asked.plan:
            return answer
        answered[asked] = answer
        return f"the user answers: {answer}"

    return _plan_tool(ask) if planning else _question_tool(ask)


def _question_tool(ask: Ask) -> Tool:
    @tool(effect="read")
    async def ask_user(
        question: str, options: Annotated[str, "2-6 lines 'label: description'; free text is always possible"] = ""
    ) -> str:
        """Ask the user what only they can decide; find out and do all else yourself."""
        return await ask(_question(question.strip(), options, ""))

    return ask_user


def _plan_tool(ask: Ask) -> Tool:
    @tool(effect="read")
    async def ask_user(
        question: str = "",
        options: Annotated[str, "2-6 lines 'label: description'; free text is always possible"] = "",
        plan: Annotated[str, "your whole plan, for approval"] = "",
    ) -> str:
        """Ask the user what only they can decide; or have your plan approved."""
        return await ask(_question(question.strip(), options, plan.strip()))

    return ask_user


def _question(text: str, options: str, plan: str) -> Question:
    if plan:
        if len(plan) > _LONGEST_PLAN:
            raise ToolError(f"a plan has at most {_LONGEST_PLAN:,} characters; sum it up")
        return Question(text[:_LONGEST], plan=plan)
    if not text:
        raise ToolError("question is empty; say what you want to know, or give a plan to be approved")
    if len(text) > _LONGEST:
        raise ToolError(f"a question has at most {_LONGEST:,} characters; say the rest before you ask")
    found = tuple(_option(line) for line in options.splitlines() if line.strip(" -*\t"))
    if len(found) > _MOST:
        raise ToolError(f"there may be {_MOST} options at most, one a line; leave the unlikely ones out")
    if len({each.label for each in found}) < len(found):
        raise ToolError("two options have the same label; give each its own")
    return Question(text, found if len(found) > 1 else ())


def _option(line: str) -> Alternative:
    label, _, description = clean(line).strip().lstrip("-*").strip().partition(": ")
    if len(label) > _LABEL:
        raise ToolError(f"a label has at most {_LABEL} characters: write 'label: description'")
    return Alternative(label.rstrip(":").strip(), description.strip())


def _about(asked: Question) -> str:
    return "(On the plan:)" if asked.plan else f"(Asked: {' '.join(clean(asked.text).split())[:300]})"
