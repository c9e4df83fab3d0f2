"""What the next request holds, part by part; and what is said where it leaves too little room."""

import json
from pathlib import Path

from knowing import a_place, a_repository, call, facts_of, look, talk
from stage_cli import new_place

from ogcode.agent.facts.fact import Fact, item
from ogcode.agent.window import tokens
from ogcode.tui.behind.context import parts_of_next_request


def named(tmp_path: Path) -> Path:
    top = a_repository(tmp_path)
    top.joinpath("AGENTS.md").write_text("Say please.\n\n<facts>\nnone\n</facts>\n", "utf-8")
    top.joinpath("MEMORY.md").write_text("# Memory\n\nBy hand.\n\n- [m-aaaa] Tests run with make.\n", "utf-8")
    return top


def with_facts(top: Path, text: str) -> None:
    """Put sixty facts behind what stands in the project's file."""
    with top.joinpath("MEMORY.md").open("a", encoding="utf-8") as file:
        file.writelines(
            ["\n", *(item(Fact(f"m-{number:04x}", f"{number}: {text}", "project")) for number in range(60))]
        )


async def test_the_parts_of_the_next_request_are_told_one_by_one(tmp_path: Path) -> None:
    here = look(named(tmp_path), tmp_path / "home")
    said = talk(here, call("remember", text="French from now on", scope="session"), "Oui.", "Non.")
    await said.ask("from now on French")
    facts_of(here).remember("CI is slow on Mondays", "project")
    parts = {part.name: part for part in parts_of_next_request(said.opened)}
    names = ["system", "tools", "rules AGENTS.md", "facts", "standing", "previous answer", "news", "answer", "free"]
    assert [*parts] == names
    assert "French" in parts["standing"].detail
    assert parts["facts"].detail == "1 known; by hand in MEMORY.md"
    assert sum(part.tokens for part in parts.values()) == 128_000


async def test_what_is_told_is_what_is_sent(tmp_path: Path) -> None:
    said = talk(look(named(tmp_path), tmp_path / "home"), "One.", "Two.")
    await said.ask("first")
    told = sum(part.tokens for part in parts_of_next_request(said.opened) if part.name not in ("answer", "free"))
    await said.ask("x")
    sent = sum(tokens.count(message.content) for message in said.model.asked[-1])
    tools = [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
        }
        for spec in said.model.offered[-1]
    ]
    assert abs(sent + tokens.count(json.dumps(tools)) - told) <= 10


def test_a_small_window_that_rules_and_facts_fill_keeps_half_of_it_free(tmp_path: Path) -> None:
    top = a_repository(tmp_path)
    for name in ("AGENTS.md", "MEMORY.md"):
        top.joinpath(name).write_text("Prefer small functions, and say in the commit why a change was made. " * 2_000)
    with_facts(top, "what proved out is told in a sentence or two, like here. " * 4)
    opened = talk(look(top, tmp_path / "home"), window=8_192).opened
    parts = parts_of_next_request(opened)
    assert sum(part.tokens for part in parts if part.name not in ("answer", "free")) <= 4_096
    assert not [notice for notice in opened.notices if "of the window" in notice]


def test_what_leaves_less_than_half_of_a_small_window_is_named_so_that_it_can_be_shortened(tmp_path: Path) -> None:
    top = a_repository(tmp_path)
    top.joinpath("AGENTS.md").write_text("8613 4071 2957 1120 " * 2_000, "utf-8")
    with_facts(top, "90210 41177 " * 20)
    notice = talk(look(top, tmp_path / "home"), window=8_192).opened.notices[-1]
    assert "of the window of 8,192; shorten facts (" in notice
    assert "), rules AGENTS.md (" in notice


def test_a_large_window_is_not_spoken_of(tmp_path: Path) -> None:
    assert not talk(a_place(tmp_path)).opened.notices


def test_the_command_tells_the_parts_and_keeps_nothing(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    named(tmp_path)
    done = place.run("context", "--json", "--trust", "-m", "openai/fake", OPENAI_API_KEY="k")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["part"] for row in rows] == ["system", "tools", "rules AGENTS.md", "facts", "answer", "free"]
    assert all(row["tokens"] > 0 for row in rows)
    assert not (place.folder / ".ogcode").exists()
