"""Pictures that the user gives, known by how they begin and not by their names."""

import re
from collections.abc import Mapping
from pathlib import Path

from ogcode.agent.turn import Image

LARGEST = 5_000_000
"""Bytes of one picture, which is what providers take."""

_BEGINNINGS: Mapping[str, re.Pattern[bytes]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}


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
    for kind, beginning in _BEGINNINGS.items():
        if beginning.match(content):
            return Image(kind, content)
    raise NoImage(f"{name}: it is not a PNG, JPEG, GIF or WebP picture; convert it to one")
