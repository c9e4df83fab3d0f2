"""What is asked of the user, as text with letters and numbers for answers."""

from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.agent.tools.ask_user import Question
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.behind.plans import approved, not_yet, ways_on
from ogcode.tui.desks.rights import Asking, Unbelieved
from ogcode.tui.linear.telling import in_words, one_line

if TYPE_CHECKING:
    from ogcode.tui.linear.front import Linear

_NO = "the user said no"
_NOBODY = "nobody is there to answer"


async def ask_call(front: "Linear", call: ToolCall, asking: Asking) -> tuple[Verdict, bool]:
    """Ask whether a call may run; tell also whether the same one always may."""
    front.tell(f"approval needed: {one_line(call.name)}")
    front.tell(f"why: {clean(asking.why)}")
    for line in in_words(asking.preview):
        front.tell(line)
    front.tell(one_line(asking.boundary))
    front.tell("y: yes, once")
    front.tell("a: always this exact call")
    if asking.rule:
        front.tell(f"g: for good; it keeps the rule {one_line(asking.rule)}")
    front.tell("n: no; n and a reason: the model reads it")
    while (said := await front.reply()) is not None:
        letter, _, reason = said.partition(" ")
        match letter.casefold():
            case "y" | "yes" if not reason:
                return Verdict(True), False
            case "a" | "always" if not reason:
                return Verdict(True), True
            case "g" if asking.rule and not reason:
                return Verdict(True, rule=asking.rule), False
            case "n" | "no":
                return Verdict(False, reason.strip() or _NO), False
        front.tell(f"that is no answer: y, a, {'g, ' if asking.rule else ''}n, or n and a reason; Ctrl+C interrupts")
    return Verdict(False, _NOBODY), False


async def ask_question(front: "Linear", question: Question) -> str:
    """Put a question of the agent, and give the answer as the model reads it."""
    mode = front.desk.status().mode
    ways = ways_on(mode) if question.plan else ()
    options = tuple(option for _, option in ways) or question.options
    front.tell("the agent has a plan:" if question.plan else f"the agent asks: {clean(question.text, prose=True)}")
    for line in question.plan.split("\n") if question.plan else ():
        front.tell(line)
    for number, option in enumerate(options, 1):
        front.tell(f"{number}: {one_line(option.label)}; {one_line(option.description)}".removesuffix("; "))
    other = "say what the plan should be instead" if question.plan else "answer in your own words"
    front.tell(f"answer with a number, or {other}" if options else other)
    while (said := await front.reply()) is not None:
        place = int(said) - 1 if said.isdecimal() and len(said) < 3 else -1
        if said and options and said.isdecimal() and not 0 <= place < len(options):
            front.tell(f"there are {len(options)} to choose from")
        elif ways and place >= 0:
            return approved(front.desk, ways[place][0])
        elif said:
            words = options[place].label if options and place >= 0 else said
            return not_yet(words) if ways else words
    return not_yet(_NOBODY) if ways else _NOBODY


async def ask_change(front: "Linear", seen: Unbelieved) -> bool:
    """Ask whether a file of facts that was changed outside is to be believed as it is now."""
    front.tell(f"{one_line(seen.file.name)} was changed outside ogcode")
    front.tell("the model is told what you had accepted, until you accept this change:")
    for line in in_words(seen.difference):
        front.tell(line)
    front.tell("y: accept it as shown")
    front.tell("n: not now")
    while (said := await front.reply()) is not None:
        if said.casefold() in ("y", "yes", "n", "no"):
            return said.casefold() in ("y", "yes")
        front.tell("that is no answer: y or n")
    return False


async def choose(front: "Linear", shown: list[str]) -> int | None:
    """Let one of several lines be chosen by its number; an empty answer chooses none."""
    for number, line in enumerate(shown, 1):
        front.tell(f"{number}: {one_line(line)}")
    front.tell("answer with a number, or with nothing for none")
    while said := await front.reply():
        if said.isdecimal() and len(said) < 6 and 0 < int(said) <= len(shown):
            return int(said) - 1
        front.tell(f"there are {len(shown)} to choose from")
    return None
