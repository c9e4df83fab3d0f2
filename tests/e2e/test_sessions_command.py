import json
import signal
from pathlib import Path

from fake_server import Call, Say, Stall
from stage_cli import Place, Serve, model_of, playing

TOKEN = "ghp_" + "Ab3" * 12


def one_session(place: Place, serve: Serve) -> str:
    (place.folder / "words.txt").write_text(f"```\nTOKEN = {TOKEN}\n```\n", "utf-8")
    server = serve(
        playing([(Say("I look."), Call("read", {"path": "words.txt"})), Say("It holds a token."), Say("Bye.")])
    )
    told = place.result("-p", "what is in words.txt?", "--memory-wait", "20", **model_of(server))
    place.run("-p", "-c", "and now?", "--memory-wait", "20", **model_of(server))
    return str(told["session_id"])


def test_a_session_is_listed_shown_and_exported_without_its_secrets(place: Place, serve: Serve) -> None:
    session = one_session(place, serve)
    [listed] = [json.loads(line) for line in place.run("sessions", "--json").stdout.splitlines()]
    assert (listed["session_id"], listed["turns"], listed["first"]) == (session, 2, "what is in words.txt?")
    shown = place.run("sessions", "show", session[:8]).stdout
    assert ("> what is in words.txt?" in shown, "It holds a token." in shown, "read" in shown) == (True, True, False)
    page = place.run("sessions", "export", session[:8]).stdout
    assert '- read `{"path": "words.txt"}`\n  ````\n' in page
    assert ("I look." in page, "[secret: " in page, TOKEN in page) == (True, True, False)
    exported = json.loads(place.run("sessions", "export", session, "--format", "json").stdout)
    first, second = exported["turns"]
    assert (first["steps"][1]["name"], first["answer"], second["answer"]) == ("read", "It holds a token.", "Bye.")
    assert (first["outcome"], bool(first["note"]), TOKEN in json.dumps(exported)) == ("done", True, False)


def test_a_deleted_session_is_in_the_trash_and_its_notes_stay(place: Place, serve: Serve) -> None:
    session = one_session(place, serve)
    asked = place.run("sessions", "delete", session[:8])
    assert (asked.returncode, "say --yes" in asked.stderr) == (1, True)
    done = place.run("sessions", "delete", session[:8], "--yes", "--json")
    kept = Path(json.loads(done.stdout)["path"])
    assert (kept.parent.name, len(place.notes), place.run("sessions").stdout) == ("trash", 2, "")
    assert place.run("memory", "search", "token").returncode == 0
    assert place.run("memory", "doctor").returncode == 0
    kept.rename(place.folder / ".ogcode" / "sessions" / f"{session}.jsonl")
    assert session[:8] in place.run("sessions").stdout


def test_a_session_in_use_is_not_deleted_and_one_that_is_not_there_is_named(place: Place, serve: Serve) -> None:
    server = serve(playing([Stall("half")]))
    process = place.start("-p", "go", **model_of(server))
    assert server.stalled.wait(20)
    [path] = (place.folder / ".ogcode" / "sessions").glob("*.jsonl")
    done = place.run("sessions", "delete", path.stem[:8], "--yes")
    assert (done.returncode, "is in use" in done.stderr, path.exists()) == (1, True, True)
    assert place.run("sessions", "show", "0" * 8).returncode == 42
    assert place.run("sessions", "show").returncode == 2
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
