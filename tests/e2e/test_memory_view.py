"""`ogcode memory` in a real pseudo-terminal, with a real editor process."""

import re
from pathlib import Path

import pexpect
from remembered import write_note
from stage_cli import OGCODE, new_place

from ogcode.agent.index.cache import Memory
from ogcode.agent.files.root import find_root

NOTE = "2026-09-12T091412Z--3f8c21aa"


def test_a_note_is_edited_with_the_users_editor_and_counts_as_edited(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    memory = Memory.of(find_root(place.folder, None), place.home)
    path = write_note(memory, f"{NOTE}--a-note.md", "# A note\n\n## Outcome\n\nIt is BEFORE.\n", own=True)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/BEFORE/AFTER/ "$1"\necho EDITOR HAS THE TERMINAL\n')
    editor.chmod(0o755)
    environ = {**place.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "EDITOR": str(editor)}
    terminal: pexpect.spawn[str] = pexpect.spawn(
        str(OGCODE), ["memory"], cwd=str(place.folder), env=environ, dimensions=(24, 90), encoding="utf-8", timeout=40
    )
    terminal.expect_exact("BEFORE")
    terminal.send("e")
    terminal.expect_exact("EDITOR HAS THE TERMINAL")
    terminal.expect("counts")
    assert path.read_text() == "# A note\n\n## Outcome\n\nIt is AFTER.\n"
    terminal.send("u")
    terminal.expect("before")
    assert "BEFORE" in path.read_text()
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert re.search(r"\x1b\[\?1049l", str(terminal.before))
