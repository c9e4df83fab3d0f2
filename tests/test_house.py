"""The repository itself: what the wheel holds, what the locks pin, what the files may say."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("agent", "librarian", "scribe", "tui")
LOCKS = ("requirements.lock", "requirements-dev.lock")

PIN = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[a-z0-9.+]+)"
    r"(?: ; [^\\#:@]+)?"
    r"(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
)

# Written so that this file does not match itself.
UNWANTED = re.compile(r"(?<![\w~.])/(?:work/|farm\b)|https?://\S*/simple\b|py(?:pi|thonhosted)\.org")


def listed() -> list[Path]:
    """List what is tracked or would be, relative to the root."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-coz", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    return [Path(name) for name in names if name and (ROOT / name).is_file()]


def pins(lock: str) -> dict[str, re.Match[str]]:
    lines = (ROOT / lock).read_text().replace(" \\\n   ", "").splitlines()
    found = {line: PIN.fullmatch(line) for line in lines}
    assert [line for line, pin in found.items() if not pin] == []
    return {pin["name"]: pin for pin in found.values() if pin}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(tmp_path: Path) -> None:
    for file in listed():
        (tmp_path / "tree" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / "tree" / file)
    command = [sys.executable, "-P", "-m", "build", "--wheel", "--no-isolation", "--outdir", "wheel", "tree"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr

    (wheel,) = (tmp_path / "wheel").iterdir()
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == {f"ogcode/{file.as_posix()}" for file in listed() if file.parts[0] in PACKAGES}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_every_line_by_hash_and_names_no_place(lock: str) -> None:
    assert pins(lock)
    assert "://" not in (ROOT / lock).read_text()


def test_the_development_lock_holds_the_whole_runtime_lock() -> None:
    development = pins(LOCKS[1])
    for name, pin in pins(LOCKS[0]).items():
        assert (development[name]["version"], development[name]["hashes"]) == (pin["version"], pin["hashes"])


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_meets_what_the_project_asks_for(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = project["project"]["dependencies"] + project["build-system"]["requires"]
    if lock == LOCKS[1]:
        asked += project["dependency-groups"]["dev"]
    locked = pins(lock)
    unmet = [
        text
        for text in asked
        for wanted in [Requirement(text)]
        if wanted.name not in locked or locked[wanted.name]["version"] not in wanted.specifier
    ]
    assert unmet == []


def test_no_file_names_a_place_on_one_machine_or_a_package_index() -> None:
    contents = {file: (ROOT / file).read_bytes() for file in listed() if not file.name.endswith(".lock")}
    texts = {file: content.decode(errors="replace") for file, content in contents.items() if b"\0" not in content}
    assert {str(file): found.group() for file, text in texts.items() if (found := UNWANTED.search(text))} == {}


def test_the_import_contracts_hold() -> None:
    command = [f"{sysconfig.get_path('scripts')}/lint-imports", "--no-cache"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
