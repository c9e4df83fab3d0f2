"""Files that run later, or are obeyed later: a mode that writes without a question asks about these."""

import json
from pathlib import Path

import pytest

from ogcode.agent.events import Event, Warned
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.dormant import runs_later
from ogcode.agent.rights.permissions import Mode, Rules, decide
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import Limits, ToolCall
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.toolbox import approval
from ogcode.tui.wiring import open_session

LATER = """
conftest.py tests/conftest.py CONFTEST.PY sitecustomize.py src/usercustomize.py lib/evil.pth setup.py tox.ini
Makefile makefile GNUmakefile sub/rules.mk justfile Rakefile package.json web/package.json .npmrc .yarnrc.yml
.pnpmfile.cjs build.rs build.gradle .envrc sub/.envrc .pre-commit-config.yaml lefthook.yml .gitattributes .gitmodules
.gitlab-ci.yml .travis.yml Jenkinsfile .github/workflows/ci.yml .github/actions/x/action.yml .circleci/config.yml
.vscode/tasks.json .vscode/settings.json .VSCode/tasks.json .idea/runConfigurations/x.xml
.devcontainer/devcontainer.json .husky/pre-commit .githooks/pre-push .cargo/config.toml .mcp.json
.claude/settings.json .cursor/mcp.json
.bashrc .bash_profile .profile .zshrc home/.zshenv .vimrc .exrc .gdbinit .tmux.conf
.venv/bin/python venv/bin/activate env/bin/pip sub/.venv/bin/x
AGENTS.md docs/AGENT.md CLAUDE.md .cursorrules .github/copilot-instructions.md
pytest.ini gradlew settings.gradle gradle/wrapper/gradle-wrapper.properties Gemfile mix.exs .pnp.cjs .yarn/plugins/x.cjs
.eslintrc.cjs eslint.config.mjs web/vite.config.ts mise.toml .mise.local.toml .config/mise/config.toml .lefthook.yml
.pdbrc .Rprofile .irbrc .rspec x.code-workspace .devcontainer.json .helix/languages.toml .gitlab/ci/x.yml .drone.yml
CLAUDE.local.md AGENTS.override.md .github/instructions/a.md .agents/a.md .clinerules/a.md opencode.json .ssh/rc
""".split()
ORDINARY = """
src/app.py tests/test_app.py README.md docs/agents-overview.md makefile.txt package-lock.json package.json.md
src/setup_db.py conftest.txt github/workflows.md vscode/tasks.json src/env/binary.py
environment.py .env.example index.html main.go
Cargo.toml pyproject.toml tests/conftest_helpers.py husky.md profile.py src/profile
src/app.config.ts .prettierrc.json .github/ISSUE_TEMPLATE/bug.md docs/ssh/rc.md gradle/libs.versions.toml promise.toml
""".split()


@pytest.mark.parametrize("path", LATER)
def test_what_runs_or_is_obeyed_later_is_known_by_its_name(path: str) -> None:
    assert runs_later(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_what_does_not_is_left_alone(path: str) -> None:
    assert not runs_later(path)


def decided(path: str, mode: Mode, top: Path, *, name: str = "write", rules: Rules | None = None) -> tuple[str, str]:
    call = ToolCall("1", name, json.dumps({"path": path, "content": "x"}))
    workspace = Workspace(top)
    made = decide(
        call,
        "write",
        mode=mode,
        rules=rules or Rules(),
        trusted=True,
        sandboxed=True,
        place=lambda path: workspace.display(workspace.real(path)),
    )
    return made.kind, made.why


@pytest.mark.parametrize(
    ("mode", "later", "ordinary"),
    [
        ("plan", "deny", "deny"),
        ("ask", "ask", "ask"),
        ("edit", "ask", "allow"),
        ("auto", "ask", "allow"),
        ("yolo", "allow", "allow"),
    ],
)
@pytest.mark.parametrize("name", ["write", "edit"])
def test_modes(tmp_path: Path, mode: Mode, name: str, later: str, ordinary: str) -> None:
    assert decided("conftest.py", mode, tmp_path, name=name)[0] == later
    assert decided("src/app.py", mode, tmp_path, name=name)[0] == ordinary


def test_the_question_says_what_it_is_about(tmp_path: Path) -> None:
    assert decided("a/../.envrc", "auto", tmp_path)[1] == ".envrc is run or obeyed later, without a question"


@pytest.mark.parametrize(("link", "target"), [("harmless.txt", "Makefile"), ("Makefile", "harmless.txt")])
def test_it_counts_by_where_a_link_leads_and_by_where_it_lies(tmp_path: Path, link: str, target: str) -> None:
    (tmp_path / target).write_text("x")
    (tmp_path / link).symlink_to(target)
    assert decided(link, "auto", tmp_path)[0] == "ask"


def test_the_user_can_allow_it_by_a_rule(tmp_path: Path) -> None:
    assert decided("package.json", "edit", tmp_path, rules=Rules(allow=("Edit(package.json)",)))[0] == "allow"
    assert decided("Makefile", "edit", tmp_path, rules=Rules(allow=("Edit(package.json)",)))[0] == "ask"


def command(text: str) -> ToolCall:
    return ToolCall("", "bash", json.dumps({"command": text}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("echo obey >> AGENTS.md", ["AGENTS.md"]),
        ("mkdir .vscode; touch .vscode/x conftest.py", ["conftest.py", ".vscode/x"]),
        ("touch new; mv new Makefile", ["Makefile"]),
        ("touch src.py; cat AGENTS.md; mkdir package.json", []),
        ("cat AGENTS.md", []),
    ],
)
async def test_the_user_is_told_of_what_a_command_has_changed(tmp_path: Path, text: str, told: list[str]) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "AGENTS.md").write_text("be brief\n")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    here = look_around(tmp_path / "repo", environ, utc_now, trust=True, sandbox="off")
    opened = open_session(here, ScriptedModel(command(text), "done"), Choice(), memory="off")
    events, rules = list[Event](), Rules()
    approve = approval(here, opened, None, mode=lambda: "yolo", rules=rules, denials=[])
    await opened.session.ask("go", emit=events.append, approve=approve, limits=Limits())
    opened.close()
    warned = [event.text for event in events if isinstance(event, Warned)]
    assert [each.partition(", which is run or obeyed later")[0] for each in warned] == (
        [f"a command has changed {', '.join(told)}"] if told else []
    )
