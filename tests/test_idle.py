"""Whoever does nothing pays nothing: no request is made while nobody asks for one."""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path

import pexpect
import pytest
from fake_server import Call, FakeServer, Say
from remembered import GOOD, START, a_job, a_memory, note_files, scribe, spool, waiting
from stage import SIZE, screen_text, until
from stage_cli import NOTE, OGCODE, model_of, new_place, playing, role_of

from ogcode.agent.files.durable import make_folder
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.prompt import Prompt

HOUR = 3_600.0


class Skipping(selectors.DefaultSelector):
    """Waits for nothing that only time would bring: it lets the time have passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        self.now += 0 if ready else timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run_skipping(play: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(play)


def test_an_app_that_is_left_alone_for_an_hour_asks_its_model_nothing(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    here = look_around(tmp_path, environ, utc_now, trust=True)
    model = ScriptedModel("It is done.")

    async def play() -> None:
        desk = Conversation(here, model, Choice(), mode="ask", rules=Rules(), limits=Limits(), memory="read")
        app = Ogcode(desk, first_prompt="", clock=lambda: asyncio.get_running_loop().time())
        async with app.run_test(size=SIZE) as pilot:
            app.query_one(Prompt).put("go")
            await pilot.press("enter")
            await until(pilot, lambda: "It is done." in screen_text(app) and desk.turns == 1)
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(HOUR / 2)
            assert "memory 0" in screen_text(app)
            make_folder(here.root.memory)
            (here.root.memory / "2026-01-02T000000Z--deadbeef--a-note-of-another-session.md").write_text(
                "# A note\n", "utf-8"
            )
            await asyncio.sleep(HOUR / 2)
            assert asyncio.get_running_loop().time() - began >= HOUR
            assert "memory 1" in screen_text(app)  # it was awake all the while

    run_skipping(play())
    assert len(model.asked) == 1


async def test_a_scribe_that_has_written_all_asks_its_model_nothing_more(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    spool(memory, a_job(1), a_job(2))
    model = ScriptedModel(GOOD, GOOD)
    await scribe(memory, model).run()
    assert (len(note_files(memory)), waiting(memory)) == (2, [])
    for minutes in range(0, 60, 5):
        await scribe(memory, model, now=START + timedelta(hours=1, minutes=minutes)).run()
    assert len(model.asked) == 2


@pytest.mark.torture
def test_a_real_minute_of_the_app_beside_its_scribe_makes_no_request(
    tmp_path: Path, serve: Callable[..., FakeServer]
) -> None:
    place = new_place(tmp_path)
    server = serve(playing([Call("read", {"path": "calc.py"}), Say("add subtracts.")], scribe=Say(NOTE)))
    environ = {**place.environ, **model_of(server), "TERM": "xterm-256color", "LANG": "C.UTF-8", "OGCODE_TRUST": "1"}
    app = pexpect.spawn(str(OGCODE), cwd=str(place.folder), env=environ, dimensions=(30, 100), encoding="utf-8")
    try:
        app.expect("Ask for something", timeout=40)
        app.send("what does add do?\r")
        deadline = time.monotonic() + 40
        while not place.notes:
            assert time.monotonic() < deadline
            drained(app)
        asked = len(server.seen)
        assert [role_of(body) for body in server.chats] == ["agent", "agent", "scribe"]
        ends = time.monotonic() + 60
        while time.monotonic() < ends and len(server.seen) == asked:
            drained(app)
        assert app.isalive()
        assert len(server.seen) == asked
    finally:
        app.close(force=True)


def drained(app: "pexpect.spawn[str]") -> None:
    try:
        app.read_nonblocking(65_536, timeout=0.2)
    except pexpect.TIMEOUT:
        return
