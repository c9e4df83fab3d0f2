"""What the commands say: the answer on stdout, everything else on stderr."""

import json
import sys

from ogcode.agent.clean import clean


def answer(text: str) -> None:
    """Print an answer; on a terminal what others wrote can't act."""
    shown = clean(text, prose=True) if sys.stdout.isatty() else text.encode("utf-8", "replace").decode()
    sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")


def answer_json(told: object) -> None:
    """Print one JSON value on one line."""
    answer(json.dumps(told))


def remark(text: str) -> None:
    """Say on stderr what is not the answer."""
    sys.stderr.write(f"{clean(text)}\n")


def flat(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())


def asked(question: str) -> bool:
    """Ask a person; whatever is not a yes is a no."""
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
