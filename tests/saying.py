"""The command line in this process, and what it said."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from stage_cli import Place

from ogcode.tui.entry import run


@dataclass(frozen=True, slots=True)
class Told:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


Say = Callable[..., Told]


def say_in(place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Say:
    for name in [name for name in os.environ if name not in ("PATH", "TMPDIR")]:
        monkeypatch.delenv(name)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.folder)
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115, PTH123

    def say(*words: str) -> Told:
        mask = os.umask(0o077)
        code = run(words)
        os.umask(mask)  # it is the process's
        out, err = capfd.readouterr()
        return Told(code, out, err)

    return say
