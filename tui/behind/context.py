"""What the next request of a session will hold, part by part, and what to shorten where too little room is left."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ogcode.agent.events import ignore
from ogcode.agent.model import ToolSpec
from ogcode.agent.prompt import FACTS_NOTE, preface
from ogcode.agent.turn import Message
from ogcode.agent.window.fit import SMALL, Scale, reserve

if TYPE_CHECKING:
    from ogcode.tui.opened import Opened

_RULES = re.compile(r'^<rules file="(?P<file>[^"\n]*)">\n.*?\n</rules>$\n*', re.MULTILINE | re.DOTALL)
_FACTS = re.compile(rf"^{re.escape(FACTS_NOTE)}\n<facts>\n.*?\n</facts>$\n*", re.MULTILINE | re.DOTALL)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    tokens: int
    """By o200k_base; models with a vocabulary of their own count a little differently."""
    detail: str = ""


def parts_of_next_request(opened: "Opened", beside: Mapping[str, str] = MappingProxyType({})) -> tuple[Part, ...]:
    """Tell what goes out with the user's next words, then what is kept for the answer, then what is free.

    `beside` is what the session does not know of yet. The first count in a process takes 0.3 s, for the vocabulary.
    """
    from ogcode.agent.window.tokens import count

    told = [Part(name, count(text), detail) for name, text, detail in _texts(opened)]
    told += [Part(name, count(text)) for name, text in beside.items() if text]
    window = opened.session.model.window
    kept = min(reserve(window, None) or 2_048, window // 4)
    free = max(0, window - kept - sum(part.tokens for part in told))
    return (
        *told,
        Part("answer", kept, "kept for what the model says"),
        Part("free", free, f"of a window of {window:,} tokens, for your words and the steps of the turn"),
    )


def too_full(opened: "Opened") -> str:
    """Say what to shorten where what every request begins with takes more than half of the window; else nothing.

    Tokens are counted only where bytes / 3 and the digits are more than that: that takes 0.3 s.
    """
    window = opened.session.model.window
    if window >= 2 * SMALL:  # rules and facts are bounded in characters, too: they can't fill half of it
        return ""
    texts = {name: text for name, text, _ in _fixed(opened)}
    if sum(map(_quickly, texts.values())) * 2 <= window:
        return ""
    scale = Scale(())
    sizes = {name: scale.weight([Message("system", text)]) for name, text in texts.items()}
    if (taken := sum(sizes.values())) * 2 <= window:
        return ""
    yours = sorted(sizes.keys() - {"system", "tools"}, key=lambda name: -sizes[name])
    what = ", ".join(f"{name} ({sizes[name]:,})" for name in yours[:3])
    told = f"every request begins with {taken:,} tokens, {taken * 100 // window} % of the window of {window:,}"
    return f"{told}; shorten {what}" if what else f"{told}; take a model with a larger one"


def _texts(opened: "Opened") -> Iterator[tuple[str, str, str]]:
    session = opened.session
    news = opened.prepare()  # brings the system text up to date
    yield from _fixed(opened)
    if standing := session.standing.told():
        yield "standing", standing, "; ".join(f"{name} {text}" for name, text in session.standing.lines)
    if previous := preface(session.previous, session.model.window, session.memory):
        detail = f"of turn {session.previous.turn}" if session.previous else "that nothing is saved"
        yield "previous answer", previous, detail
    if news := "\n".join(filter(None, [session.beside, news])):
        yield "news", news, "what has changed since the session began"


def _fixed(opened: "Opened") -> Iterator[tuple[str, str, str]]:
    """Take apart what every request of a session begins with."""
    system = opened.session.system
    rules = [(found["file"], found[0]) for found in _RULES.finditer(system)]
    own = _RULES.sub("", system)
    facts = _FACTS.search(own)
    specs = sorted((tool.spec for tool in opened.tools(ignore)), key=lambda spec: spec.name)
    yield "system", _FACTS.sub("", own), "what ogcode says of itself and of this place"
    yield "tools", _sent(specs), ", ".join(spec.name for spec in specs)
    for file, text in rules:
        yield f"rules {file}", text, ""
    if facts:
        known = opened.knowledge.began
        hand = f"; by hand in {', '.join(file.name for file in known.written)}" if known.written else ""
        yield "facts", facts[0], f"{len(known.facts):,} known{hand}"


def _sent(specs: Sequence[ToolSpec]) -> str:
    functions = ({"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in specs)
    return json.dumps([{"type": "function", "function": function} for function in functions])


def _quickly(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 3 + len(_DIGIT.findall(text))
