import json
from pathlib import Path

import pytest
from fake_server import Call, Reply, Say
from hostile import everything_in
from stage_cli import Place, Serve, model_of, playing, role_of

from ogcode.agent.sensitive.envfiles import env_file_secrets, env_files_in, env_files_named

WORD = "marigold9teapot"  # of no known shape: only its value gives it away


@pytest.mark.parametrize("name", [".env", ".env.local", "deploy/prod.env"])
def test_what_an_env_file_holds_is_in_no_note_and_in_no_request_of_the_scribe(
    place: Place, serve: Serve, name: str
) -> None:
    path = place.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'export DB_PASSWORD="{WORD}"\nDEBUG=true\n', "utf-8")
    long = f"The database is reached with {WORD}; " + "it is the one that the staging hosts share. " * 20
    agent: list[Reply] = [Call("read", {"path": name}), Call("bash", {"command": f"login -p {WORD}"}), Say(long)]
    server = serve(playing(agent))
    place.run("-p", f"see {name}: why does login -p {WORD} fail?", "--trust", "--memory-wait", "20", **model_of(server))
    kept = everything_in(place.folder / ".ogcode" / "memory") | everything_in(place.folder / ".ogcode" / "spool")
    asked = [body for body in server.chats if role_of(body) == "scribe"]
    assert len(place.notes) == len(asked) == 1
    assert "[secret: environment]" in place.notes[0].read_text("utf-8")
    assert WORD not in json.dumps(asked)
    assert [path for path, content in kept.items() if WORD.encode() in content] == []


def test_env_files_are_found_by_name_and_by_mention_and_read_without_following_links(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    (top / "web").mkdir(parents=True)
    (tmp_path / "outside.env").write_text(f"API_TOKEN={WORD}x1\n", "utf-8")
    (top / "web" / ".env").write_text(f"API_TOKEN={WORD}y2\n", "utf-8")
    (top / ".env.test").symlink_to(tmp_path / "outside.env")
    (top / ".environment").write_text(f"API_TOKEN={WORD}z3\n", "utf-8")
    said = [f"cat web/.env && source {tmp_path}/outside.env; echo $.envelope"]
    assert sorted(env_files_named(said, top)) == ["../outside.env", "web/.env"]
    assert list(env_files_in(top, top)) == [".env.test"]
    named = [*env_files_named(said, top), *env_files_in(top, top)]
    found = env_file_secrets(top, named)
    assert f"{WORD}y2" in found
    assert not any(f"{WORD}x1" in value or f"{WORD}z3" in value for value in found)
