"""Commands that hide what they do, by the id of their case, each with others of its kind: the least is a question."""

import json
from pathlib import Path

import pytest

from ogcode.agent.commands.ground import Ground
from ogcode.agent.rights.matching import rule_for
from ogcode.agent.rights.permissions import Mode, Rules, decide
from ogcode.agent.tools.preview import preview
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall

RULES = Rules(allow=tuple(f"Bash({name}:*)" for name in ("ls", "cat", "echo", "grep", "rg", "find", "sed -n")))
"""The user lets these be run without a question."""

ASKS = {
    "SH-01": ["ls; touch canary", "ls;touch canary", "ls ;;touch canary", "ls | touch canary", "ls |& touch canary"],
    "SH-02": ["ls && touch canary || true", "ls || touch canary", "! touch canary", "ls && (touch canary)"],
    "SH-03": ["ls\ntouch canary", "ls\n\n\ttouch canary\n", "ls \\\n; touch canary", "ls #\ntouch canary"],
    "SH-04": ["ls\rtouch canary", "ls\x0btouch canary", "ls\x0ctouch canary", "ls\x85touch canary", "ls\x1b[2K"],
    "SH-05": ["ls & touch canary", "ls& touch canary&", "coproc touch canary", "ls &\ntouch canary"],
    "SH-06": ["echo $(touch canary)", "echo $( touch canary )x", "echo ${x:-$(touch canary)}", "echo $((`touch a`))"],
    "SH-07": ['echo "`touch canary`"', "echo `touch canary`", 'ls "$(touch canary)"', 'cat "a`touch canary`"'],
    "SH-08": ["cat <(touch canary)", "ls > >(touch canary)", "cat < <(touch canary)", "grep x <(touch canary)"],
    "SH-09": ["cat <<E\n$(touch canary)\nE", "cat <<-E\n\t`touch canary`\n\tE", "cat <<< $(touch canary)"],
    "SH-10": ["LD_PRELOAD=./x.so ls", "PATH=.:$PATH ls", "BASH_ENV=x ls", "IFS=x ls", "a=1", "a[$(touch b)]=1 ls"],
    "SH-11": ["PAGER='touch canary' GIT_PAGER='touch canary' ls", "GIT_EXTERNAL_DIFF=x ls", "export PAGER=x"],
    "SH-12": [
        "find . -name x -exec touch canary \\;",
        *(f"find . {flag} canary" for flag in ("-execdir", "-ok", "-okdir", "-fprint", "-fls", "-fprint0")),
        "find . -delete",
        "find . -fprintf canary x",
        "find . -files0-from x",
    ],
    "SH-13": [
        "sed -n '1e touch canary' README.md",
        "sed -n 's/x/id/e' README.md",
        "sed -n 'w canary' README.md",
        "sed -n 's/a/b/w canary' README.md",
        "sed -n -i p README.md",
        "sed -n --in-place p README.md",
        "sed -n -f script README.md",
        "sed -n '1{e touch canary' -e '}' README.md",
        "sed -n 'R /etc/passwd' README.md",
        "sed -n -s -E --expression='1e id' README.md",
    ],
    "SH-14": ["git -c core.fsmonitor='touch canary' status", "git -c alias.x='!id' x", "git --config-env=a=b status"],
    "SH-15": ["git log --output=canary -1", "git diff --output canary", "git show --out=canary", "git format-patch -1"],
    "SH-16": ["git grep -O'touch canary' .", "git grep --open-files-in-pager=id x", "git grep -Oid x"],
    "SH-17": [
        "rg --pre ./x.sh pattern",
        "rg --pre=./x.sh pattern",
        "rg --hostname-bin ./x.sh pattern",
        "rg --search-zip pattern",
        "rg -z pattern",
        "rg -nz pattern",
        "rg --pre-glob '*' --pre x y",
    ],
    "SH-18": ["l\\s; t'o'uch canary", "'touch' canary", '"to"uch canary', "\\touch canary", "to''uch canary"],
    "SH-19": ["$'\\x74ouch' canary", "$'touch' canary", "ls $'\\x2e\\x2e'", '$"touch" canary'],
    "SH-20": ["{touch,canary}", "{touch,canary}x", "ls {a,b}", "echo {1..9999999}", "{ touch canary; }"],
    "SH-21": ["x='$(touch canary)'; echo ${x@P}", "echo ${x:=y}", "echo ${!x}", "echo ${x/a/b}", "echo $x", "ls $*"],
    "SH-22": ["test -v 'a[$(touch canary)]'", "[ -v 'a[$(touch canary)]' ]", "test -n x -a -v 'a[$(id)]'", "let a=1"],
    "SH-23": ["[[ 'a[$(touch canary)]' -eq 0 ]]", "(( a[$(touch canary)] ))", "echo $(( a[0] ))", "declare a=1"],
    "SH-24": [
        "echo x > ../out",
        "echo x >| f",
        "cat a 1<> b",
        "echo x >> f",
        "echo x &> f",
        "echo x >& f",
        "ls 3> f",
        "cat < ../x",
        "echo x > /dev/tcp/127.0.0.1/1",
    ],
    "SH-25": [";".join(["ls"] * 50 + ["touch canary"]), ";".join(["ls"] * 500 + ["touch canary"])],
    "SH-26": [f"ls{' ' * 10_000}; touch canary", f"ls{chr(9) * 300}; touch canary", f"ls {'a' * 10_000}"],
    "SH-27": [
        *(f"{name} touch canary" for name in ("timeout 1", "nohup", "nice", "setsid", "stdbuf -o0", "sudo", "xargs")),
        "env -S 'touch canary'",
        *(f"{name} ls" for name in ("env", "command", "exec", "builtin", "time", "watch", "ionice", "chroot .")),
    ],
    "SH-28": [
        *(f"{name} 'ls'" for name in ("bash -c", "sh -c", "python -c", "python3 -c", "node -e", "perl -e", "eval")),
        "awk 'BEGIN{system(\"touch canary\")}'",
        "php -r 1",
        "ruby -e 1",
        "busybox sh",
    ],
    "SH-29": [
        "cat /etc/passwd",
        "cat ~/.ssh/id_ed25519",
        "cat ../x",
        "ls -la /root",
        "head ~root/x",
        "cat //etc/passwd",
    ],
    "SH-31": ["ls\u00a0-la", "ls\u200b", "ls \u202efoo", "l\u0455", "ls \u2066x", "ls \U000e0041", "ls\u3000-la"],
    "SH-34": [
        "grep -f /etc/shadow x",
        "grep -r key /",
        "grep --file=/x y",
        "rg -f/x y",
        "rg --ignore-file /x y",
        "grep -R k .",
    ],
}
DENIED = {
    "SH-30": [
        'rm -rf "$UNSET/"',
        "rm -rf ~",
        "rm -rf .git",
        "rm -rf /",
        "rm -fr -- /*",
        "rm -r --force $HOME",
        "sudo rm -rf /",
        "ls; rm -rf ..",
        "rm -Rf ./.git/",
        "rm --recursive .ogcode",
        "r\\m -rf ~",
        "xargs rm -rf /",
        "bash -c 'rm -rf ~'",
        "rm -rf ${HOME}/*",
        ":(){ :|:& };:",
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
    ],
}


