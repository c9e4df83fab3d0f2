import json
import shutil
import signal
import threading
from pathlib import Path

import pytest
from batches import FLAGS, Worker, a_repository, a_task, asked, branches, git, note_ids, rows, worktrees, write_tasks
from fake_server import Body, Call, Reply, Say, Stall, last_user
from stage_cli import NOTE, Place, Serve, end_scribe, model_of, new_place, role_of
from tunnel import tunnel

from ogcode.agent.rights.seal import Seal
from ogcode.tui.batch.journal import Journal
from ogcode.tui.place import utc_now


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return a_repository(tmp_path, memory=False)


@pytest.fixture
def remembering(tmp_path: Path) -> Place:
    return a_repository(tmp_path)


def test_each_task_is_a_commit_on_its_branch_a_result_and_a_note_and_its_worktree_is_gone(
    remembering: Place, serve: Serve
) -> None:
    place = remembering
    tasks = write_tasks(place, [a_task("one", check="test -f one.txt"), a_task("two", check="echo bad; exit 3")])
    done = place.run("batch", str(tasks), *FLAGS, **model_of(serve(Worker())))
    assert done.returncode == 1, done.stderr
    found = rows(done.stdout)
    told = {name: (row["status"], row["check"], row["answer"]) for name, row in found.items()}
    assert told == {
        "one": ("done", 0, "one is written"),
        "two": ("check_failed", 3, "two is written"),
    }
    assert found["two"]["check_output"] == "bad"
    assert found["one"]["diff"] == {"files": 1, "insertions": 1, "deletions": 0}
    assert sorted(row["note"] for row in found.values()) == sorted(note_ids(place))
    assert branches(place) == [f"ogcode/tasks/{name}" for name in ("one", "two")]
    assert git(place, "log", "-1", "--format=%an %s", "ogcode/tasks/one") == "Ada ogcode: one"
    assert git(place, "show", "--stat", "--format=", "ogcode/tasks/one").startswith("one.txt")
    assert worktrees(place) == []
    assert git(place, "status", "--porcelain") == ""


def test_a_second_start_does_nothing_again_and_tells_all_results(place: Place, serve: Serve) -> None:
    server = serve(Worker())
    tasks = write_tasks(place, [a_task("one")])
    first = place.run("batch", str(tasks), *FLAGS, **model_of(server))
    before = len(server.chats)
    again = place.run("batch", str(tasks), *FLAGS, **model_of(server))
    assert (first.returncode, again.returncode) == (0, 0)
    assert rows(again.stdout) == rows(first.stdout)
    assert len(server.chats) == before


def test_of_a_changed_file_only_what_is_new_or_changed_is_run(place: Place, serve: Serve, tmp_path: Path) -> None:
    worker = Worker()
    server, out = serve(worker), tmp_path / "results.jsonl"
    tasks = write_tasks(place, [a_task("one"), a_task("two")])
    place.run("batch", str(tasks), *FLAGS, "-o", str(out), **model_of(server))
    write_tasks(place, [a_task("two", check="true"), a_task("new")])
    done = place.run("batch", str(tasks), *FLAGS, "-o", str(out), **model_of(server))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "1 not begun, 1 changed, 1 gone" in done.stderr
    assert worker.finished == {"one": 1, "two": 2, "new": 1}
    kept = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert sorted((row["id"], row["attempt"]) for row in kept) == [("new", 1), ("one", 1), ("two", 1), ("two", 2)]
    assert "ogcode/tasks/two.attempt-1" in branches(place)


def test_what_failed_is_run_again_when_asked(place: Place, serve: Serve) -> None:
    tasks = write_tasks(place, [a_task("one", check="test -f ../ok"), a_task("two")])
    server = serve(Worker())
    state = place.folder.parent / ".local/state/ogcode/worktrees"
    first = place.run("batch", str(tasks), *FLAGS, "--keep-worktrees", **model_of(server))
    assert first.returncode == 1
    [ours] = state.iterdir()
    (ours / "tasks" / "one" / "ok").touch()
    (ours / "tasks" / "one" / "repo" / "mine.txt").write_text("by hand")
    again = place.run("batch", str(tasks), *FLAGS, "--retry-failed", **model_of(server))
    assert again.returncode == 0, again.stderr
    assert rows(again.stdout)["one"]["attempt"] == 2
    assert len([body for body in asked(server) if "two" in last_user(body)]) == 2
    assert git(place, "show", "ogcode/tasks/one.attempt-1:mine.txt") == "by hand"


def test_setup_runs_first_and_its_failure_is_the_end_of_the_task(place: Place, serve: Serve) -> None:
    worker = Worker()
    tasks = write_tasks(
        place, [a_task("one", setup="echo x > made.txt", check="cat made.txt one.txt"), a_task("two", setup="exit 9")]
    )
    done = place.run("batch", str(tasks), *FLAGS, **model_of(serve(worker)))
    found = rows(done.stdout)
    assert {name: row["status"] for name, row in found.items()} == {"one": "done", "two": "setup_failed"}
    assert "setup ended with 9" in found["two"]["reason"]
    assert worker.finished == {"one": 1}


