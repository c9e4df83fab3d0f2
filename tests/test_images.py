import base64
from pathlib import Path

import pytest
from conftest import Serve
from fake_server import Say
from stage_cli import Place, model_of, new_place, playing

from ogcode.agent.files.image import LARGEST, NoImage, read_image

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path, indoors=True)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89arest", "image/gif"),
        (b"RIFF\x1a\n\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_a_picture_is_known_by_how_it_begins(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "named.txt"
    path.write_bytes(content)
    assert (read_image(path).kind, read_image(path).content) == (kind, content)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "no such file"), (b"", "not a PNG"), (b"<svg/>", "not a PNG"), (PNG + bytes(LARGEST), "larger than 5 MB")],
    ids=["absent", "empty", "svg", "large"],
)
def test_what_is_no_picture_says_why(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "x.png"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NoImage, match=words):
        read_image(path)


def test_pictures_reach_the_model_and_only_their_kind_is_remembered(place: Place, serve: Serve) -> None:
    (place.folder / "shot.png").write_bytes(PNG)
    server = serve(playing([Say("a button"), Say("it was a button")]))
    done = place.run("-p", "what is this?", "--image", "shot.png", "--memory-wait", "20", **model_of(server))
    assert (done.returncode, done.stdout) == (0, "a button\n"), done.stderr
    words, picture = server.chats[0]["messages"][1]["content"]
    assert words["text"].endswith("what is this?\n[image: image/png, 1 kB]")
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    place.run("-p", "-c", "and then?", **model_of(server))
    encoded = base64.b64encode(PNG)
    assert [encoded in seen.raw for seen in server.seen if seen.body.get("tools")] == [True, False]
    kept = [path for path in (place.folder / ".ogcode").rglob("*") if path.is_file()]
    assert kept
    assert not any(encoded in path.read_bytes() or PNG in path.read_bytes() for path in kept)
    assert any(b"[image: image/png, 1 kB]" in path.read_bytes() for path in kept)


def test_a_picture_that_cannot_be_shown_asks_nothing(place: Place, serve: Serve) -> None:
    server = serve([])
    done = place.run("-p", "what is this?", "--image", "calc.py", **model_of(server))
    assert (done.returncode, done.stdout) == (42, "")
    assert "not a PNG" in done.stderr
    assert not server.chats
