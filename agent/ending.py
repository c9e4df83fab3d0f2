"""How a process of ours ends: the system takes back its memory faster than Python takes apart what lies in it."""

import atexit
import os
import sys
from collections.abc import Callable


def to_its_end(run: Callable[[], int]) -> int:
    """Run a program; once its process is left and all is flushed, end it at once: a sixth of what a short run costs."""
    ended = list[int]()
    atexit.register(_end, ended)  # the first that is registered is the last that is called
    ended.append(run())
    return ended[0]


def _end(ended: list[int]) -> None:
    if not ended:  # it was left by an exception, whose code is Python's to find
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads it any more, or it is closed
            return
    os._exit(ended[0])
