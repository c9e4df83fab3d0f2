"""What lies outside the workspace is read when a person says so, each time; what may hold credentials never is."""

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.rights.beyond import Beyonds
from ogcode.agent.rights.permissions import Denial, Mode, Rules, policy
from ogcode.agent.sandbox.layout import CREDENTIALS
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.toolbox import approval
from ogcode.tui.wiring import open_session

WORD = "MARMALADE"


@dataclass
class Person:
    """Says the same to everything."""

    verdict: Verdict = Verdict(True)  # noqa: RUF009  # frozen
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, call: ToolCall, why: str) -> Verdict:
        self.asked.append((call.name, why))
        return self.verdict


@pytest.fixture
def here(tmp_path: Path) -> Here:
    for name in ("ws", "ws-evil", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "ws-evil" / "other.txt").write_text(f"{WORD}\n")
    (tmp_path / "ws" / "link").symlink_to(tmp_path / "ws-evil")
    environ = {"HOME": str(tmp_path / "home"), "OGCODE_HOME": str(tmp_path / "settings"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "ws", environ, utc_now, trust=True)


def read(path: str) -> ToolCall:
    return ToolCall("", "read", json.dumps({"path": path}))


async def each(here: Here, person: Person, *calls: Reply, mode: Mode = "ask", rules: Rules | None = None) -> list[str]:
    model = ScriptedModel(*calls, "done")
    opened = open_session(here, model, Choice(), memory="on")
    decide = approval(here, opened, person, mode=lambda: mode, rules=rules or Rules(), denials=[])
    await opened.session.ask("go", emit=ignore, approve=decide, limits=Limits())
    opened.close()
    return [message.content for message in model.asked[-1] if message.role == "tool"]


async def results(here: Here, person: Person, *calls: Reply, mode: Mode = "ask", rules: Rules | None = None) -> str:
    return "\n".join(await each(here, person, *calls, mode=mode, rules=rules))


@pytest.mark.parametrize("mode", ["plan", "ask", "edit", "auto", "yolo"])
async def test_in_every_mode_it_is_asked_for_by_where_it_leads(here: Here, mode: Mode) -> None:
    person = Person()
    paths = ("../ws-evil/other.txt", "link/other.txt", "src/../../ws-evil/other.txt")
    told = await results(here, person, *map(read, paths), mode=mode)
    assert told.count(f"1| {WORD}") == len(paths)
    real = here.root.top.parent / "ws-evil" / "other.txt"
    assert person.asked == [("read", f"it reads {real}, which is outside the workspace")] * len(paths)


async def test_a_yes_is_for_once_and_for_this_place_alone(here: Here) -> None:
    (here.root.top.parent / "ws-evil" / "third.txt").write_text("x")
    person = Person()
    await results(here, person, read("link/other.txt"), read("link/other.txt"), read("link/third.txt"))
    assert len(person.asked) == 3


async def test_a_no_is_kept_to_even_after_a_yes(here: Here) -> None:
    person = Person()
    beyonds = Beyonds(here.workspace())
    approve = policy(person, [], mode=lambda: "ask", rules=Rules(), trusted=True, denials=[], beyonds=beyonds)
    await approve(read("link/other.txt"))
    assert len(beyonds.admitted) == 1
    person.verdict = Verdict(False, "no")
    await approve(read("link/other.txt"))
    assert beyonds.admitted == set()


async def test_nobody_is_asked_about_what_is_not_there(here: Here) -> None:
    person = Person()
    assert "use paths relative to its top folder" in await results(here, person, read("/workspace/src/app.py"))
    assert person.asked == []


async def test_a_folder_outside_is_listed_and_none_is_searched(here: Here) -> None:
    person = Person()
    listed = read("../ws-evil")
    search = ToolCall("", "grep", json.dumps({"pattern": WORD, "path": "../ws-evil"}))
    told = await results(here, person, listed, search)
    assert told.startswith("other.txt")
    assert WORD not in told
    assert [name for name, _ in person.asked] == ["read"]


async def test_without_a_person_it_is_denied_listed_and_said_how_to_allow_it(here: Here) -> None:
    denials = list[Denial]()
    beyonds = Beyonds(here.workspace())
    approve = policy(None, [], mode=lambda: "yolo", rules=Rules(), trusted=True, denials=denials, beyonds=beyonds)
    verdict = await approve(read("link/other.txt"))
    real = here.root.top.parent / "ws-evil" / "other.txt"
    assert not verdict.allowed
    assert f"--allow 'Read({real})', or open its folder with --add-dir" in verdict.reason
    assert [denial.call.name for denial in denials] == ["read"]
    assert beyonds.admitted == set()


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ("Read", True),
        ("Read(*)", True),
        ("Read(**)", True),
        ("Read(link/*)", True),
        ("Read({top}/**)", True),
        ("Grep(/**)", True),
        ("Read({outside}/other.txt)", False),
        ("Read({outside}/*)", False),
        ("Read(/**)", False),
    ],
)
async def test_only_a_rule_that_names_places_outside_lets_them_be_read(here: Here, rule: str, asks: bool) -> None:
    person = Person()
    written = rule.format(top=here.root.top, outside=here.root.top.parent / "ws-evil")
    assert WORD in await results(here, person, read("link/other.txt"), rules=Rules(allow=(written,)))
    assert bool(person.asked) == asks


