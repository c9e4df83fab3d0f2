"""Pictures of the workspace, for a model that can see them."""

from ogcode.agent.files.image import SHOWN, WIDEST, dimensions, media_type
from ogcode.agent.tool import Pictured, ToolError
from ogcode.agent.turn import Image


def pictured(name: str, body: bytes, *, seen: bool) -> Pictured | None:
    """Show a picture; None where it is none. `seen` tells whether the model can see any.

    Raises:
        ToolError: it can't be shown; the text says what it is.
    """
    media = media_type(body)
    if not media:
        return None
    size = dimensions(body)
    told = f"{media.removeprefix('image/').upper()} picture, {_measure(size)}, {len(body):,} bytes"
    if not seen:
        raise ToolError(f"{name} is a {told}, and this model can't see pictures; the user can choose one that can")
    if size is None or min(size) < 1:
        raise ToolError(f"{name} is a {told}, and can't be shown: it is damaged")
    if len(body) > SHOWN or max(size) > WIDEST:
        most = f"{SHOWN / 1e6:g} MB and {WIDEST:,} dots a side"
        raise ToolError(f"{name} is a {told}, and too large to be shown: more than {most}; make a smaller copy of it")
    return Pictured.of(f"{name}: {told}", Image(media, body))


def _measure(size: tuple[int, int] | None) -> str:
    return f"{size[0]:,} x {size[1]:,} dots" if size else "of unknown size"
