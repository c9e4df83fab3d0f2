from datetime import UTC, datetime
from pathlib import Path

import pytest
from asking import openai
from conftest import Serve
from fake_server import Say

from ogcode.agent.events import ignore
from ogcode.agent.settings.config import ConfigBroken
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.arguments import parse
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session


def here(tmp_path: Path, settings: str, *flags: str) -> Here:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "config.toml").write_text(settings, "utf-8")
    (tmp_path / "repo").mkdir(exist_ok=True)
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    effort = parse([*flags]).effort
    return look_around(tmp_path / "repo", environ, lambda: datetime.now(UTC), trust=False, effort=effort)


async def yes(_: ToolCall) -> Verdict:
    return Verdict(allowed=True)


@pytest.mark.parametrize(
    ("settings", "flags", "asked"),
    [
        ("", (), None),
        ('effort = "low"', (), "low"),
        ('effort = "low"', ("--effort", "high"), "high"),
        ("", ("--effort", "none"), "none"),
    ],
)
async def test_effort_is_the_flags_before_the_settings(
    tmp_path: Path, serve: Serve, settings: str, flags: tuple[str, ...], asked: str | None
) -> None:
    server = serve([Say("done")])
    session = open_session(here(tmp_path, settings, *flags), openai(server.url), Choice(), memory="off").session
    await session.ask("go", emit=ignore, approve=yes, limits=Limits())
    assert server.chats[0].get("reasoning_effort") == asked


def test_an_effort_that_there_is_not_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigBroken, match="none, low, medium, high, not 'maximal'"):
        here(tmp_path, 'effort = "maximal"')
    with pytest.raises(SystemExit):
        here(tmp_path, "", "--effort", "maximal")
