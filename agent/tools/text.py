"""The bytes of a text file as text and back, losing nothing."""

import codecs
import re
from dataclasses import dataclass

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_KINDS = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "program"),
    (b"SQLite format 3", "SQLite database"),
    (b"\0asm", "WebAssembly module"),
)
_ODD = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_NEWLINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    """Line endings as they are in the file."""
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark the file starts with."""

    def encode(self, text: str) -> bytes:
        """Encode other text as this file is encoded.

        Raises:
            UnicodeEncodeError: the encoding lacks one of the characters.
        """
        return self.mark + text.encode(self.encoding)


def decode(body: bytes) -> Decoded | None:
    """Decode a text file so that encoding it again gives the same bytes; None when it is not text."""
    for mark, encoding in _MARKS:
        if body.startswith(mark) and not body.startswith(codecs.BOM_UTF32_LE):
            return _strict(body[len(mark) :], encoding, mark)
    if b"\0" in body[:65536]:
        return None
    if decoded := _strict(body, "utf-8"):
        return decoded
    start = body[:8192]
    if len(_ODD.findall(start)) * 50 > len(start) or any(body.startswith(magic) for magic, _ in _KINDS):
        return None
    return _strict(body, "cp1252") or _strict(body, "latin-1")


def kind(body: bytes) -> str:
    """Say what a file that is not text seems to be."""
    return next((name for magic, name in _KINDS if body.startswith(magic)), "binary file")


def newline(text: str) -> str:
    """Give the line ending that text uses, by its first one."""
    found = _NEWLINE.search(text)
    return found[0] if found else "\n"


def lines(text: str) -> list[str]:
    """Split text into lines without their endings; a lone CR ends a line only where there is no LF at all."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    split = [line.removesuffix("\r") for line in text.split("\n")]
    return split if split[-1] else split[:-1]


def line_at(text: str, offset: int) -> int:
    """Give the number of the line that an offset lies in."""
    return text.count("\n" if "\n" in text else "\r", 0, offset) + 1


def _strict(body: bytes, encoding: str, mark: bytes = b"") -> Decoded | None:
    try:
        return Decoded(body.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None
