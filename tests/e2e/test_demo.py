"""The demo is also the whole product at work: loop, tools, scribe's process, index, librarian."""

import os
import re
import subprocess
import sys
from pathlib import Path

OGCODE = Path(sys.executable).with_name("ogcode")


def test_the_demo_fixes_remembers_and_answers_from_its_notes(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [OGCODE, "demo"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[SCRIPTED MODEL") == 2
    [repository] = tmp_path.glob("ogcode-demo-*/shop-repository")
    tests = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=repository, capture_output=True, timeout=60)
    assert tests.returncode == 0
    notes = sorted(path.name for path in (repository / ".ogcode" / "memory").glob("*.md"))
    notes = [name for name in notes if "asked-why" not in name]  # the later session's, in seconds that overlap
    first, second, *others = [name.split("--")[2] for name in notes]
    assert (first, second) == ("discount-is-a-percentage-not-cents.md", "quantities-below-1-are-refused.md")
    assert "readme-states-the-rules-for-discounts-and-quantities.md" in others
    cited = re.findall(r"\[\[(\S+?)#Decisions & why\]\]", " ".join(done.stdout.split()))
    assert cited[:2] == ["--".join(name.split("--")[:2]) for name in notes[:2]]
    assert not (tmp_path / ".ogcode").exists()