async def test_a_rule_that_denies_knows_the_place_by_its_real_name(here: Here) -> None:
    person = Person()
    rules = Rules(deny=(f"Read({here.root.top.parent}/ws-evil/**)",))
    assert "denies it" in await results(here, person, read("link/other.txt"), rules=rules)
    assert person.asked == []


SECRET = (
    *(f"~/{name}/x" for name in CREDENTIALS),
    "~/.ssh",
    "~/.netrc",
    "~/.SSH/id",
    "/somebody/else/.aws/credentials",
    "/etc/shadow",
    "/proc/self/environ",
    "/proc/1/environ",
    "/sys/kernel/x",
    "/run/secrets/key",
    "../other/.ogcode/memory/2026-01-01T000000Z--deadbeef--x.md",
    "../settings/config.toml",
    "../settings",
    "keys",
)


@pytest.mark.parametrize("mode", ["ask", "yolo"])
async def test_what_may_hold_credentials_is_not_even_asked_for(here: Here, mode: Mode) -> None:
    (here.root.top.parent / "settings").mkdir(exist_ok=True)
    (here.root.top / "keys").symlink_to(here.root.top.parent / "home" / ".ssh")
    person = Person()
    calls = [read(path.replace("~", str(here.root.top.parent / "home"))) for path in SECRET]
    told = await results(here, person, tuple(calls), mode=mode, rules=Rules(allow=("Read(/**)",)))
    assert [line for line in told.splitlines() if "may hold credentials" not in line] == []
    assert len(told.splitlines()) == len(SECRET)
    assert person.asked == []


async def test_credentials_that_a_link_keeps_elsewhere_are_known_there(here: Here) -> None:
    safe = here.root.top.parent / "safe"
    safe.mkdir()
    (safe / "id").write_text(WORD)
    (here.root.top.parent / "home" / ".ssh").symlink_to(safe)
    person = Person()
    assert WORD not in await results(here, person, read("../safe/id"))
    assert person.asked == []


def test_a_folder_that_is_swapped_for_a_link_before_it_is_opened_is_not_listed(here: Here) -> None:
    outside = here.root.top.parent / "ws-evil"
    workspace = replace(here.workspace(), admitted=lambda real: real == outside)
    real = workspace.readable("link")
    with workspace.folder(real) as folder:
        assert [entry.name for entry in os.scandir(folder)] == ["other.txt"]
    outside.rename(here.root.top.parent / "moved")
    outside.symlink_to(here.root.top.parent / "home")
    with pytest.raises(OSError), workspace.folder(real):  # noqa: PT011  # each system has its own number for it
        pass


