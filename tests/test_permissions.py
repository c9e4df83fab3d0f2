import json
import time

import pytest

from ogcode.agent.rights.matching import rule_for
from ogcode.agent.rights.permissions import Decision, Denial, Mode, Rules, decide, policy
from ogcode.agent.tool import Effect, Tool, ToolError, tool
from ogcode.agent.turn import ToolCall, Verdict


def bash(command: str) -> ToolCall:
    return ToolCall("1", "bash", json.dumps({"command": command}))


def on(name: str, path: str) -> ToolCall:
    return ToolCall("1", name, json.dumps({"path": path}))


FREE = Rules()


def kind(
    call: ToolCall, effect: Effect | None = "run", mode: Mode = "ask", rules: Rules = FREE, *, trusted: bool = True
) -> str:
    return decide(call, effect, mode=mode, rules=rules, trusted=trusted).kind


@pytest.mark.parametrize(
    ("mode", "read", "write", "run"),
    [
        ("plan", "allow", "deny", "deny"),
        ("ask", "allow", "ask", "ask"),
        ("edit", "allow", "allow", "ask"),
        ("auto", "allow", "allow", "ask"),
        ("yolo", "allow", "allow", "allow"),
    ],
)
def test_modes(mode: Mode, read: str, write: str, run: str) -> None:
    assert kind(on("read", "a"), "read", mode) == read
    assert kind(on("edit", "a"), "write", mode) == write
    assert kind(bash("make"), "run", mode) == run


@pytest.mark.parametrize("mode", ["ask", "edit", "auto", "yolo"])
def test_in_an_untrusted_folder_every_change_and_command_is_asked_for(mode: Mode) -> None:
    rules = Rules(allow=("Bash", "Edit"))
    assert kind(on("read", "a"), "read", mode, rules, trusted=False) == "allow"
    assert kind(on("edit", "a"), "write", mode, rules, trusted=False) == "ask"
    assert kind(bash("make"), "run", mode, rules, trusted=False) == "ask"


@pytest.mark.parametrize("mode", ["ask", "edit", "auto", "yolo"])
def test_an_unknown_tool_is_asked_for(mode: Mode) -> None:
    assert kind(ToolCall("1", "approve_all", "{}"), None, mode, Rules(allow=("approve_all",))) == "ask"


def test_auto_says_that_there_is_no_sandbox() -> None:
    assert "no sandbox" in decide(bash("ls"), "run", mode="auto", rules=Rules(), trusted=True).why


ALLOWED = Rules(allow=("Bash(ls*)", "Bash(npm test*)", "Bash(git:*)", "bash(echo *)", "Bash(make)", "Bash(cat *.py)"))


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la src",
        "npm test",
        "npm test -- --watch",
        "git",
        "git status",
        "echo a b",
        "make",
        " make ",
        "cat x.py",
    ],
)
def test_an_allow_rule_lets_one_simple_command_run(command: str) -> None:
    assert kind(bash(command), rules=ALLOWED) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls; touch canary",
        "ls && touch canary || true",
        "ls\ntouch canary",
        "ls\rtouch canary",
        "ls & touch canary",
        "ls | sh",
        "echo $(touch canary)",
        'echo "`touch canary`"',
        "cat <(touch canary).py",
        "cat <<E\n$(touch canary)\nE.py",
        "LD_PRELOAD=./x.so ls",
        "l\\s; t'o'uch canary",
        "echo {touch,canary}",
        "echo ${x@P}",
        "echo x > ../out",
        "ls;" * 60 + "touch canary",
        "ls" + " " * 10_000 + "; touch canary",
        "ls " + "x" * 10_001,
        "ls\u00a0-la",
        "ls \u200b",
        "ls \u202e",
        "ls \x1b[8m",
        "gitx status",
        "make all",
        "makefile",
        "env ls",
        "sudo ls",
        "timeout 1 ls",
        "bash -c 'ls'",
        "cat x.pyc",
    ],
)
def test_an_allow_rule_lets_nothing_else_run(command: str) -> None:
    assert kind(bash(command), rules=ALLOWED) == "ask"


