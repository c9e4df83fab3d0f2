"""The action, and what `docs/ci.md` tells people to put into their pipelines: all of it is run."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # no stubs; comes with python-frontmatter
from fake_server import Body, Call, Fail, Reply, Say, last_user
from stage_cli import NOTE, OGCODE, Place, Serve, model_of, new_place, playing, role_of

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "ogcode" / "action.yml").read_text("utf-8"))
EXAMPLES = ROOT / "docs" / "examples"
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
SCRIPTS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
JSON = '{"endpoints": []}'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return a_checkout(tmp_path)


def a_checkout(tmp_path: Path) -> Place:
    """Make one with a commit, its examples, and `ogcode` on the PATH as a pipeline has it."""
    place = new_place(tmp_path)
    (tmp_path / "temp").mkdir(exist_ok=True)
    (place.folder / "docs" / "examples").mkdir(parents=True)
    (place.folder / "docs" / "examples" / "tasks.jsonl").write_bytes((EXAMPLES / "tasks.jsonl").read_bytes())
    place.environ |= {
        "PATH": f"{OGCODE.parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_PATH": str(tmp_path / "path"),
        "CI": "true",
    }
    bash(place, "git config user.name Ada && git config user.email ada@example.org && git add -A && git commit -qm one")
    return place


def bash(place: Place, script: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run a script as GitHub does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=place.folder,
        env={**place.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def step(name: str) -> Mapping[str, Any]:
    [found] = [each for each in ACTION["runs"]["steps"] if each["name"].startswith(name)]
    return dict(found)


def act(place: Place, environ: Mapping[str, str], **given: str) -> "subprocess.CompletedProcess[str]":
    """Run the action's own script with inputs as the runner hands them over."""
    inputs = {name: given.get(name, entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    shown = {
        variable: inputs[str(value).removeprefix("${{ inputs.").removesuffix(" }}")]
        for variable, value in step("Run")["env"].items()
    }
    return bash(place, step("Run")["run"], **{**environ, **shown})


def outputs(place: Place) -> dict[str, str]:
    """Read what the runner would."""
    found, lines = dict[str, str](), iter(Path(place.environ["GITHUB_OUTPUT"]).read_text("utf-8").split("\n"))
    for line in filter(None, lines):
        name, _, end = line.partition("<<")
        value = list[str]()
        for inner in lines:
            if inner == end:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


def test_no_input_and_no_other_expression_is_written_into_a_script() -> None:
    assert [each["name"] for each in ACTION["runs"]["steps"] if "${{" in each["run"]] == []
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} == {*step("Run")["env"].values()}
    wanted = {name: f"${{{{ steps.run.outputs.{name} }}}}" for name in ("result", "session_id", "cost", "note")}
    assert {name: entry["value"] for name, entry in ACTION["outputs"].items()} == wanted


def test_the_outputs_are_what_the_run_gave_whatever_lines_its_answer_has(place: Place, serve: Serve) -> None:
    answer = 'first\nEOF\nnote<<x\nevil\nx\n::error::not mine\n"$(touch canary)" 100 %'
    done = act(place, model_of(serve(playing([Say(answer)]))), prompt="go")
    told = outputs(place)
    assert done.returncode == 0, done.stderr
    assert (told["result"], told["cost"]) == (answer, "")
    assert re.fullmatch(r"[0-9a-f]{32}", told["session_id"])
    assert [path.name.startswith(told["note"]) for path in place.notes] == [True]
    assert {*told} == {*ACTION["outputs"]}


def test_inputs_are_words_for_ogcode_and_nothing_to_a_shell(place: Place, serve: Serve) -> None:
    prompt = "\"; touch canary; $(touch canary) `touch canary` '\n--trust"
    server = serve(playing([Call("bash", {"command": "touch made"}), Say("fine")]))
    allowed = "Bash(touch made) Bash($(touch canary))"
    given = {"mode": "edit", "allowed_tools": allowed, "max_turns": "5", "memory": "off"}
    done = act(place, model_of(server), prompt=prompt, trust="true", **given)
    assert done.returncode == 0, done.stderr
    assert last_user(server.chats[0]).endswith(f"\n{prompt}")
    assert (place.folder / "made").exists()
    assert not (place.folder / "canary").exists()


@pytest.mark.parametrize(
    ("agent", "given", "code", "said"),
    [
        ([Fail(401, {"error": {"message": "bad\nkey"}})], {}, 1, "key"),
        ([Call("glob", {"pattern": "*"})], {"max_turns": "1"}, 53, "limit of model requests was reached: 1"),
        ([], {"mode": "plan --trust"}, 2, "there is no mode 'plan --trust'"),
        ([], {"prompt": " "}, 42, "the prompt is empty"),
    ],
)
def test_a_failure_is_an_annotation_of_one_line_and_the_exit_code(
    place: Place, serve: Serve, agent: list[Reply], given: dict[str, str], code: int, said: str
) -> None:
    done = act(place, model_of(serve(playing(agent))), **{"prompt": "go", "memory": "off", **given})
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"::error title=ogcode ended with {code}::")
    assert said in done.stdout.splitlines()[-1]
    assert {*outputs(place)} == {*ACTION["outputs"]}


