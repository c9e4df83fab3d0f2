import json
import os
import subprocess
from pathlib import Path

import pytest
from ordinary import CHANGING, READING, lines

from ogcode.agent.commands.git import PROTECTED
from ogcode.agent.commands.ground import Ground
from ogcode.agent.rights.permissions import Mode, Rules, decide
from ogcode.agent.tools.shell import child_environment
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall

SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository with a history, something changed and something outside."""
    top = tmp_path_factory.mktemp("work") / "repo"
    (top / "src").mkdir(parents=True)
    (top / "tests").mkdir()
    (top.parent / "outside").mkdir()
    (top.parent / "outside" / "secret.py").write_text("key = 1\n")
    (top / "README.md").write_text("add: adds\nmain: foo\n")
    (top / "package.json").write_text('{"scripts": {"test": "true"}}\n')
    (top / "src" / "app.py").write_text("import os\n\n\ndef add(a, b):  # TODO\n    return a - b\n")
    git(top, "init", "-q", "-b", "main")
    for message in ("first", "second"):
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", message)
        (top / "src" / "app.py").write_text("import os\n\n\ndef add(a, b):  # TODO\n    return a + b\n")
    (top / "README.md").write_text("add: adds\nmain: foo bar\n")
    (top / "link").symlink_to(top.parent / "outside")
    return top


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


def decided(
    command: str, folder: Path, mode: Mode = "ask", *, rules: Rules | None = None, sandboxed: bool = False
) -> str:
    call = ToolCall("1", "bash", json.dumps({"command": command}))
    ground = Ground(folder, SAFE_PATH)
    return decide(call, "run", mode=mode, rules=rules or Rules(), trusted=True, sandboxed=sandboxed, ground=ground).kind


@pytest.mark.parametrize("mode", ["plan", "ask", "edit", "auto"])
def test_ordinary_reading_needs_no_question(folder: Path, mode: Mode) -> None:
    assert [each for each in lines(READING) if decided(each, folder, mode) != "allow"] == []


def test_what_is_built_tested_or_changed_is_asked_for(folder: Path) -> None:
    assert [each for each in lines(CHANGING) if decided(each, folder) != "ask"] == []


def test_in_auto_a_strong_sandbox_leaves_nothing_to_ask(folder: Path) -> None:
    every = lines(READING) + lines(CHANGING)
    assert len(every) >= 200
    assert [each for each in every if decided(each, folder, "auto", sandboxed=True) != "allow"] == []


def test_what_needs_no_question_writes_nothing(folder: Path) -> None:
    environ = child_environment({"PATH": SAFE_PATH, "HOME": str(folder.parent)}, Workspace(folder), trusted=True)
    os.utime(folder / "package.json", (1, 1))  # git's index is stale now: a diff would write it anew
    before = everything(folder.parent)
    for command in lines(READING):
        line = ["/bin/bash", "--noprofile", "--norc", "-c", command]
        subprocess.run(line, cwd=folder, env={**environ, **PROTECTED}, stdin=subprocess.DEVNULL, capture_output=True)
        assert everything(folder.parent) == before, command


def everything(folder: Path) -> list[tuple[str, int, int]]:
    found = (Path(place, name) for place, folders, names in os.walk(folder) for name in (*folders, *names))
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in found)


HIDDEN = r"""
ls; touch canary
ls && touch canary || true
ls & touch canary
ls | tee canary
echo $(touch canary)
echo "`touch canary`"
cat <(touch canary)
LD_PRELOAD=./x.so ls
PAGER='touch canary' GIT_PAGER='touch canary' git log
find . -name x -exec touch canary \;
find . -execdir touch canary +
find . -ok touch canary \;
find . -delete
find . -fprint canary
find . -fls canary
find . -fprintf canary x
find -L . -name x
sed -n '1e touch canary' README.md
sed 's/x/touch canary/e' README.md
sed -n 'w canary' README.md
sed 's/a/b/w canary' README.md
sed -i s/a/b/ README.md
sed -n --in-place=.bak p README.md
sed -ni p README.md
sed -f script README.md
sed -n 'r /etc/passwd' README.md
sed -n '/[/]w canary;/p' README.md
sed '1!{p;w canary' README.md
git -c core.fsmonitor='touch canary' status
git --exec-path=. status
git log --output=canary -1
git diff --output canary
git diff --ext-diff
git log -p --textconv
git diff --no-index README.md /etc/passwd
git grep -O'touch canary' .
git grep --open-files-in-pager=touch x
git -C .. status
git -C /tmp log
git --git-dir=/tmp/x status
git branch new
git branch -d main
git branch -m other
git tag v1
git tag -d v1
git remote add x y
git remote show origin
git stash
git stash drop
git config user.name x
git config --unset user.name
git config --file /etc/passwd --list
git reflog expire --all
git show --show-signature
git ls-files -X /etc/passwd
git blame --contents /etc/passwd src/app.py
git diff /etc/passwd README.md
git cat-file --textconv HEAD:README.md
git fetch
git status; touch canary
git rev-parse HEAD && npm test
rg --pre ./x.sh pattern
rg --pre=./x.sh pattern
rg --hostname-bin=./x.sh pattern
rg -z pattern
rg -L pattern
rg --search-zip pattern
fd -x touch canary
fd -l
l\s; t'o'uch canary
$'\x74ouch' canary
{touch,canary}
x='$(touch canary)'; echo ${x@P}
test -v 'a[$(touch canary)]'
test 'a[$(touch canary)]' -eq 0
[[ 'a[$(touch canary)]' -eq 0 ]]
[ -v 'a[$(touch canary)]' ]
printf -v 'a[$(touch canary)]' x
printf '%n' 'a[$(touch canary)]'
let 'a[$(touch canary)]=1'
echo x > ../out
echo x > canary
echo x >> canary
echo x >| canary
echo x &> canary
cat a 1<> b
cat < /etc/passwd
cat <<< "$HOME"
env -S 'touch canary'
env ls
printenv | env touch canary
timeout 1 touch canary
timeout 1 ls
nohup touch canary
nice ls
time ls
command ls
builtin echo x
exec ls
xargs ls
watch ls
eval ls
trap 'touch canary' EXIT
. ./x.sh
source x.sh
bash -c 'ls'
sh -c ls
python -c 'print(1)'
node -e 1
perl -e 1
awk 'BEGIN{system("touch canary")}'
awk '{print > "canary"}' README.md
awk '{print | "touch canary"}' README.md
awk '{"touch canary" | getline}' README.md
awk '/[/ && "]" == $1 && /system("touch canary")/' README.md
awk -f x.awk README.md
awk -v x=1 -f /dev/stdin README.md
awk '{print}' -f x.awk
cat /etc/passwd
cat ~/.ssh/id_ed25519
cat ../outside/secret.py
cat link/secret.py
cat link/*
cat */secret.py
head -n 1 src/../../outside/secret.py
cd link && cat secret.py
cd .. && ls
cd src && cat ../../outside/secret.py
cd - && ls
cd && ls
cat .*
cat {README.md,/etc/passwd}
cat $HOME/x
cat ${HOME}
grep -f /etc/shadow x
grep -f/etc/shadow x
grep --file=/etc/shadow x
grep -r key /
grep -R key .
grep -rn key link
wc --files0-from=/etc/passwd
sort -o canary README.md
sort --output=canary README.md
sort --compress-program=./x README.md
sort -T /tmp README.md
sort --files0-from=x
uniq README.md canary
tree -o canary
tree -R
tree -l
xxd README.md canary
xxd -r README.md
file -m ./magic README.md
file -C -m x
date -s 2020-01-01
date 010112002020
date -f /etc/passwd
hostname evil
diff -r src link
diff src link
jq -f prog.jq package.json
jq 'include "x"; .' package.json
jq -L . . package.json
tee canary
ps e
ps auxe
cargo --version; touch canary
./ls
/bin/ls
src/app.py
tail -f README.md
less README.md
man ls
vim -c '!touch canary' README.md
make
make -n
ssh -o ProxyCommand='touch canary' x
dd if=README.md of=canary
cp README.md canary
ln -s README.md canary
install README.md canary
declare -a 'a[$(touch canary)]'
(( a[$(touch canary)] ))
echo $(( a[$(touch canary)] ))
echo $[1]
ls ~root
export PS4='$(touch canary)'; set -x; ls
function ls { touch canary; }; ls
ls() { touch canary; }; ls
alias ls='touch canary'
coproc touch canary
! touch canary
if true; then touch canary; fi
( touch canary )
{ touch canary; }
""".replace("\\\n", "")


def test_what_could_do_more_than_read_is_asked_for(folder: Path) -> None:
    assert [each for each in lines(HIDDEN) if decided(each, folder) == "allow"] == []


READERS = ("ls*", "cat:*", "echo *", "grep*", "rg *", "find *", "sed -n*", "awk *", "sort*", "uniq*", "xxd*", "diff*")


def test_a_rule_that_allows_to_read_allows_no_more(folder: Path) -> None:
    rules = Rules(allow=tuple(f"Bash({each})" for each in READERS))
    assert [each for each in lines(HIDDEN) if decided(each, folder, rules=rules) == "allow"] == []


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("sed -i *", "sed -i s/a/b/ README.md"),
        ("cat /var/log/*", "cat /var/log/syslog"),
        ("find . -delete", "find . -delete"),
        ("git *", "git commit -m x"),
        ("grep*", "grep -rn x src"),
        ("*", "cat /etc/passwd"),
    ],
)
def test_a_rule_that_says_more_than_to_read_is_kept_to(folder: Path, rule: str, command: str) -> None:
    assert decided(command, folder, rules=Rules(allow=(f"Bash({rule})",))) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ls\ntouch canary",
        "ls\rtouch canary",
        "ls;" * 50 + "touch canary",
        "ls" + " " * 10_000 + "; touch canary",
        "echo " + "x" * 10_001,
        "cat <<E\n$(touch canary)\nE",
        "ls\u00a0-la",
        "ls \u200b",
        "ls \u202etxt",
        "ls \U000e0041",
        "ls \x1b[8m",
        "echo \\\ncanary; touch canary",
        "ec\\\nho x",
        "cat README.md\\\n/../../outside/secret.py",
        "ls \x00",
        "",
        " ",
        "\n",
    ],
)
def test_what_can_not_be_seen_or_read_at_once_is_asked_for(folder: Path, command: str) -> None:
    assert decided(command, folder) == "ask"


def test_a_hidden_character_is_asked_for_in_a_sandbox_too(folder: Path) -> None:
    assert decided("make \u202etxt", folder, "auto", sandboxed=True) == "ask"


FRONTS = ("zz", "env", "sudo", "nice -n 5", "strange --flag --", "FOO=1", "time", "x |", "!", "(")
BEHINDS = ("; touch x", " && touch x", " | touch x", "\ntouch x", " & touch x", " > x", " $(touch x)")


@pytest.mark.parametrize("front", FRONTS)
def test_nothing_in_front_turns_a_question_into_a_permission(folder: Path, front: str) -> None:
    rules = Rules(allow=("Bash(npm test*)",), deny=("Bash(rm *)",))
    commands = [f"{front} {each}" for each in (*lines(READING)[::5], *lines(CHANGING)[::6], *lines(HIDDEN)[::5])]
    assert [each for each in commands if decided(each, folder, rules=rules) == "allow"] == []


@pytest.mark.parametrize("behind", BEHINDS)
def test_nothing_that_is_appended_goes_unasked(folder: Path, behind: str) -> None:
    rules = Rules(allow=("Bash(npm test)", "Bash(make)"))
    commands = [f"{each}{behind}" for each in (*lines(READING)[::3], "npm test", "make") if "#" not in each]
    assert [each for each in commands if decided(each, folder, rules=rules) == "allow"] == []


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("npm test 2>&1 | tail -20", "allow"),
        ("cd src && npm test", "allow"),
        ("npm test && git status", "ask"),
        ("npm test; npm publish", "ask"),
        ("npm test > out.txt", "ask"),
        ("npm test $(touch x)", "ask"),
        ("npm test -- --reporter=./evil.js", "ask"),
    ],
)
def test_a_rule_and_reading_add_up_but_cover_nothing_else(folder: Path, command: str, kind: str) -> None:
    assert decided(command, folder, rules=Rules(allow=("Bash(npm test)",))) == kind


def test_a_path_that_may_not_be_read_is_not_read_by_a_command_either(folder: Path) -> None:
    rules = Rules(deny=("Read(./.env)", "Read(secrets/**)"))
    for command in (
        "cat .env",
        "head -5 secrets/key",
        "cat < .env",
        "cat src/../.env",
        "grep -r x .",
        "rg x",
        "git diff",
    ):
        assert decided(command, folder, rules=rules) == "ask", command
    for command in ("cat README.md", "ls -la", "find . -name '*.py'"):
        assert decided(command, folder, rules=rules) == "allow", command


def test_a_command_is_asked_for_where_a_rule_asks(folder: Path) -> None:
    rules = Rules(allow=("Bash",), ask=("Bash(git push*)", "Bash(cat *)"))
    assert decided("git push -f", folder, rules=rules) == "ask"
    assert decided("cat README.md", folder, rules=rules) == "ask"
    assert decided("ls && git push", folder, "auto", rules=rules, sandboxed=True) == "ask"
    assert decided("git commit -m x", folder, rules=rules) == "allow"


def test_a_program_of_the_workspace_is_never_taken_for_one_that_only_reads(folder: Path) -> None:
    planted = folder / "bin" / "cat"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\ntouch canary\n")
    planted.chmod(0o755)
    call = ToolCall("1", "bash", json.dumps({"command": "cat README.md"}))
    here = Ground(folder, f"{planted.parent}:{SAFE_PATH}")
    assert decide(call, "run", mode="ask", rules=Rules(), trusted=True, ground=here).kind == "ask"


@pytest.fixture
def added(folder: Path, tmp_path: Path) -> Path:
    """A folder beside the workspace that is open as well, with a link that leads out of it."""
    added = tmp_path / "added"
    (added / "sub").mkdir(parents=True)
    (added / "sub" / "lib.py").write_text("def lib():\n    pass\n")
    (added / "README.md").symlink_to(folder.parent / "outside")
    return added


def decided_beside(command: str, folder: Path, added: Path, *deny: str) -> str:
    call = ToolCall("1", "bash", json.dumps({"command": command.replace("ADDED", str(added))}))
    ground = Ground(folder, f"{added}:{SAFE_PATH}", beside=(added,))
    return decide(call, "run", mode="ask", rules=Rules(deny=deny), trusted=True, ground=ground).kind


@pytest.mark.parametrize(
    "command",
    [
        "cat ADDED/sub/lib.py",
        "cat ADDED/sub/*.py | head -n 3",
        "grep -rn lib ADDED/sub",
        "cat ADDED/sub/../sub/lib.py src/app.py",
        "cd ADDED/sub && cat lib.py",
        "ls -la ADDED",
    ],
)
def test_to_read_in_an_added_folder_needs_no_question(folder: Path, added: Path, command: str) -> None:
    assert decided_beside(command, folder, added) == "allow"
    assert decided(command.replace("ADDED", str(added)), folder) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat ADDED/README.md",
        "cat ADDED/../outside",
        "cat ADDED/../*",
        "cd ADDED && cat README.md",
        "cd ADDED && touch x",
        "rm ADDED/sub/lib.py",
    ],
)
def test_what_leads_out_of_an_added_folder_or_changes_it_is_asked_for(folder: Path, added: Path, command: str) -> None:
    assert decided_beside(command, folder, added) == "ask"


def test_a_program_of_an_added_folder_is_not_taken_for_one_that_only_reads(folder: Path, added: Path) -> None:
    (added / "cat").write_text("#!/bin/sh\n")
    (added / "cat").chmod(0o755)
    assert decided_beside("cat src/app.py", folder, added) == "ask"


def test_what_may_not_be_read_of_an_added_folder_is_asked_for(folder: Path, added: Path) -> None:
    rule = f"Read({added}/sub/**)"
    assert decided_beside("cat ADDED/sub/lib.py", folder, added, rule) == "ask"
    assert decided_beside("cd ADDED && rg lib", folder, added, rule) == "ask"


def test_a_name_that_looks_like_a_flag_is_judged_as_the_shell_would_give_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "-o").touch()
    (tmp_path / "a.txt").touch()
    assert decided("sort *.txt", tmp_path) == "allow"
    assert decided("sort *", tmp_path) == "ask"


def test_where_no_folder_is_known_nothing_is_known_to_only_read() -> None:
    call = ToolCall("1", "bash", json.dumps({"command": "ls"}))
    assert decide(call, "run", mode="ask", rules=Rules(), trusted=True).kind == "ask"


def test_an_untrusted_folder_is_not_even_read_by_a_command(folder: Path) -> None:
    call = ToolCall("1", "bash", json.dumps({"command": "git status"}))
    ground = Ground(folder, SAFE_PATH)
    assert decide(call, "run", mode="auto", rules=Rules(), trusted=False, sandboxed=True, ground=ground).kind == "ask"


@pytest.mark.parametrize(("command", "kind"), [("", "allow"), ("stop", "allow"), ("touch x", "ask")])
def test_a_job_in_the_background_is_followed_and_ended_without_a_question(command: str, kind: str) -> None:
    call = ToolCall("1", "bash", json.dumps({"command": command, "job": "server"}))
    assert decide(call, "run", mode="ask", rules=Rules(), trusted=True).kind == kind