def test_limits_and_denials_are_told_and_what_was_worked_until_then_is_on_the_branch(
    place: Place, serve: Serve
) -> None:
    tasks = write_tasks(place, [a_task("one", limits={"max_turns": 1}), a_task("two", mode="ask")])
    done = place.run("batch", str(tasks), *FLAGS, **model_of(serve(Worker())))
    found = rows(done.stdout)
    assert (found["one"]["status"], found["one"]["exit_code"]) == ("limit", 53)
    assert git(place, "show", "ogcode/tasks/one:one.txt") == "one"
    assert found["two"]["diff"]["files"] == 0
    assert worktrees(place) == []


def test_a_folder_of_markdown_files_is_a_batch_and_each_works_in_its_folder(place: Place, serve: Serve) -> None:
    (place.folder / "sub").mkdir()
    (place.folder / "sub" / "here.txt").touch()
    git(place, "add", "-A")
    git(place, "commit", "-qm", "sub")
    folder = place.folder.parent / "jobs"
    folder.mkdir()
    (folder / "one.md").write_text(
        "---\ncwd: sub\nlimits:\n  max_turns: 9\ncheck: test -f here.txt\n---\nwrite one.txt\n"
    )
    done = place.run("batch", str(folder), *FLAGS, **model_of(serve(Worker())))
    assert done.returncode == 0, done.stderr
    assert branches(place) == ["ogcode/jobs/one"]


def test_in_place_all_is_done_in_the_checkout_and_left_there(tmp_path: Path, serve: Serve) -> None:
    place = Place(tmp_path / "plain", a_repository(tmp_path, memory=False).environ)
    place.folder.mkdir()
    tasks = write_tasks(place, [a_task("one", check="test -f one.txt"), a_task("two", check="test -f one.txt")])
    done = place.run("batch", str(tasks), *FLAGS, "--in-place", **model_of(serve(Worker())))
    assert done.returncode == 0, done.stderr
    assert {row["branch"] for row in rows(done.stdout).values()} == {None}
    assert (place.folder / "two.txt").read_text() == "two\n"


def test_a_task_recalls_what_one_before_it_did(remembering: Place, serve: Serve) -> None:
    place = remembering
    told = list[str]()

    def script(body: Body) -> Reply:
        if role_of(body) == "librarian":
            told.append(last_user(body))
            return Say("add was fixed [1].")
        if role_of(body) == "scribe":
            return Say(NOTE)
        if "recall" in last_user(body) and not any(message["role"] == "tool" for message in body["messages"]):
            return Call("project_memory_recall", {"question": "what became of add in calc?"})
        return Say("the sign of add in calc.py is right now")

    tasks = write_tasks(place, [{"id": "first", "prompt": "fix add"}, {"id": "second", "prompt": "recall it"}])
    done = place.run("batch", str(tasks), *FLAGS, "--jobs", "1", **model_of(serve(script)))
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout)["first"]["note"] in told[0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 143)])
def test_an_interrupted_batch_leaves_no_worktree_and_no_work_behind(
    place: Place, serve: Serve, number: signal.Signals, code: int
) -> None:
    stalled = True

    def script(body: Body) -> Reply:
        if stalled and role_of(body) == "agent" and any(message["role"] == "tool" for message in body["messages"]):
            return Stall("half")
        return worker(body)

    worker = Worker()
    server = serve(script)
    tasks = write_tasks(place, [a_task("one"), a_task("two")])
    process = place.start("batch", str(tasks), *FLAGS, "--jobs", "1", **model_of(server))
    assert server.stalled.wait(30)
    process.send_signal(number)
    out, err = process.communicate(timeout=40)
    assert (process.returncode, out) == (code, ""), err
    assert worktrees(place) == []
    assert git(place, "show", "ogcode/tasks/one.attempt-1:one.txt") == "one"
    stalled = False
    done = place.run("batch", str(tasks), *FLAGS, **model_of(server))
    assert done.returncode == 0, done.stderr
    assert {name: row["attempt"] for name, row in rows(done.stdout).items()} == {"one": 2, "two": 1}


def test_no_task_is_begun_after_one_has_failed(place: Place, serve: Serve) -> None:
    tasks = write_tasks(place, [a_task("one", check="false"), a_task("two"), a_task("three")])
    done = place.run("batch", str(tasks), *FLAGS, "--jobs", "1", "--fail-fast", **model_of(serve(Worker())))
    assert (done.returncode, list(rows(done.stdout))) == (1, ["one"])
    assert "2 left for the next start" in done.stderr