def test_a_bare_rule_allows_any_command_that_hides_nothing() -> None:
    rules = Rules(allow=("Bash",))
    assert kind(bash("cd src && make | tail -5"), rules=rules) == "allow"
    assert kind(bash("ls \u202e"), rules=rules) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls; rm x",
        "ls && rm x",
        "ls | rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "(rm x)",
        "{ rm x; }",
        "cat <(rm x)",
        "FOO=1 rm x",
        "sudo rm x",
        "env -i FOO=1 nice -n 5 rm x",
        "timeout 5 rm x",
        "/bin/rm x",
        "sudo /bin/rm x",
        "r'm' x",
        "\\rm x",
        "bash -c 'rm x'",
        "xargs -0 rm x",
        "if true; then rm x; fi",
        "rm    x",
    ],
)
def test_a_deny_rule_finds_its_command_wherever_it_stands(command: str) -> None:
    rules = Rules(allow=("Bash",), deny=("Bash(rm *)",))
    assert kind(bash(command), rules=rules) == "deny"
    assert kind(bash(command), mode="yolo", rules=rules) == "deny"


@pytest.mark.parametrize("command", ["ax rm x", "busybox rm x", "strange --flag -- rm x"])
def test_an_unknown_wrapper_never_turns_a_denied_command_into_an_allowed_one(command: str) -> None:
    assert kind(bash(command), rules=Rules(allow=("Bash",), deny=("Bash(rm *)",))) == "ask"


def test_a_deny_rule_leaves_the_rest_alone() -> None:
    rules = Rules(allow=("Bash",), deny=("Bash(rm *)", "Bash(git push*)"))
    for command in ("ls", "git status", "perform x", "npm run rm-all"):
        assert kind(bash(command), rules=rules) == "allow"
    assert kind(bash("git push -f"), rules=rules) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr / --no-preserve-root",
        "rm -r -f ~",
        "rm -rf ~/",
        "rm -rf /*",
        'rm -rf "$HOME"',
        "rm -rf ${HOME}/",
        'rm -rf "$UNSET/"',
        "rm -rf .git",
        "rm --recursive ./.git/",
        "rm -rf sub/.OGCODE".lower(),
        "cd x && sudo /bin/rm -Rf /",
        "{ rm -rf / ; }",
        "bash -c 'rm -rf /'",
        "mkfs.ext4 /dev/sda1",
        "dd if=x of=/dev/sda",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
    ],
)
def test_the_last_net_catches_what_nobody_wants(command: str) -> None:
    rules = Rules(allow=("Bash",))
    assert kind(bash(command), mode="auto", rules=rules) == "deny"
    assert kind(bash(command), mode="yolo", rules=rules) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf ./build/",
        'rm -rf "$BUILD"',
        "rm -f .gitignore",
        "rm .git/index.lock",
        "dd if=/dev/zero of=/dev/null",
        "echo 'rm -rf' /",
        "git rm -r src",
        "rm -rf /tmp/x",
    ],
)
def test_the_last_net_lets_ordinary_commands_through(command: str) -> None:
    assert kind(bash(command), rules=Rules(allow=("Bash",))) == "allow"


@pytest.mark.parametrize(
    ("rule", "name", "path", "fits"),
    [
        ("Edit(src/**)", "edit", "src/a/b.py", True),
        ("Edit(src/**)", "write", "./src/x/../a.py", True),
        ("Edit(src/**)", "edit", "src/../secret", False),
        ("Edit(src/**)", "edit", "../src/a.py", False),
        ("Edit(src/**)", "edit", "/src/a.py", False),
        ("Edit(src/**)", "edit", "x/src/a.py", False),
        ("Edit(src/)", "edit", "src/a.py", True),
        ("Edit(*.md)", "edit", "docs/a.md", True),
        ("Edit(/*.md)", "edit", "docs/a.md", False),
        ("edit", "write", "a", True),
        ("Write(a)", "write", "a", True),
        ("Write(a)", "edit", "a", False),
        ("Bash(src/**)", "edit", "src/a", False),
        ("Edit({a,b}/*)", "edit", "b/c", True),
    ],
)
def test_a_rule_for_paths(rule: str, name: str, path: str, fits: bool) -> None:
    assert (kind(on(name, path), "write", rules=Rules(allow=(rule,))) == "allow") == fits
    assert (kind(on(name, path), "write", "yolo", Rules(deny=(rule,))) == "deny") == fits


def test_a_denied_path_can_not_be_read_by_another_name() -> None:
    rules = Rules(deny=("Read(.env)",))
    assert kind(on("read", "sub/.ENV"), "read", rules=rules) == "deny"
    assert kind(on("grep", "./x/../.env"), "read", rules=rules) == "deny"
    real = {"link": ".env"}.__getitem__
    assert decide(on("read", "link"), "read", mode="ask", rules=rules, trusted=True, place=real).kind == "deny"


