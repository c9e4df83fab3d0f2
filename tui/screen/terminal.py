"""The terminal beside the screen: its clipboard, a call for whoever looks elsewhere, and the signals that end us."""

import asyncio
import os
import signal
from base64 import b64encode
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean

if TYPE_CHECKING:
    from textual.app import App

LARGEST = 74_000
"""Bytes that terminals take into their clipboard; what is longer many drop without a word."""


def copy(app: "App[int]", text: str) -> str:
    """Put text into the terminal's clipboard, and say what became of it.

    tmux hands on what is wrapped for it only where `allow-passthrough` is on, and what is not only where
    `set-clipboard` is: both are sent.
    """
    body = text.encode("utf-8", "replace")
    whole = body[:LARGEST].decode("utf-8", "ignore")
    app.copy_to_clipboard(whole)
    _write(app, _through_tmux(f"\x1b]52;c;{b64encode(whole.encode()).decode()}\a"))
    lines = whole.count("\n") + 1
    told = f"copied {lines:,} lines" if lines > 1 else f"copied {len(whole):,} characters"
    return (
        told if len(body) <= LARGEST else f"{told}, the first {LARGEST:,} bytes: a terminal's clipboard takes no more"
    )


def call_out(app: "App[int]", how: str, text: str) -> None:
    """Call a person who looks elsewhere: `bell`, a notification by `osc9`, or `off`."""
    match how:
        case "bell":
            app.bell()
        case "osc9":
            said = " ".join(clean(text).split())[:200]
            _write(app, _through_tmux(f"\x1b]9;{said}\a") or f"\x1b]9;{said}\a")


def _through_tmux(sequence: str) -> str:
    """Wrap a sequence so that tmux hands it on; empty outside of tmux."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\" if os.environ.get("TMUX") else ""


def _write(app: "App[int]", sequence: str) -> None:
    if sequence and app._driver is not None:
        app._driver.write(sequence)


def hear_signals(leave: Callable[[int], object]) -> None:
    """Let signals end the app; Ctrl+C is a key here, so a SIGINT is another process's word.

    That one is set such that `on_terminal` can set it aside, which it could not with the loop's own.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, leave, 128 + number)
    signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(leave, 130, context=context))