async def test_a_place_that_is_swapped_for_another_after_the_yes_is_not_read(here: Here) -> None:
    inside = here.root.top / "d"
    inside.symlink_to(here.root.top.parent / "ws-evil")
    (here.root.top.parent / "third").mkdir()
    (here.root.top.parent / "third" / "other.txt").write_text("TREACLE")

    class Swapping(Person):
        async def __call__(self, call: ToolCall, why: str) -> Verdict:
            inside.unlink()
            inside.symlink_to(here.root.top.parent / "third")
            return await super().__call__(call, why)

    assert "outside the workspace" in await results(here, Swapping(), read("d/other.txt"))


async def test_what_was_read_outside_makes_remembering_a_question(here: Here) -> None:
    person = Person()
    remember = ToolCall("", "remember", json.dumps({"text": "The port is 8080."}))
    await results(here, person, read("link/other.txt"), remember)
    assert [name for name, _ in person.asked] == ["read", "remember"]
    assert "read from outside the trusted folder" in person.asked[1][1]


async def test_nothing_outside_is_written_whatever_is_said(here: Here) -> None:
    person = Person()
    write = ToolCall("", "write", json.dumps({"path": "link/other.txt", "content": "gone"}))
    edit = ToolCall("", "edit", json.dumps({"path": "link/other.txt", "old": WORD, "new": "gone"}))
    told = await results(here, person, read("link/other.txt"), write, edit, mode="yolo")
    assert told.count("outside the workspace") == 2
    assert (here.root.top.parent / "ws-evil" / "other.txt").read_text() == f"{WORD}\n"


@pytest.fixture
def home(tmp_path: Path) -> Here:
    """The home folder itself as the workspace."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text(f"{WORD} is the key\n")
    (tmp_path / "a.txt").write_text("words\n")
    return look_around(tmp_path, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, utc_now, trust=True)


HOME_CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("read", {"path": ".ssh/id"}),
    ("read", {"path": ".ssh"}),
    ("grep", {"pattern": WORD}),
    ("grep", {"pattern": WORD, "path": ".ssh"}),
    ("glob", {"pattern": ".ssh/*"}),
    ("file_map", {"path": ".ssh/id"}),
    ("codebase_map", {"path": ".ssh"}),
    ("edit", {"path": ".ssh/id", "old": "nothing", "new": "x"}),
    ("bash", {"command": "cat .ssh/id"}),
    ("bash", {"command": "cd .ssh && cat id"}),
    ("bash", {"command": "cat .ss?/id"}),
    ("bash", {"command": f"grep -r {WORD} ."}),
    ("bash", {"command": f"rg --hidden {WORD}"}),
    ("bash", {"command": "sed -n 1p .ssh/id"}),
)


async def test_in_the_home_folder_credentials_are_read_by_no_tool_unasked(home: Here) -> None:
    person = Person(Verdict(False, "no"))
    calls = [ToolCall("", name, json.dumps(given)) for name, given in HOME_CALLS]
    for call, told in zip(calls, await each(home, person, *calls), strict=True):
        found = f"{WORD} is the key" in told, "id" in told.split(), ".ssh/id" in told.splitlines()
        assert found == (False, False, False), call


async def test_a_project_that_keeps_its_settings_in_such_a_folder_is_worked_on(tmp_path: Path) -> None:
    top = tmp_path / ".config" / "gh"
    top.mkdir(parents=True)
    (top / "a.txt").write_text(WORD)
    here = look_around(top, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, utc_now, trust=True)
    assert WORD in await results(here, Person(), read("a.txt"))


def test_a_workspace_alone_reads_nothing_outside(here: Here) -> None:
    workspace = Workspace(here.root.top)
    assert workspace.base(workspace.real("link/other.txt")) is None
    assert not workspace.admitted(workspace.real("link/other.txt"))
