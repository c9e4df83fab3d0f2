"""A run where little of what a user has is there: what happens, in words."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_server import Body, Reply, Say
from stage_cli import OGCODE, Place, Serve, model_of, role_of

ANOTHER = "setpriv --reuid 65534 --regid 65534 --clear-groups"


def script(body: Body) -> Reply:
    return Say("fine" if role_of(body) == "agent" else "short")


def run(place: Place, line: str, environ: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/bash", "-c", line.replace("$O", f"{OGCODE} -p go")],
        cwd=place.folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("line", "environ", "out", "said"),
    [
        ("$O", {}, "fine\n", ""),
        ("$O", {"PATH": "/usr/bin:/bin"}, "fine\n", ""),
        ("$O", {"HOME": "/proc/nowhere"}, "fine\n", "/proc/nowhere/.ogcode can't be written"),
        ("setsid --wait $O", {"PATH": "/usr/bin:/bin", "HOME": "."}, "fine\n", ""),
        ("$O --output-format json <&- 2>&- | grep -c success", {"PATH": "/usr/bin:/bin", "HOME": "."}, "1\n", ""),
        ("$O <&- >&- 2>&-", {"HOME": "."}, "", ""),
    ],
    ids=["env -i", "no HOME", "a HOME that can't be", "no terminal", "closed stdin and stderr", "all closed"],
)
def test_a_run_needs_little_of_what_a_user_has(
    place: Place, serve: Serve, tmp_path: Path, line: str, environ: dict[str, str], out: str, said: str
) -> None:
    # Without a HOME the account's own would be written to.
    own = {} if "HOME" in environ else {"OGCODE_HOME": str(tmp_path / "home")}
    home = {"HOME": str(tmp_path)} if environ.get("HOME") == "." else {}
    done = run(place, line, {**environ, **own, **home, **model_of(serve(script))})
    assert (done.returncode, done.stdout) == (0, out), done.stderr
    assert said in done.stderr
    assert said or not done.stderr


def test_without_a_terminal_and_without_a_prompt_it_is_said_how_to_give_one(place: Place) -> None:
    done = subprocess.run(
        ["setsid", "--wait", OGCODE],
        cwd=place.folder,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, 'ogcode -p "what to do"' in done.stderr) == (42, "", True)


only_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can be another user")


@only_root
@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        ("", 0, "can't be written (Permission denied); this session is not remembered"),
        ("--memory off", 0, "belongs to another user"),
        ("--trust", 2, "config.toml: can't be read"),
    ],
)
def test_another_user_works_in_a_checkout_whose_memory_he_may_not_read(
    place: Place, serve: Serve, tmp_path: Path, flags: str, code: int, said: str
) -> None:
    environ = {**place.environ, **model_of(serve(script))}
    assert run(place, "$O", environ).returncode == 0
    home = tmp_path / "theirs"
    home.mkdir()
    os.chown(home, 65534, 65534)
    for folder in (*list(place.folder.parents)[:-2], place.folder):
        folder.chmod(0o755)
    done = run(place, f"{ANOTHER} $O {flags}", {**environ, "HOME": str(home), "OGCODE_HOME": str(home / ".ogcode")})
    assert (done.returncode, done.stdout) == (code, "" if code else "fine\n"), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@only_root
@pytest.mark.parametrize(
    ("closed", "command", "shown", "said"),
    [
        (".", "memory list", "", "memory is empty here"),
        (".", "memory list --forgotten", "", "which notes are gone is not known"),
        (".", "memory status", "notes: 0", "it is as if there were no memory and no sessions here"),
        (".", "stats", "", "can't be read (Permission denied)"),
        (".", "sessions", "", "can't be read (Permission denied)"),
        ("undo", "memory list", "By hand", ".ogcode: undo can't be read (Permission denied) and is left out"),
        ("memory", "memory list", "", ".ogcode: memory can't be read (Permission denied) and is left out"),
        ("usage.jsonl", "stats", "", ".ogcode: usage.jsonl can't be read (Permission denied) and is left out"),
    ],
)
def test_another_user_is_told_what_he_may_not_read_and_is_shown_the_rest(
    place: Place, closed: str, command: str, shown: str, said: str
) -> None:
    store = place.folder / ".ogcode"
    for name in ("memory", "spool", "sessions", "undo", "locks"):
        (store / name).mkdir(parents=True)
    (store / "memory" / "by-hand.md").write_text("# By hand\n\nTopics: zebra\n", "utf-8")
    (store / "usage.jsonl").write_text("{}\n", "utf-8")
    for folder in list(place.folder.parents)[:-2]:
        folder.chmod(0o755)
    for each in (place.folder, *place.folder.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)
    (store / closed).chmod(0o700 if (store / closed).is_dir() else 0o600)
    trust = {} if closed == "." else {"OGCODE_TRUST": "1"}
    done = run(place, f"{ANOTHER} {OGCODE} {command}", place.environ | trust)
    assert (done.returncode, said in done.stderr, shown in done.stdout) == (0, True, True), done.stderr
    assert "can't be read (Permission denied)" in done.stderr
