"""`/model`: what can be used here and now, with what is known of each."""

from collections.abc import Sequence

from textual import work
from textual.content import Content

from ogcode.agent.model import ModelError
from ogcode.tui.desks.desk import Desk, ModelLine
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.pickers.picker import Picker, Row

_WIDEST = 44


class ModelPicker(Picker):
    """What is typed and is on no list is a name as well."""

    HEADING = "Choose a model"
    HINT = "type to search, or a name in full · ↑↓ choose · Enter use it · Esc back"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.status)
        self._desk = desk
        self._says = dict[str, str]()
        self._silent: Sequence[str] = ()

    def on_mount(self) -> None:
        super().on_mount()
        self._load()

    @work
    async def _load(self) -> None:
        self.tell("looking for models…")
        try:
            models, silent = await self._desk.models()
        except ModelError as error:
            self.tell(str(error))
            return
        current = self._desk.status().model
        wide = min(_WIDEST, max((len(flat(each.name)) for each in models), default=0))
        self._says = {each.name: each.says for each in models}
        self._silent = ["no models found; type a name in full", *silent] if not models else silent
        self.fill(_row(each, current, wide) for each in models)
        self.start_at(current)

    def looked_at(self, row: Row | None) -> None:
        """Say all that is known of it: a row is cut where it is narrow."""
        says = self._says.get(row.value, "") if row else ""
        self.tell("\n".join(filter(None, [says, *self._silent])))

    def taken(self) -> str:
        return super().taken() or self.typed


def _row(line: ModelLine, current: str, wide: int) -> Row:
    taken = line.name == current
    shown = Content.assemble(
        ("● " if taken else "  ", "$accent"),
        (f"{flat(line.name):<{wide}}", "bold" if taken else ""),
        (f"  {flat(line.says)}" if line.says else "", "dim"),
    )
    return Row(line.name, shown, f"{line.name} {line.says}")