def test_a_place_that_is_refused_falls_back_to_its_text() -> None:
    def outside(path: str) -> str:
        raise ToolError(f"{path} is outside")

    rules = Rules(allow=("Edit(src/**)",))
    assert decide(on("edit", "x"), "write", mode="ask", rules=rules, trusted=True, place=outside).kind == "ask"


def test_memory_tools_run_in_every_mode_but_can_be_denied() -> None:
    call, tools = ToolCall("1", "remember", "{}"), frozenset({"remember"})

    def decided(rules: Rules) -> Decision:
        return decide(call, "write", mode="plan", rules=rules, trusted=False, memory_tools=tools)

    assert decided(Rules()).kind == "allow"
    assert decided(Rules(deny=("remember",))).kind == "deny"


@pytest.mark.parametrize(
    "rule", ["Bash(ls", "", "(x)", "Bash)x(", "Bash(ls) more", f"Edit({{{','.join(map(str, range(65)))}}})"]
)
def test_a_broken_rule_is_named(rule: str) -> None:
    with pytest.raises(ValueError, match="is not a rule"):
        Rules(allow=(rule,))


@pytest.mark.parametrize(
    "call", [bash("npm test"), bash("ls *.py"), bash(r"echo \*"), on("edit", "a[1].py"), on("edit", "b")]
)
def test_the_rule_for_a_call_allows_it_again_and_no_other(call: ToolCall) -> None:
    rules = Rules(allow=(rule_for(call),))
    effect: Effect = "run" if call.name == "bash" else "write"
    assert kind(call, effect, rules=rules) == "allow"
    others = [
        bash("npm test -- --reporter=./evil.js"),
        bash("ls a.py"),
        bash("echo x"),
        on("edit", "a1.py"),
        on("edit", "x/b"),
    ]
    assert all(kind(other, effect, rules=rules) == "ask" for other in others)


def test_there_is_no_rule_for_a_command_that_is_not_simple() -> None:
    assert rule_for(bash("ls | sh")) == ""


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", "null", '{"command": 3}', "[" * 100_000, '{"command": "\\ud800"}']
)
def test_arguments_that_make_no_sense_are_never_allowed(arguments: str) -> None:
    assert kind(ToolCall("1", "bash", arguments), rules=Rules(allow=("Bash(ls*)",), deny=("Bash(rm *)",))) == "ask"


@pytest.mark.parametrize("piece", ["env ", "a", ";", "x(", ": ( ) { ", "* ", "a\\", "x=1 ", "  "])
def test_a_huge_command_is_decided_quickly(piece: str) -> None:
    rules = Rules(allow=("Bash(a*b*c*d)",), deny=("Bash(rm *x*y*z)",))
    started = time.process_time()
    kind(bash(piece * (300_000 // len(piece))), rules=rules)
    assert time.process_time() - started < 3


@tool(effect="run")
async def bash_like() -> str:
    """Run."""
    return ""


def tools() -> list[Tool]:
    return [Tool(bash_like.spec.__class__("bash", "", {}), "run", bash_like.function, {})]


async def test_a_headless_run_denies_what_needs_a_person_and_says_how_to_allow_it() -> None:
    denials = list[Denial]()
    approve = policy(None, tools(), mode=lambda: "ask", rules=Rules(), trusted=True, denials=denials)
    verdict = await approve(bash("npm test"))
    assert not verdict.allowed
    assert "--allow 'Bash(npm test)'" in verdict.reason
    assert denials == [Denial(bash("npm test"), verdict.reason)]


async def test_a_headless_run_in_an_untrusted_folder_names_trust() -> None:
    approve = policy(None, tools(), mode=lambda: "yolo", rules=Rules(allow=("Bash",)), trusted=False, denials=[])
    assert "--trust" in (await approve(bash("ls"))).reason


async def test_a_person_is_asked_with_the_reason_and_decides() -> None:
    asked, denials = list[tuple[ToolCall, str]](), list[Denial]()

    async def ask(call: ToolCall, why: str) -> Verdict:
        asked.append((call, why))
        return Verdict(len(asked) == 1, "not now")

    approve = policy(
        ask, tools(), mode=lambda: "auto", rules=Rules(deny=("Bash(rm *)",)), trusted=True, denials=denials
    )
    assert (await approve(bash("make"))).allowed
    assert (await approve(bash("make"))).reason == "not now"
    assert "rule" in (await approve(bash("rm x"))).reason
    assert [call for call, _ in asked] == [bash("make")] * 2
    assert [denial.reason for denial in denials] == [
        "not now",
        "the rule 'Bash(rm *)' denies it; do it another way, or ask the user",
    ]
