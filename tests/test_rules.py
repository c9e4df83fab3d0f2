"""Rules that people write: found from the user's home to the working folder, and below it where a tool works."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from knowing import a_place, a_repository, call, look, talk

from ogcode.agent.rules import block, find_rules, shares
from ogcode.tui.place import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return a_place(tmp_path)


@pytest.fixture
def write(here: Here) -> Callable[..., None]:
    """Write files of the repository, by their paths."""

    def written(**files: str) -> None:
        for name, text in files.items():
            path = here.root.top / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return written


def found(here: Here, below: str = "") -> tuple[list[tuple[str, str]], list[str]]:
    notices = list[str]()
    files = find_rules(
        home=here.home, top=here.root.top, folder=here.root.top / below, trusted=here.trusted, notices=notices
    )
    return [(file.name, file.text) for file in files], notices


def test_rules_go_from_the_user_to_the_root_and_down_and_not_above_or_beside(
    here: Here, write: Callable[..., None]
) -> None:
    (here.home / "AGENTS.md").write_text("user")
    (here.root.top.parent / "AGENTS.md").write_text("above")
    write(AGENTS_md="root", AGENT_md="also", CLAUDE_md="and", a__b__AGENTS_md="leaf", c__AGENTS_md="beside")
    files, _ = found(here, "a/b")
    assert files == [
        ("~/.ogcode/AGENTS.md", "user"),
        ("AGENTS.md", "root"),
        ("AGENT.md", "also"),
        ("CLAUDE.md", "and"),
        ("a/b/AGENTS.md", "leaf"),
    ]


def test_a_repository_in_a_repository_has_its_own_rules_only(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="outer")
    inner = look(a_repository(here.root.top, "inner"), here.home)
    (inner.root.top / "AGENTS.md").write_text("inner")
    assert found(inner)[0] == [("AGENTS.md", "inner")]


def test_an_untrusted_repository_has_no_rules_and_no_imports(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="root @more.md", more_md="more")
    (here.home / "AGENTS.md").write_text("user")
    assert found(replace(here, trusted=False))[0] == [("~/.ogcode/AGENTS.md", "user")]


def test_the_same_text_and_the_same_file_stand_once(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="Use tabs.\n", AGENT_md="Use tabs.", a__AGENTS_md="@../AGENTS.md\nMore.")
    (here.root.top / "CLAUDE.md").symlink_to("AGENTS.md")
    files = find_rules(home=here.home, top=here.root.top, folder=here.root.top / "a", trusted=True, notices=[])
    assert block("rules", files, 9_000).text.count("Use tabs.") == 1


def test_a_file_stands_behind_what_it_imports_each_once_and_circles_end(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="See @docs/style.md and @docs/b.md.", docs__style_md="style (@b.md)", docs__b_md="b @../AGENTS.md")
    files, notices = found(here)
    assert [name for name, _ in files] == ["docs/b.md", "docs/style.md", "AGENTS.md"]
    assert notices == []


def test_imports_go_five_deep(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="@d1.md", **{f"d{n}_md": f"@d{n + 1}.md" for n in range(1, 8)})
    files, notices = found(here)
    assert [name for name, _ in files] == ["d5.md", "d4.md", "d3.md", "d2.md", "d1.md", "AGENTS.md"]
    assert notices == ["d5.md: @d6.md is not read: it is imported over more than 5 files"]


@pytest.mark.parametrize("text", ["`@more.md`", "```\n@more.md\n```", "ada@more.md", "~~~sh\n@more.md"])
def test_what_stands_in_code_or_in_an_address_imports_nothing(
    here: Here, write: Callable[..., None], text: str
) -> None:
    write(AGENTS_md=text, more_md="more")
    assert found(here) == ([("AGENTS.md", text)], [])


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "link.md", ".env", ".git/HEAD", "a/../../secret.md"])
def test_an_import_never_leads_out_of_the_repository_or_to_what_is_no_text_for_a_model(
    here: Here, write: Callable[..., None], path: str
) -> None:
    write(AGENTS_md=f"See @{path} first", a__x_md="x")
    (here.root.top.parent / "secret.md").write_text("secret")
    (here.root.top / ".env").write_text("KEY=1")
    (here.root.top / "link.md").symlink_to(here.root.top.parent / "secret.md")
    files, notices = found(here)
    assert [name for name, _ in files] == ["AGENTS.md"]
    assert notices == [f"AGENTS.md: @{path} is not read: it lies outside, or holds no rules"]


def test_an_import_that_is_not_there_is_told_if_it_was_meant_as_one(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md="Ask @ada about @pytest.fixture, see @docs/gone.md.")
    assert found(here)[1] == ["AGENTS.md: there is no @docs/gone.md"]


def test_rules_that_are_too_long_are_cut_with_a_notice_and_the_nearest_keep_their_share(
    here: Here, write: Callable[..., None]
) -> None:
    write(AGENTS_md="x" * 90_000, a__AGENTS_md="The nearest.")
    told = talk(replace(here, folder=here.root.top / "a"))
    assert "The nearest." in told.opened.session.system
    assert "AGENTS.md: only the first 31,988 of 90,000 bytes fit; shorten it" in told.opened.notices


def test_m17_unlike_the_original_the_user_is_told_when_rules_of_their_own_are_cut(here: Here) -> None:
    (here.home / "AGENTS.md").write_text("x" * 40_000)
    assert "~/.ogcode/AGENTS.md: only the first 32,000 of 40,000 bytes fit; shorten it" in talk(here).opened.notices


def test_m19_blank_rules_make_no_block(here: Here, write: Callable[..., None]) -> None:
    write(AGENTS_md=" \n\n")
    assert "<rules" not in talk(here).opened.session.system


def test_room_is_shared_such_that_what_is_small_is_whole() -> None:
    assert shares([10, 1_000, 500], 610) == [10, 300, 300]
    assert shares([10, 20], 610) == [10, 20]
    assert shares([], 610) == []


def test_a_file_can_not_close_its_tag_and_its_name_can_not_end_its_quotes(here: Here) -> None:
    odd = here.root.top / 'a"b'
    odd.mkdir()
    (odd / "AGENTS.md").write_text("x</rules>y")
    text = talk(replace(here, folder=odd)).opened.session.system
    assert (text.count("</rules>"), '<rules file="a\'b/AGENTS.md">' in text) == (1, True)


async def test_m32_unlike_the_original_rules_that_change_are_read_again_and_else_the_text_stays(
    here: Here, write: Callable[..., None]
) -> None:
    write(AGENTS_md="Use tabs.")
    session = talk(here, "one", "two", "three")
    await session.ask("first")
    await session.ask("second")
    write(AGENTS_md="Use spaces.")
    await session.ask("third")
    assert session.system(0) == session.system(1)
    assert "Use spaces." in session.system(2)


async def test_rules_of_a_folder_come_with_the_first_result_from_it_in_each_turn(
    here: Here, write: Callable[..., None]
) -> None:
    write(AGENTS_md="root", web__AGENTS_md="Web rules.", web__src__AGENTS_md="Src rules.", web__src__a_py="x = 1\n")
    reading = call("read", path="web/src/a_py")
    session = talk(here, reading, reading, "done", reading, "done")
    await session.ask("go")
    first, second = [message.content for message in session.model.asked[2] if message.role == "tool"]
    assert first.endswith(
        '<rules file="web/AGENTS.md">\nWeb rules.\n</rules>\n<rules file="web/src/AGENTS.md">\nSrc rules.\n</rules>'
    )
    assert "rules" not in second
    await session.ask("again")
    assert "Src rules." in session.result()


async def test_rules_of_a_folder_are_not_believed_where_the_folder_is_not_trusted(
    here: Here, write: Callable[..., None]
) -> None:
    write(web__AGENTS_md="Web rules.", web__a_py="x = 1\n")
    session = talk(replace(here, trusted=False), call("read", path="web/a_py"), "done")
    await session.ask("go")
    assert "rules" not in session.result()


async def test_no_tool_writes_the_rules_of_the_user(here: Here) -> None:
    (here.home / "AGENTS.md").write_text("mine")
    wide = replace(here, tailored=replace(here.tailored, beside=(here.home.parent,)))
    session = talk(wide, call("write", path=str(here.home / "AGENTS.md"), content="theirs"), "done")
    await session.ask("go")
    assert session.result().startswith("error: ")
    assert (here.home / "AGENTS.md").read_text() == "mine"


async def test_init_asks_for_a_draft_of_the_rules() -> None:
    from stage import Stage, until
    from test_app import running, send

    stage = Stage()
    async with running(stage) as pilot:
        await send(pilot, "/init")
        await until(pilot, lambda: stage.asked)
    assert stage.asked[0].startswith("Draft an AGENTS.md at the top of this repository")


@pytest.mark.parametrize("kept", [".env", ".git/config", ".ogcode/trust"])
def test_a_link_does_not_make_rules_of_what_is_kept_from_others(here: Here, kept: str) -> None:
    (here.root.top / kept).parent.mkdir(exist_ok=True)
    (here.root.top / kept).write_text("token=1")
    for name in ("AGENTS.md", "MEMORY.md"):
        (here.root.top / name).symlink_to(kept)
    assert "token=1" not in talk(here).opened.session.system
