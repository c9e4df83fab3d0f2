"""What comes into the prompt from elsewhere: out of the user's editor, and a picture out of the clipboard."""

from functools import partial
from typing import TYPE_CHECKING

from ogcode.tui.desks.prompt import EditorFailed, PromptDesk
from ogcode.tui.message.mentions import written

if TYPE_CHECKING:
    from ogcode.tui.screen.prompt import Prompt


async def use_editor(prompt: "Prompt", desk: PromptDesk) -> None:
    """Let the user's editor change what is in the prompt."""
    from ogcode.tui.screen.writing.terminal import on_terminal  # only where one edits

    try:
        prompt.put(await desk.edit(prompt.whole, partial(on_terminal, prompt.app)))
    except EditorFailed as error:
        prompt.say(str(error))


async def paste_picture(prompt: "Prompt", desk: PromptDesk) -> None:
    """Name the picture that lies in the clipboard; without one, paste what was copied here."""
    try:
        path = await desk.picture()
    except OSError as error:
        prompt.say(f"the picture can't be kept: {error.strerror or error}")
        return
    if path:
        prompt.insert(written(path))
    elif copied := prompt.app.clipboard:
        prompt.paste(copied)
    else:
        prompt.say("there is no picture in the clipboard that can be read here", "quiet")
