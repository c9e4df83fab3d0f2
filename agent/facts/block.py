"""What a request tells of facts: all in full while there is room, then the last changed and a line for each other."""

from dataclasses import dataclass

from ogcode.agent.clean import clean
from ogcode.agent.facts.fact import Fact, on_one_line, safe
from ogcode.agent.facts.shelf import Known
from ogcode.agent.memory.markdown import cut
from ogcode.agent.rules import Block, shares

CHARACTERS = 8_000
"""Up to which everything is told in full; half as many again is the most."""

FULL, LARGEST, LINE = 10, 1_200, 160
"""How many of the last changed are told in full where not all are, up to how long, and how long the others' lines."""

NEWS = 900
"""Characters of what has changed since a session began."""

SUMMARIES = "Lines that end in … are summaries: memory_read gives the whole; ask it before you act on one."


@dataclass(slots=True)
class _Room:
    characters: int
    bytes: int

    def take(self, text: str) -> bool:
        """Take room for a text and its line end, if there is enough."""
        characters, size = len(text) + 1, len(text.encode("utf-8", "replace")) + 1
        if characters > self.characters or size > self.bytes:
            return False
        self.characters -= characters
        self.bytes -= size
        return True


def facts_block(known: Known, window: int) -> Block:
    """Tell what is known, as data: no line of it begins where ours do."""
    notices = list[str]()
    tokens = window // 10 * 3
    hand = _by_hand(known, min(CHARACTERS, tokens), notices)
    lines = list[str]()
    if sum(len(fact.text) for fact in known.facts) <= CHARACTERS:  # or it need not be tried
        lines = [entry(fact) for fact in known.facts]
    if len(lines) < len(known.facts) or not _Room(CHARACTERS, tokens).take("\n".join([*hand, *lines])):
        room = _Room(CHARACTERS * 3 // 2 - 200, tokens * 3 // 2 - 200)
        for part in hand:
            room.take(part)
        lines = _chosen(known.facts, room)
    text = "\n".join([*hand, *lines])
    return Block(f"<facts>\n{text}\n</facts>" if text else "", tuple(notices))


def entry(fact: Fact) -> str:
    """Write a fact in full."""
    said = f"{fact.title}: {fact.text}" if fact.title else fact.text
    return f"- [{_told(fact)}] {_indented(said)}"


def changes(before: Known, now: Known) -> str:
    """Tell in a line what is not any more as it was told when the session began."""
    old, new = {fact.id: fact for fact in before.facts}, {fact.id: fact for fact in now.facts}
    gone = [f"{each} was forgotten, do not use it" for each in old if each not in new]
    told = [
        f"{fact.id} {'is now' if fact.id in old else 'is new'}: {cut(on_one_line(fact.text), 300, '…')}"
        for fact in new.values()
        if fact.id not in old or old[fact.id].text != fact.text
    ]
    news, left = list[str](), NEWS
    for each in [*gone, *reversed(told)]:  # the last changed before the others
        left -= len(each)
        news += [each] if left >= 0 else []
    more = len(gone) + len(told) - len(news)
    told_more = [f"+{more} more: memory_read"] if more else []
    return f"(Facts have changed since; data: {'; '.join([*news, *told_more])})" if news else ""


def _by_hand(known: Known, room: int, notices: list[str]) -> list[str]:
    """Give what people wrote, each file its share of the room."""
    texts = [_indented(file.text) for file in known.written]
    heads = [f"{clean(file.name)}, by hand:\n" for file in known.written]
    sizes = [len(text.encode("utf-8", "replace")) for text in texts]
    parts = list[str]()
    for file, text, head, size, share in zip(known.written, texts, heads, sizes, shares(sizes, room), strict=True):
        if share < size:
            notices.append(f"{clean(file.name)}: only the first {share:,} of {size:,} bytes fit; shorten it")
            text = text.encode("utf-8", "replace")[:share].decode("utf-8", "ignore") + "\n  [… cut …]"
        parts.append(f"{head}  {text}")
    return parts


def _chosen(facts: tuple[Fact, ...], room: _Room) -> list[str]:
    """Give the last changed in full and the others as lines, as many as there is room for, in their order."""
    latest = sorted(range(len(facts)), key=lambda place: (facts[place].updated, place), reverse=True)
    told = dict[int, str]()
    for rank, place in enumerate(latest):
        whole = entry(facts[place]) if rank < FULL else ""
        if whole and len(whole) <= LARGEST and room.take(whole):
            told[place] = whole
        elif room.take(line := _line(facts[place])):
            told[place] = line
        else:
            break
    more = len(facts) - len(told)
    return [told[place] for place in sorted(told)] + ([f"+{more} more: memory_read"] if more else []) + [SUMMARIES]


def _line(fact: Fact) -> str:
    head = f"- [{_told(fact)}] "
    said = fact.summary if not fact.title or fact.summary == fact.title else f"{fact.title}: {fact.summary}"
    return f"{head}{cut(on_one_line(said), max(40, LINE - len(head) - 2), '')} …"


def _told(fact: Fact) -> str:
    folder = fact.file.rpartition("/")[0]
    nested = f" {clean(folder)}" if folder and not folder.startswith(("~", ".ogcode")) else ""
    return ", ".join(filter(None, [fact.id, f"{fact.scope}{nested}", fact.updated[:10]]))


def _indented(text: str) -> str:
    return "\n  ".join(safe(text).splitlines())
