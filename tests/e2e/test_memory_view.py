"""`ogcode memory` in a real pseudo-terminal, with a real editor process."""

import os
import re
import signal
from pathlib import Path

import pexpect
import pytest
from remembered import write_note
from stage_cli import OGCODE, Place, new_place
from terminals import LIVE, ogcode

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory

NOTE, OTHER = "2026-09-12T091412Z--3f8c21aa", "2026-09-12T091512Z--3f8c21aa"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = new_place(tmp_path)
    memory = Memory.of(find_root(place.folder, None), place.home)
    write_note(memory, f"{NOTE}--a-note.md", "# A note\n\n## Outcome\n\nIt is BEFORE.\n", own=True)
    write_note(memory, f"{OTHER}--other.md", "# Other\n\n## Outcome\n\nNEWER, also BEFORE.\n", own=True)
    return place


def test_what_is_chosen_is_edited_with_the_users_editor_and_counts_as_edited(place: Place, tmp_path: Path) -> None:
    (place.folder / "AGENTS.md").write_text("BEFORE\n")
    path = place.folder / ".ogcode" / "memory" / f"{NOTE}--a-note.md"
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/BEFORE/AFTER/ "$1"\necho EDITOR HAS THE TERMINAL\n')
    editor.chmod(0o755)
    environ = {
        **place.environ,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "EDITOR": str(editor),
        "OGCODE_TRUST": "1",
    }
    terminal: pexpect.spawn[str] = pexpect.spawn(
        str(OGCODE), ["memory"], cwd=str(place.folder), env=environ, dimensions=(24, 90), encoding="utf-8", timeout=40
    )
    terminal.expect_exact("NEWER")
    terminal.send("m")
    terminal.expect_exact("1 marked")
    terminal.send("e")
    terminal.expect_exact("EDITOR HAS THE TERMINAL")
    terminal.expect("counts")
    assert path.read_text() == "# A note\n\n## Outcome\n\nIt is AFTER.\n"
    terminal.send("u")
    terminal.expect("before")
    assert "BEFORE" in path.read_text()
    terminal.send("hj")
    terminal.expect_exact("bytes")
    terminal.send("le")
    terminal.expect_exact("EDITOR HAS THE TERMINAL")
    terminal.expect_exact("\x1b[?1049h")
    assert (place.folder / "AGENTS.md").read_text() == "AFTER\n"
    terminal.send("\x04")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert re.search(r"\x1b\[\?1049l", str(terminal.before))


def test_a_signal_ends_the_view_and_restores_the_terminal(place: Place) -> None:
    terminal = ogcode(place, "memory")
    terminal.until(lambda: LIVE in terminal.raw and "NEWER" in terminal.raw)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143
    assert terminal.restored()
