"""`/config`, `/theme`: the settings, and how the app looks."""

from typing import TYPE_CHECKING

from ogcode.tui.desks.desk import NotDone
from ogcode.tui.screen.actions.command import MARGINS, Command, beside
from ogcode.tui.screen.blocks.lines import flat

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


async def _config(app: "Ogcode", argument: str) -> None:
    key, _, value = argument.partition(" ")
    value = value.strip()
    if not value:
        await _show(app, key)
        return
    if await change(app, key, value):
        app.themed.wear(app.desk.settings.theme)
        if key == "vim":
            app.prompt.use_vim(on=value.casefold() in ("on", "true", "yes"))


async def _show(app: "Ogcode", key: str) -> None:
    try:
        lines = app.desk.settings.listed()
    except NotDone as error:
        await app.transcript.say(flat(str(error)), "warning")
        return
    if key and not any(line.key.startswith(key) for line in lines):
        await app.transcript.say(f"there is no setting {flat(key)}; /config lists what there is", "warning")
        return
    shown = [(line.key, flat(line.value) or "-", flat(line.origin)) for line in lines if line.key.startswith(key)]
    first, second, third = (max(map(len, column)) for column in zip(*shown, strict=True))
    wide = app.size.width - MARGINS
    fits = first + second + third + 4 <= wide
    rows = [
        f"{name:<{first}}  {value:<{second}}  {origin}"
        if fits
        else beside(f"{name:<{first}}  ", f"{value}  ({origin})", wide)
        for name, value, origin in shown
    ]
    await app.transcript.say("\n".join([*rows, "", "/config KEY VALUE sets one for good"]), "plain")


async def change(app: "Ogcode", key: str, value: str) -> bool:
    """Set something for good, and say what came of it; tell whether it is set."""
    try:
        said, kind = app.desk.settings.change(key, value), "quiet"
    except NotDone as error:
        said, kind = str(error), "warning"
    await app.transcript.say(flat(said), kind)
    return kind == "quiet"


async def _theme(app: "Ogcode", argument: str) -> None:
    if argument:
        await _wear(app, argument)
        return

    from ogcode.tui.screen.pickers.themes import ThemePicker  # only where one is picked

    def chosen(name: str | None) -> None:
        app.approvals.focus_first()
        if name:
            app.call_later(_wear, app, name)

    app.push_screen(ThemePicker(app.desk, app.themed, app.desk.settings.theme), chosen)


async def _wear(app: "Ogcode", name: str) -> None:
    await change(app, "theme", name)
    app.themed.wear(app.desk.settings.theme)


COMMANDS = (
    Command("/theme", "[name]", "how the app looks: auto, dark, light, ansi, high-contrast", _theme),
    Command(
        "/config", "[key value]", "the settings and where they come from, or set one", _config, aliases=("/settings",)
    ),
)