def test_no_task_is_begun_once_all_have_cost_enough(place: Place, serve: Serve) -> None:
    server = serve(Worker())
    folder = place.folder / ".ogcode" / "batches" / "tasks"
    folder.mkdir(parents=True)
    Journal(folder / "journal.jsonl", Seal(place.home), utc_now).step("before", "finished", 1, cost=0.5)
    tasks = write_tasks(place, [a_task("one")])
    done = place.run("batch", str(tasks), *FLAGS, "--max-cost", "0.4", **model_of(server))
    assert (done.returncode, done.stdout) == (54, ""), done.stderr
    assert server.chats == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl, to be a provider whose prices are known")
def test_a_batch_stops_where_its_budget_is_used_up_and_goes_on_with_a_higher_one(
    place: Place, serve: Serve, tmp_path: Path
) -> None:
    worker = Worker()
    server = serve(worker)
    server.prompt_tokens = 100_000  # 12.5 cents of gpt-5 a request; a task makes two
    tasks = write_tasks(place, [a_task("one"), a_task("two"), a_task("three")])
    words = ("batch", str(tasks), *FLAGS, "--jobs", "1", "--model", "openai/gpt-5")
    with tunnel("api.openai.com", server.url, tmp_path) as way:
        environ = {**way, "OPENAI_API_KEY": "k"}
        first = place.run(*words, "--max-cost", "0.3", **environ)
        again = place.run(*words, "--max-cost", "0.3", **environ)
        asked_before = len(server.chats)
        higher = place.run(*words, "--max-cost", "2", **environ)
    assert (first.returncode, list(rows(first.stdout))) == (54, ["one"]), first.stderr
    assert rows(first.stdout)["one"]["cost"] == pytest.approx(0.25, rel=0.01)
    assert "--max-cost 0.3 is reached: $0.37" in first.stderr
    assert (again.returncode, asked_before) == (54, 3)
    assert higher.returncode == 0, higher.stderr
    assert {name: row["attempt"] for name, row in rows(higher.stdout).items()} == {"one": 1, "two": 2, "three": 1}
    assert worker.finished == {"one": 1, "two": 1, "three": 1}
    assert git(place, "show", "ogcode/tasks/two.attempt-1:two.txt") == "two"


def test_a_second_interrupt_ends_at_once_what_is_still_ending(remembering: Place, serve: Serve) -> None:
    place = remembering
    scribing = threading.Event()

    def script(body: Body) -> Reply:
        if role_of(body) == "scribe":
            scribing.set()
            return Stall()
        return Stall("half") if any(message["role"] == "tool" for message in body["messages"]) else worker(body)

    worker = Worker()
    server = serve(script)
    tasks = write_tasks(place, [a_task("one")])
    process = place.start("batch", str(tasks), *FLAGS, **model_of(server))
    assert server.stalled.wait(30)
    process.send_signal(signal.SIGINT)
    assert scribing.wait(30)  # the run waits for its note, before it tells its result
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    end_scribe(place)
    assert process.returncode == 130, err
    assert (place.folder / ".ogcode" / "batches" / "tasks" / "attempts" / "one.1.json").read_bytes() == b""
    assert worktrees(place) == []
    assert git(place, "show", "ogcode/tasks/one.attempt-1:one.txt") == "one"


def test_nothing_is_run_in_a_folder_that_is_not_trusted(place: Place) -> None:
    tasks = write_tasks(place, [a_task("one")])
    done = place.run("batch", str(tasks))
    assert (done.returncode, done.stdout) == (55, "")
    assert "--trust" in done.stderr
    assert not (place.folder / ".ogcode").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["absent.jsonl"], 42, "absent.jsonl: it can't be read"),
        (["tasks.jsonl", "-o", "absent/results"], 42, "--output absent/results: it can't be written"),
        (["tasks.jsonl", "--name", "taken"], 1, "there is a branch 'ogcode/taken'"),
    ],
)
def test_what_no_task_could_be_done_with_is_said_before_the_first(
    place: Place, serve: Serve, words: list[str], code: int, said: str
) -> None:
    write_tasks(place, [a_task("one")], "repo/tasks.jsonl")
    git(place, "branch", "ogcode/taken")
    server = serve(Worker())
    done = place.run("batch", *words, *FLAGS, **model_of(server))
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr
    assert not server.chats


def test_a_repository_without_a_commit_has_nothing_to_begin_with(tmp_path: Path) -> None:
    empty = new_place(tmp_path, indoors=True)
    done = empty.run("batch", str(write_tasks(empty, [a_task("one")])), *FLAGS)
    assert (done.returncode, "has no commit to begin with" in done.stderr) == (1, True), done.stderr


def test_a_batch_that_runs_is_not_run_twice(place: Place, serve: Serve) -> None:
    server = serve(lambda body: Stall("half"))
    tasks = write_tasks(place, [a_task("one")])
    process = place.start("batch", str(tasks), *FLAGS, **model_of(server))
    assert server.stalled.wait(30)
    other = place.run("batch", str(tasks), *FLAGS, **model_of(server))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=40)
    assert (other.returncode, process.returncode) == (1, 143)
    assert "is running already" in other.stderr