def test_while_ogcode_runs_the_runner_takes_no_commands(place: Place, serve: Serve) -> None:
    done = act(place, model_of(serve(playing([Say("fine")]))), prompt="go", memory="off")
    stopped, resumed = done.stdout.splitlines()[:2]
    assert stopped.removeprefix("::stop-commands::") == resumed.strip(":")
    assert len(resumed.strip(":")) == 32


def test_trust_is_said_or_not_said_and_nothing_between(place: Place) -> None:
    done = act(place, {}, prompt="go", trust="yes")
    assert (done.returncode, done.stdout) == (2, "::error title=ogcode::trust must be true or false\n")


def test_what_is_installed_already_is_used(place: Place) -> None:
    done = bash(place, step("Install")["run"], FROM=str(ROOT / ".github" / "actions" / "ogcode"))
    assert (done.returncode, done.stdout.startswith("ogcode ")) == (0, True), done.stderr
    assert not Path(place.environ["GITHUB_PATH"]).exists()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("github-*.yml")), ids=lambda path: path.stem)
def test_the_examples_use_the_action_as_it_is(example: Path) -> None:
    [job] = yaml.safe_load(example.read_text("utf-8"))["jobs"].values()
    [used] = [each for each in job["steps"] if "actions/ogcode@" in each.get("uses", "")]
    assert {*used["with"]} <= {*ACTION["inputs"]}
    taken = re.findall(rf"steps\.{used['id']}\.outputs\.(\w+)", example.read_text("utf-8"))
    assert taken
    assert {*taken} <= {*ACTION["outputs"]}
    assert not [each for each in job["steps"] if "${{" in each.get("run", "")]


def test_the_page_has_every_exit_code() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    codes = [re.findall(r"^\| ([\d, ]+) \|", text, re.MULTILINE) for text in (PAGE, readme)]
    assert codes[0] == codes[1]
    assert len(codes[0]) == 10


def answering(body: Body) -> Reply:
    return Say(JSON if role_of(body) == "agent" else NOTE)


@pytest.mark.parametrize("script", [each for each in SCRIPTS if "tar " not in each], ids=lambda each: each[:40].strip())
def test_every_other_script_of_the_page_runs(place: Place, serve: Serve, script: str) -> None:
    if "git add .ogcode" not in script:
        place.home.mkdir()
        (place.home / "config.toml").write_text('memory = "off"\n')  # quicker
    done = bash(place, script, **model_of(serve(answering)))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_notes_that_were_brought_along_without_their_home_are_foreign_until_they_are_trusted(
    place: Place, serve: Serve, tmp_path: Path
) -> None:
    environ = model_of(serve(answering))
    keep, bring = (next(each for each in SCRIPTS if what in each) for what in ("tar -czf", "tar -xzf"))
    assert bash(place, keep, **environ).returncode == 0
    [note] = place.notes
    (tmp_path / "later").mkdir()
    later = a_checkout(tmp_path / "later")
    (later.folder / "memory.tgz").write_bytes((place.folder / "memory.tgz").read_bytes())
    unpacked, asking = bring.strip().splitlines()
    assert bash(later, unpacked).returncode == 0
    before = bash(later, "ogcode memory list --json")
    assert (before.stdout, "left out: 1 note by others" in before.stderr) == ("", True)
    assert bash(later, asking, **environ).returncode == 0
    origins = {row["id"]: row["origin"] for row in map(json.loads, bash(later, SCRIPTS[-2]).stdout.splitlines()[:2])}
    assert origins["--".join(note.stem.split("--")[:2])] == "foreign"
    assert sorted(origins.values()) == ["foreign", "own"]


def test_notes_that_come_with_their_home_to_the_same_path_are_ones_own(place: Place, serve: Serve) -> None:
    environ = model_of(serve(answering))
    bash(place, "ogcode -p go --memory-wait 60", **environ)
    place.settle()
    script = "cd .. && git clone -q repo new && mv repo/.ogcode new/ && rm -rf repo && mv new repo && cd repo"
    [row] = map(json.loads, bash(place, f"{script} && ogcode memory list --json").stdout.splitlines())
    assert row["origin"] == "own"


def test_the_job_for_gitlab_runs(place: Place, serve: Serve) -> None:
    job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text("utf-8"))["ogcode"]
    lines = [line for line in (*job["before_script"], *job["script"]) if not line.startswith("pip ")]
    variables = {name: value.replace("$CI_PROJECT_DIR", str(place.folder)) for name, value in job["variables"].items()}
    done = bash(place, "\n".join(lines), **variables, **model_of(serve(answering)))
    assert done.returncode == 0, done.stderr
    assert json.loads((place.folder / job["artifacts"]["paths"][0]).read_bytes())["memory"]["note"]
    assert all((place.folder / each).exists() for each in (*job["cache"]["paths"], *job["artifacts"]["paths"]))
    assert ".ogcode-home" not in bash(place, "git status --porcelain").stdout


def test_the_script_for_a_container_runs_with_a_model_of_ollama(place: Place, serve: Serve, tmp_path: Path) -> None:
    server = serve(answering, models=("qwen3:8b",))
    del place.environ["OGCODE_HOME"]
    environ = {"OLLAMA_HOST": server.url, "OGCODE_HOME": str(tmp_path / "state")}
    done = bash(place, f"sh {EXAMPLES / 'container.sh'}", **environ)
    assert done.returncode == 0, done.stderr
    assert "Bring CHANGELOG.md up to date" in done.stdout.splitlines()[-1]
    assert {body["model"] for body in server.chats} == {"qwen3:8b"}
