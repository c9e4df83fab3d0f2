"""The text of one item: its facts above, where it leads below."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual import events
from textual.content import Content
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from ogcode.agent.clean import clean
from ogcode.agent.facts.fact import Fact
from ogcode.agent.memory.markdown import head_lines
from ogcode.tui.memory.desk import Item, Lead, Noted, Ruled, Spoiled, key_of
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.memory.lines import item_row, state, when
from ogcode.tui.screen.memory.paint import Link, Painted, chosen, marked, painted, source
from ogcode.tui.screen.memory.scrolled import Scrolled

_KINDS = {"file": "file", "cites": "cites", "cited by": "cited by", "from": "kept in"}


class Page(Scrolled):
    @dataclass
    class Followed(Message):
        """The user goes where a note leads."""

        lead: Lead

    def __init__(self) -> None:
        super().__init__("page")
        self.item: Item | None = None
        self.leads: Sequence[Lead] = ()
        self.as_source = False
        self._text = ""
        self._hits: re.Pattern[str] | None = None
        self._links: Sequence[Link] = ()
        self._link = -1
        self._hit = -1
        self._whole = Content("")
        self._laid_out: list[Strip] | None = None

    def show(self, item: Item | None, text: str, hits: re.Pattern[str] | None) -> None:
        """Show an item and its text; where it is the same as before, the place in it stays."""
        if (item, text, hits) == (self.item, self._text, self._hits):
            return
        stays = item is not None and self.item is not None and key_of(item) == key_of(self.item)
        self.item, self._text, self._hits = item, text, hits
        if not stays:
            self.leads, self.top = (), 0
        self._compose_text()
        if hits and not stays:
            self.next_hit(1)

    def lead_to(self, leads: Sequence[Lead]) -> None:
        """Show where the item leads, the first nine with the key that goes there."""
        if leads != self.leads:
            self.leads = leads
            self._compose_text()

    def turn_over(self) -> None:
        """Show the source of what is rendered, or the other way about."""
        self.as_source = not self.as_source
        self._compose_text()
        self.scroll(self.top)

    def next_link(self) -> None:
        """Choose the next link of the text; Enter follows it."""
        if self._links:
            self._link = (self._link + 1) % len(self._links)
            self._lay_out_again()
            self._show(self._links[self._link].start)

    def next_hit(self, step: int) -> None:
        """Go to the next place that has what is searched for."""
        found = [match.start() for match in self._hits.finditer(self._whole.plain)] if self._hits else []
        if found:
            self._hit = (max(self._hit, -1 if step > 0 else 0) + step) % len(found)
            self._show(found[self._hit])

    def follow(self) -> None:
        """Go where the chosen link leads."""
        if self._link >= 0:
            link = self._links[self._link]
            self.post_message(self.Followed(_lead(link.note, link.file)))

    def on_click(self, event: events.Click) -> None:
        meta = event.style.meta
        if isinstance(place := meta.get("lead"), int) and place < len(self.leads):
            self.post_message(self.Followed(self.leads[place]))
        elif meta.get("note") or meta.get("file"):
            self.post_message(self.Followed(_lead(str(meta.get("note", "")), str(meta.get("file", "")))))
        self.focus()

    def _compose_text(self) -> None:
        """Put head, text and leads together; they are one text to search, to select and to scroll."""
        head = _head(self.item) if self.item else Content("")
        inner = self._painted()
        parts = [head, inner.content, _told(self.leads)]
        self._whole = marked(Content("\n\n").join([part for part in parts if part.plain]), self._hits)
        before = len(head.plain) + 2
        self._links = [replace(link, start=link.start + before, end=link.end + before) for link in inner.links]
        self._link = self._hit = -1
        self._lay_out_again()

    def _painted(self) -> Painted:
        if self.as_source:
            return source(self._text)
        lines = self._text.split("\n")
        body = "\n".join(lines[head_lines(lines) :]).strip("\n")
        if not isinstance(self.item, Noted):
            return painted(body)
        title = f"# {self.item.entry.title}\n"  # the head has it already
        return painted(body.removeprefix(title).lstrip("\n"), self.item.entry.files)

    def _lay_out_again(self) -> None:
        self._laid_out = None
        self.refresh()

    def render(self) -> Content:
        return chosen(self._whole, self._links[self._link] if self._link >= 0 else None)

    @property
    def _strips(self) -> list[Strip]:
        if self._laid_out is None:
            self._laid_out = Visual.to_strips(self, self.render(), self.room, None, self.visual_style)
        return self._laid_out

    @property
    def tall(self) -> int:
        return len(self._strips)

    def line(self, number: int, width: int) -> Strip:  # noqa: ARG002  # it is laid out for that
        return self._strips[number]

    def on_resize(self) -> None:
        self._laid_out = None
        super().on_resize()

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002  # Textual's
        self._lay_out_again()

    def _show(self, offset: int) -> None:
        """Scroll to a place in the text."""
        at = self._whole[: offset + 1].get_height({}, self.room) - 1
        if not self.top <= at < self.top + self.size.height:
            self.scroll(at - self.size.height // 2)


def _lead(note: str, file: str) -> Lead:
    return Lead("file", file) if file else Lead("cites", note, note=note)


def _told(leads: Sequence[Lead]) -> Content:
    lines = [
        Content.assemble(
            (f"{place + 1 if place < 9 else ' '} ", "$accent bold"),
            (f"{_KINDS[lead.kind]:9}", "dim"),
            (
                flat(lead.name),
                Style.parse("underline" if lead.mark != "gone" else "dim") + Style.from_meta({"lead": place}),
            ),
            (f"  {lead.mark}" if lead.mark else "", "$warning"),
        )
        for place, lead in enumerate(leads)
    ]
    return Content("\n").join(lines)


def _head(item: Item) -> Content:
    match item:
        case Noted(entry, trouble):
            first = Content.assemble(("★ " if entry.pinned else "", "$warning"), (flat(entry.title), "bold"))
            written = {"": "by hand", "extract": "without a model", "verbatim": "word for word"}
            facts = [
                f"turn {entry.turn}" if entry.turn else "",
                f"conversation {flat(entry.session_id)[:8]}" if entry.session_id else "",
                f"written {written.get(entry.scribe, f'by {flat(entry.scribe)}')}" if not entry.pending else "",
            ]
            second = Content(" ").join([when(entry), *state(entry), Content(f"· {' · '.join(filter(None, facts))}")])
            lines = [first, second, *([Content.styled(flat(entry.malformed), "$error")] if entry.malformed else [])]
            if trouble:
                lines.append(Content.styled(f"{flat(trouble)}; r tries again", "$warning"))
            elif entry.pending:
                lines.append(Content.styled("its note is not written yet; r has it written now", "$accent"))
            return Content("\n").join(lines)
        case Fact() | Ruled() | Spoiled():
            first, second = item_row(item, 10_000, mark=False, hits=None)
            lines = [first[2:], Content(clean(second.plain[2:]))]
            return Content("\n").join(lines[1:] if isinstance(item, Fact) and item.text == item.summary else lines)
