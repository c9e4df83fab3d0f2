"""What a headless run is asked: its prompt from the command line, a file and stdin, or messages on stdin."""

import asyncio
import base64
import contextlib
import json
import os
import select
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.turn import Image
from ogcode.tui.arguments import Arguments

LARGEST = 2_000_000
"""Bytes of a file or of stdin that become part of a prompt at most."""

PATIENCE = 3.0
"""Seconds that a pipe may be silent before a prompt goes without it."""

_LONGEST_LINE = 50_000_000
"""Bytes of a message on stdin; pictures are in it."""


class BadInput(Exception):
    """What was given can't be used; one sentence."""


@dataclass(frozen=True, slots=True)
class Request:
    prompt: str
    images: tuple[Image, ...] = ()


def read_request(given: Arguments, folder: Path) -> Request:
    """Put the prompt together.

    Raises:
        BadInput: there is none, or a part of it can't be read.
    """
    awaited = given.prompt == "-" or given.prompt_file == "-"
    words = [given.prompt] if given.prompt and given.prompt != "-" else []
    if given.prompt_file != "-":
        words.append(text_of(given.prompt_file, folder))
    said = "\n\n".join(part.strip() for part in words if part.strip())
    piped = _piped(awaited=awaited, quiet=given.quiet)
    prompt = f"{said}\n\n<stdin>\n{piped}\n</stdin>" if said and piped else said or piped
    if not prompt:
        raise BadInput('the prompt is empty; give one: ogcode -p "what to do", or pipe it in')
    return Request(prompt, _pictures(given.images, folder))


def _pictures(names: Sequence[str], folder: Path) -> tuple[Image, ...]:
    if not names:
        return ()
    from ogcode.agent.files.image import NoImage, read_image  # only where there are any

    try:
        return tuple(read_image(folder / name) for name in names)
    except NoImage as error:
        raise BadInput(str(error)) from error


def text_of(name: str, folder: Path) -> str:
    """Read a text file that the command line names; nothing where it names none.

    Raises:
        BadInput: it can't be read.
    """
    if not name:
        return ""
    try:
        with (folder / name).open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(f"{name}: it can't be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise BadInput(f"{name}: it is larger than {LARGEST:,} bytes")
    return content.decode("utf-8", "replace")


async def read_messages(descriptor: int) -> AsyncIterator[Request]:
    """Read the messages of `--input-format stream-json`, one a line, as they come.

    Raises:
        BadInput: a line is none.
    """
    number, open_line = 0, list[bytes]()
    while piece := await _piece(descriptor):
        *ended, rest = piece.split(b"\n")
        for line in ended:
            number += 1
            if whole := b"".join([*open_line, line]).strip():
                yield _message(whole, number)
            open_line.clear()
        open_line.append(rest)
        if sum(map(len, open_line)) > _LONGEST_LINE:
            raise BadInput(f"stdin: line {number + 1} is larger than {_LONGEST_LINE:,} bytes")
    if whole := b"".join(open_line).strip():
        yield _message(whole, number + 1)


async def _piece(descriptor: int) -> bytes:
    """Read what is there, waiting without a thread; nothing at the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file is always ready
        return os.read(descriptor, 1 << 16)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 1 << 16)


def _message(line: bytes, number: int) -> Request:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"stdin: line {number} is not JSON") from error
    texts, images = list[str](), list[Image]()
    match given:
        case {"type": "user", "message": {"role": "user", "content": str(text)}}:
            texts.append(text)
        case {"type": "user", "message": {"role": "user", "content": list(blocks)}}:
            for block in blocks:
                match block:
                    case {"type": "text", "text": str(text)}:
                        texts.append(text)
                    case {"type": "image", "source": {"type": "base64", "data": str(data)}}:
                        images.append(_image(data, number))
                    case _:
                        raise BadInput(f"stdin: line {number}: a block is neither text nor an image in base64")
        case _:
            raise BadInput(
                f"stdin: line {number} is no message; write "
                '{"type": "user", "message": {"role": "user", "content": "what to do"}}'
            )
    if not (prompt := "\n\n".join(texts).strip()):
        raise BadInput(f"stdin: line {number}: the prompt is empty")
    return Request(prompt, tuple(images))


def _image(data: str, number: int) -> Image:
    from ogcode.agent.files.image import NoImage, image_of

    name = f"stdin: line {number}: an image"
    try:
        return image_of(base64.b64decode(data, validate=True), name)
    except NoImage as error:
        raise BadInput(str(error)) from error
    except ValueError as error:
        raise BadInput(f"{name} is not base64") from error


def _piped(*, awaited: bool, quiet: bool) -> str:
    """Read stdin: to its end if it is asked for or has begun in time, else nothing of it."""
    with contextlib.suppress(OSError, ValueError):
        if not awaited and sys.stdin.isatty():
            return ""
        if not awaited and not select.select([sys.stdin], [], [], PATIENCE)[0]:
            if not quiet:
                said = f"nothing came on stdin for {PATIENCE:g} s, so it is left out; --prompt-file - waits for it"
                sys.stderr.write(f"ogcode: {said}\n")
            return ""
        content = sys.stdin.buffer.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise BadInput(f"stdin is larger than {LARGEST:,} bytes; put it into a file and name that")
        return content.decode("utf-8", "replace").strip()
    return ""
