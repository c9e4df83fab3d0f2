import json
from pathlib import Path

import pytest

from ogcode.tui.batch.tasks import Task, TasksBroken, read_tasks


def lines(folder: Path, *given: object) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in given), "utf-8")
    return path


def test_a_line_and_a_markdown_file_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\nmodel: ollama/x\nmode: acceptEdits\nmax_turns: 3\nlimits:\n  max_cost: 0.5\n---\n\nFix it.\n", "utf-8"
    )
    limits = {"max_turns": 3, "max_cost": 0.5}
    path = lines(tmp_path, {"id": "a", "prompt": "Fix it.", "model": "ollama/x", "mode": "edit", "limits": limits}, "")
    task = Task("a", "Fix it.", model="ollama/x", mode="edit", max_turns=3, max_cost=0.5)
    assert read_tasks(tmp_path).each == read_tasks(path).each == (task,)


def test_the_digest_of_a_task_changes_with_each_word_of_it(tmp_path: Path) -> None:
    digests = {Task("a", "x", **more).digest for more in ({}, {"check": "true"}, {"max_turns": 2}, {"cwd": "sub"})}
    assert len(digests) == 4


def test_the_example_of_the_documentation_can_be_read(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "batch.md").read_text("utf-8")
    example = text.partition("```json\n")[2].partition("```")[0]
    assert [task.id for task in read_tasks(lines(tmp_path, example)).each] == ["fix-add", "doc-add"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "there are no tasks"),
        (["{"], ":1: not JSON"),
        (["[]"], ":1: not an object"),
        ([{"id": "a"}], "needs a prompt"),
        ([{"id": "a", "prompt": "x"}, {"id": "A", "prompt": "y"}], "same id"),
        ([{"prompt": "x"}], "can't be an id"),
        ([{"id": "../a", "prompt": "x"}], "can't be an id"),
        ([{"id": "-a", "prompt": "x"}], "can't be an id"),
        ([{"id": "a..b", "prompt": "x"}], "can't be an id"),
        ([{"id": "a.lock", "prompt": "x"}], "can't be an id"),
        ([{"id": "a.attempt-1", "prompt": "x"}], "can't be an id"),
        ([{"id": "a\n", "prompt": "x"}], "can't be an id"),
        ([{"id": "a", "prompt": "x", "chek": "true"}], "did you mean 'check'?"),
        ([{"id": "a", "prompt": "x", "limits": {"max_turn": 1}}], "did you mean 'max_turns'?"),
        ([{"id": "a", "prompt": "x", "limits": {"max_turns": 0}}], "positive whole number"),
        ([{"id": "a", "prompt": "x", "limits": {"max_cost": "1"}}], "positive number"),
        ([{"id": "a", "prompt": "x", "limits": 3}], "limits must be an object"),
        ([{"id": "a", "prompt": "x", "mode": "wild"}], "no mode 'wild'"),
        ([{"id": "a", "prompt": "x", "check": ["true"]}], "check must be a text"),
    ],
)
def test_what_makes_no_sense_is_named(tmp_path: Path, given: list[object], said: str) -> None:
    with pytest.raises(TasksBroken) as broken:
        read_tasks(lines(tmp_path, *given))
    assert said in str(broken.value)
