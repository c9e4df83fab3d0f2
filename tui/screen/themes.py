"""How the app looks: the terminal's own colours, or a theme; `auto` goes by the background that the terminal tells."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme as Colours

    from ogcode.agent.settings.config import Theme

ASK_BACKGROUND = "\x1b]11;?\x1b\\"


class Themed:
    """Dresses an app."""

    def __init__(self, app: "App[int]") -> None:
        self._app = app
        self._dark = True
        """The terminal's background, as far as it has told."""
        self._worn: Theme = "auto"

    def wear(self, name: "Theme") -> None:
        """Look like this from now on."""
        app, self._worn = self._app, name
        ansi = name in ("auto", "ansi")
        if ansi:
            theme = "ansi-dark" if self._dark or name == "ansi" else "ansi-light"
        else:
            theme = f"ogcode-{name}"
            if theme not in app.available_themes:
                app.register_theme(_colours(name))
        app.ansi_color = ansi
        app.theme = theme
        app.set_class(not ansi, "-own")
        app.set_class(name == "high-contrast", "-contrast")

    def ask(self) -> None:
        """Ask the terminal for its background; what never answers is dark."""
        if self._worn == "auto" and not self._app.is_headless and self._app._driver is not None:
            self._app._driver.write(ASK_BACKGROUND)
            self._app._driver.flush()

    def learn(self, *, dark: bool) -> None:
        """Take note of how dark the background is."""
        self._dark = dark
        if self._worn == "auto" and not dark:
            self.wear("auto")


def _colours(name: "Theme") -> "Colours":
    from textual.theme import Theme as Colours

    match name:
        case "light":
            return Colours(
                name="ogcode-light",
                primary="#3b6ea5",
                secondary="#0b7285",
                accent="#7b3fa0",
                warning="#9a5b00",
                error="#b3261e",
                success="#1b7a3d",
                foreground="#1f2328",
                background="#fbfbf9",
                surface="#f2f2ee",
                panel="#e7e7e2",
                dark=False,
            )
        case "high-contrast":
            return Colours(
                name="ogcode-high-contrast",
                primary="#ffffff",
                secondary="#00ffff",
                accent="#00ff00",
                warning="#ffff00",
                error="#ff8080",
                success="#00ff00",
                foreground="#ffffff",
                background="#000000",
                surface="#000000",
                panel="#000000",
                dark=True,
                variables={"text-muted": "#ffffff", "foreground-muted": "#ffffff"},
            )
    return Colours(
        name="ogcode-dark",
        primary="#5b8db8",
        secondary="#56b6c2",
        accent="#c792ea",
        warning="#e5c07b",
        error="#f07178",
        success="#98c379",
        foreground="#d7dae0",
        background="#16181d",
        surface="#1c1f26",
        panel="#262a33",
        dark=True,
    )
