"""Pictures, known by how they begin and not by their names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ogcode.agent.turn import Image

LARGEST = 5_000_000
"""Bytes of one picture, which is what providers take."""
SHOWN = 3_500_000
"""Bytes of one that a tool shows: some providers count it as it is encoded."""
WIDEST = 8_000
"""Dots across or down."""

_BEGINNINGS: Mapping[str, re.Pattern[bytes]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}


_JPEG_SIZES = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))
"""Segments of a JPEG that say how large it is."""
_SEGMENT = re.compile(rb"\xff++([^\xff])(..)", re.DOTALL)
_SEGMENTS = 1_000
"""That are passed on the way there."""


class NoImage(Exception):
    """A file can't be shown to a model; the text says why and what to do."""


def read_image(path: Path) -> Image:
    """Read a picture.

    Raises:
        NoImage: it can't be read, is too large, or is none that models take.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            raise NoImage(f"{path}: there is no such file; give the path of a PNG, JPEG, GIF or WebP picture")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise NoImage(f"{path}: the picture can't be read: {error.strerror}") from error
    return image_of(content, str(path))


def image_of(content: bytes, name: str) -> Image:
    """Know a picture by its bytes; `name` is what the user is told of.

    Raises:
        NoImage: it is too large, or is none that models take.
    """
    if len(content) > LARGEST:
        raise NoImage(f"{name}: the picture is larger than {LARGEST // 1_000_000} MB; make it smaller")
    if media := media_type(content):
        return Image(media, content)
    raise NoImage(f"{name}: it is not a PNG, JPEG, GIF or WebP picture; convert it to one")


def media_type(content: bytes) -> str:
    """Name the type of a picture that models take; empty for all else."""
    return next((media for media, beginning in _BEGINNINGS.items() if beginning.match(content)), "")


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Tell the dots across and down of a picture; None where it does not say."""
    match media_type(content):
        case "image/png":
            return _two(content[16:24], 4, "big")
        case "image/gif":
            return _two(content[6:10], 2, "little")
        case "image/jpeg":
            return _of_jpeg(content)
        case "image/webp":
            return _of_webp(content[12:30])
    return None


def _two(content: bytes, each: int, order: Literal["big", "little"]) -> tuple[int, int] | None:
    if len(content) < 2 * each:
        return None
    return int.from_bytes(content[:each], order), int.from_bytes(content[each : 2 * each], order)


def _of_jpeg(content: bytes) -> tuple[int, int] | None:
    """Go from segment to segment up to the one that says it: height first."""
    place = 2
    for _ in range(_SEGMENTS):
        found = _SEGMENT.match(content, place)
        if found is None:
            return None
        if found[1][0] in _JPEG_SIZES:
            size = _two(content[found.end() + 1 : found.end() + 5], 2, "big")
            return size and size[::-1]
        place = found.end() - 2 + max(2, int.from_bytes(found[2], "big"))
    return None


def _of_webp(chunk: bytes) -> tuple[int, int] | None:
    match chunk[:4]:
        case b"VP8 ":
            found = _two(chunk[14:18], 2, "little")
            return found and (found[0] & 0x3FFF, found[1] & 0x3FFF)
        case b"VP8L" if len(chunk) >= 13:
            bits = int.from_bytes(chunk[9:13], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            found = _two(chunk[12:18], 3, "little")
            return found and (found[0] + 1, found[1] + 1)
    return None
