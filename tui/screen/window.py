"""A long list of blocks of which few are widgets: the oldest are let go of, and made again for who scrolls up."""

from collections.abc import Awaitable, Callable, Sequence

from textual.containers import VerticalScroll
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from ogcode.tui.screen.blocks.lines import Line

Again = Callable[[], Widget]
"""Makes a block anew, as it was when it was let go of."""

MOUNTED = 40
"""Blocks; where there are more, those that are a screen and more above what is seen are let go of."""
BATCH = 20


class Bar(ScrollBar):
    """A scroll bar that is drawn in one piece: while text grows it changes with each frame."""

    def render_lines(self, crop: Region) -> list[Strip]:
        console, (_, background) = self.app.console, self.background_colors
        options = self.app.console_options.update(width=self.size.width, height=self.size.height, highlight=False)
        strips = [Strip(line) for line in console.render_lines(self.render(), options, pad=False)]
        for each in self.get_line_filters():
            strips = [strip.apply_filter(each, background) for strip in strips]
        return strips[crop.y : crop.bottom]


class Window(VerticalScroll, can_focus=False):
    virtual_size = Reactive(Size(0, 0), repaint=False)
    """When it alone changes nothing is laid out anew, as Textual would: no block depends on it."""

    def __init__(self) -> None:
        super().__init__()
        self._above = list[Again]()
        """What is not mounted, the oldest first."""
        self._again = dict[Widget, Again]()
        self._more: Line | None = None
        """Says how much there is above."""
        self._loading = False
        self.print_above: Callable[[Sequence[Widget]], Awaitable[None]] | None = None
        """Takes the blocks that are let go of, where the terminal keeps them."""

    def on_mount(self) -> None:
        self.anchor()

    async def add(self, block: Widget, again: Again | None = None) -> None:
        """Show a block below all others; one that can't be made again stays, and all that follow it."""
        await self.put(block, again)

    async def put(self, block: Widget, again: Again | None, *, before: Widget | None = None) -> None:
        """Mount a block at its place."""
        if again:
            self._again[block] = again
        await self.mount(block, before=before)

    async def fill(self, blocks: Sequence[Again]) -> None:
        """Take in many blocks at once: only the last of them are made now."""
        self._above += blocks[:-BATCH]
        made = [(again(), again) for again in blocks[-BATCH:]]
        self._again.update(made)
        await self.mount_all(block for block, _ in made)
        await self._tell()

    async def empty(self) -> None:
        self._above.clear()
        self._again.clear()
        self._more = None
        await self.remove_children()

    def settle(self, block: Widget, again: Again) -> None:
        """Take note that a block will not change any more."""
        self._again[block] = again

    def again(self, block: Widget) -> Again | None:
        """Tell how to make a block anew; None while it may change."""
        return self._again.get(block)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = Bar(name="vertical")
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar

    def on_resize(self) -> None:
        self.refresh(repaint=False, layout=True)  # its end was looked for by the size it had before

    def watch_virtual_size(self) -> None:
        """Let go of what is far above, or get more where there is room for it."""
        if self._loading:
            return
        if len(self.children) > MOUNTED and not self._anchor_released:
            self._loading = True
            self.call_later(self._let_go)
        elif self._above and self.virtual_size.height <= self.size.height:
            self._loading = True
            self.call_later(self._load)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value < 1 and self._above and not self._loading:
            self._loading = True
            self.call_later(self._load)

    async def _load(self) -> None:
        """Mount what came before, and leave what is read where it is."""
        earlier = self._above[-BATCH:]
        del self._above[-BATCH:]
        made = [(again(), again) for again in earlier]
        self._again.update(made)
        first = next((block for block in self.children if block is not self._more), None)
        place = first.virtual_region.y - self.scroll_offset.y if first else 0
        with self.app.batch_update():
            await self.mount_all([block for block, _ in made], before=first)
            await self._tell()
            self.screen._refresh_layout()  # so that no frame shows it elsewhere
            if first:
                self.scroll_to(y=first.virtual_region.y - place, animate=False, immediate=True, force=True)
        self._loading = False

    async def _let_go(self) -> None:
        oldest, top = dict[Widget, Again](), self.scroll_y - self.size.height
        for block in [block for block in self.children if block is not self._more][: len(self.children) - BATCH]:
            is_far = block.size.height and block.virtual_region.bottom < top
            if not is_far or (again := self.again(block)) is None:
                break
            oldest[block] = again
            self._again.pop(block, None)
        if oldest and self.print_above:
            await self.print_above([*oldest])
        elif oldest:
            self._above += oldest.values()
            with self.app.batch_update():
                await self.remove_children(oldest)
                await self._tell()
            self.anchor()
        self._loading = False

    async def _tell(self) -> None:
        """Say how much there is above, or nothing."""
        if not self._above:
            if self._more:
                await self._more.remove()
                self._more = None
            return
        where = "ogcode sessions show tells all" if self.print_above else "scroll up for them"
        told = f"{len(self._above):,} earlier blocks; {where}"
        if self._more:
            self._more.update(told)
        else:
            self._more = Line(told)
            await self.mount(self._more, before=0)