def rows(cases: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, command) for name, commands in cases.items() for command in commands]


def ids(row: tuple[str, str]) -> str:
    return row[0]


def decided(command: str, folder: Path, mode: Mode = "ask", *, rules: Rules = RULES, sandboxed: bool = False) -> str:
    call = ToolCall("1", "bash", json.dumps({"command": command}))
    ground = Ground(folder, "/usr/local/bin:/usr/bin:/bin")
    return decide(call, "run", mode=mode, rules=rules, trusted=True, sandboxed=sandboxed, ground=ground).kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("words\n")
    return tmp_path


@pytest.mark.parametrize("row", rows(ASKS), ids=ids)
def test_what_hides_a_command_is_asked_for(folder: Path, row: tuple[str, str]) -> None:
    assert decided(row[1], folder) == "ask"


@pytest.mark.parametrize("row", rows(ASKS), ids=ids)
def test_in_plan_mode_it_does_not_run(folder: Path, row: tuple[str, str]) -> None:
    assert decided(row[1], folder, "plan") == "deny"


@pytest.mark.parametrize("mode", ["plan", "ask", "edit", "auto"])
@pytest.mark.parametrize("row", rows(DENIED), ids=ids)
def test_what_nobody_wants_is_denied(folder: Path, row: tuple[str, str], mode: Mode) -> None:
    assert decided(row[1], folder, mode, rules=Rules(allow=("Bash",)), sandboxed=True) == "deny"


@pytest.mark.parametrize("command", [*ASKS["SH-04"], "ls\u200b", "ls \u202efoo", "ls \u2066x", "ls \U000e0041"])
def test_even_in_the_sandbox_what_is_not_seen_is_asked_for(folder: Path, command: str) -> None:
    assert decided(command, folder, "auto", sandboxed=True) == "ask"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls\rtouch canary", "ls\ufffdtouch canary"),
        (f"ls{' ' * 10_000}; touch canary", "ls <10,000 blanks> ; touch canary"),
        ("ls\u00a0-la; ls\u200b\u3000", "ls<U+00A0>-la; ls<U+200B><U+3000>"),
        ("echo \u202ecba", "<U+202E>"),
        ("echo \u2066x\U000e0041", "<U+2066>x<U+E0041>"),
        ("ls; touch a && touch b\ntouch c", "touch c"),
    ],
)
def test_the_dialog_shows_all_of_it(folder: Path, command: str, shown: str) -> None:
    told = preview(Workspace(folder), ToolCall("1", "bash", json.dumps({"command": command})))
    assert shown in told


@pytest.mark.parametrize(
    "after", ["npm test -- --reporter=./evil.js", "npm test2", "npm test; touch x", "npm  test\nid"]
)
def test_sh32_a_rule_that_was_given_for_one_command_allows_no_other(folder: Path, after: str) -> None:
    rule = rule_for(ToolCall("1", "bash", json.dumps({"command": "npm test"})))
    assert decided("npm test", folder, rules=Rules(allow=(rule,))) == "allow"
    assert decided(after, folder, rules=Rules(allow=(rule,))) == "ask"
