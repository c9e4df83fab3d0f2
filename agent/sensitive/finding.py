"""Where in a text a secret stands."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text: never the secret itself, so that a finding may be shown."""

    kind: str
    start: int
    end: int


@cache
def mark() -> re.Pattern[str]:
    """Give what a replacement looks like: `[secret: github token]`."""
    return re.compile(r"\[secret: [a-z][a-z ]{2,40}\]")
