"""The ledger, what is read out of it, and what replay would have sent."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_server import Call, FakeServer, Say
from stage_cli import Place, model_of, new_place, playing

from ogcode.agent.events import Event, TurnFinished, ignore
from ogcode.agent.model import Prices
from ogcode.agent.models.prices import listed
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.turn import Limits, Message, ToolCall, Usage, Verdict
from ogcode.agent.usage import log_usage, read_ledger, spent_on
from ogcode.tui.commands.spending import add_up
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

Serve = Callable[..., FakeServer]
FREE = Limits()
NOW = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    for number in range(6):
        body = "".join(f"line {line} of file {number}\n" for line in range(40 * (number + 1)))
        (tmp_path / "repo" / f"f{number}.txt").write_text(body, "utf-8")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, lambda: NOW, trust=True)


def weighed(*texts: str) -> int:
    return sum(len(text.encode()) for text in texts) // 4


def messages_weight(messages: list[Message]) -> int:
    return weighed(*(each.content for each in messages), *(call.arguments for each in messages for call in each.calls))


def read(number: int) -> ToolCall:
    return ToolCall("", "read", json.dumps({"path": f"f{number}.txt"}))


async def test_replay_is_what_sending_all_earlier_messages_again_would_have_sent(here: Here) -> None:
    """Five turns over two runs, with tool results and a recall; the figure is worked out anew from all messages."""
    recall = ToolCall("", "memory_recall", '{"question": "what did f1 hold?"}')
    turns: list[list[Reply]] = [
        [read(0), read(1), "f1 is longer than f0. " * 20],
        [(read(2), read(3)), "All read. " * 30],
        [recall, "Lines [1].", "It held lines."],
        [read(4), "Short."],
        [read(5), read(0), "The end."],
    ]
    finished, asked = list[TurnFinished](), list[list[tuple[Message, ...]]]()
    previous = list[str]()

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished):
            finished.append(event)

    opened = open_session(here, ScriptedModel(), Choice(), memory="on")
    for number, replies in enumerate(turns, 1):
        if number == 3:
            opened.close()
            opened = open_session(here, ScriptedModel(), Choice(latest=True), memory="on")
        opened.session.model = model = ScriptedModel(*replies)
        await opened.session.ask(f"request number {number}", emit=emit, approve=yes, limits=FREE)
        asked.append([each for each in model.asked if not each[1].content.startswith("Passages:")])
        previous.append(finished[-1].turn.answer)
    specs = weighed(*map(str, model.offered[-1]))
    history = 0
    for number, requests in enumerate(asked):
        sent = sum(messages_weight(list(each)) + specs for each in requests)
        again = history - weighed(previous[number - 1]) if number else 0
        assert finished[number].replay_tokens == pytest.approx(sent + len(requests) * again, rel=0.01)
        last = requests[-1]
        own = [Message("user", f"request number {number + 1}"), *last[2:], Message("assistant", previous[number])]
        history += messages_weight(own)
    assert finished[4].replay_tokens > 2 * finished[4].turn.sent
    ledger = add_up(read_ledger(here.root.store))
    assert ledger.replay.tokens == sum(event.replay_tokens for event in finished)
    assert finished[4].replay_tokens / 10 < finished[4].replay_tokens_cached < finished[4].replay_tokens


async def test_what_stubs_and_summaries_took_out_of_a_turn_replay_would_have_sent_all_the_same(here: Here) -> None:
    counted = dict[int, int]()
    for window in (128_000, 8_192):
        replies = [read(number) for number in (3, 4, 5) for _ in range(2)]
        session = open_session(here, ScriptedModel(*replies, "done", window=window), Choice(), memory="off").session
        await session.ask("go", emit=ignore, approve=yes, limits=FREE)
        counted[window] = session.history_tokens
    assert counted[8_192] == pytest.approx(counted[128_000], rel=0.25)


async def test_the_session_counts_what_it_spent_before_it_was_left_and_a_fork_begins_anew(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one", prices=Prices(1e-6, 2e-6, 1e-7)), Choice(), memory="on")
    first = await opened.session.ask("go", emit=ignore, approve=yes, limits=FREE)
    opened.close()
    again = open_session(here, ScriptedModel("two", prices=Prices(1e-6, 2e-6, 1e-7)), Choice(latest=True), memory="on")
    second = await again.session.ask("and on", emit=ignore, approve=yes, limits=FREE)
    assert again.session.usage == first.usage + second.usage
    assert (first.usage.cost or 0) > 0
    fork = open_session(here, ScriptedModel("three"), Choice(latest=True, fork=True), memory="on")
    assert (fork.session.usage, fork.session.history_tokens > 0) == (Usage(), True)


def lines_of(store: Path) -> list[Mapping[str, object]]:
    return [json.loads(line) for line in (store / "usage.jsonl").read_text("utf-8").splitlines()]


def spend(store: Path, day: int, *, role: str = "agent", model: str = "openai/gpt-4.1", **counts: object) -> None:
    given: dict[str, object] = {"input_tokens": 1_000, "output_tokens": 100, "cost": 0.5, **counts}
    unsent = int(str(given.pop("unsent", 0)))
    log_usage(
        store,
        Usage(**given),  # type: ignore[arg-type]  # a table
        role=role,  # type: ignore[arg-type]
        model=model,
        session_id="3f8c21aa" + "0" * 24,
        turn=day,
        now=NOW.replace(day=day),
        unsent=unsent,
    )


@pytest.fixture
def spent(tmp_path: Path) -> Place:
    made = new_place(tmp_path, git=False, indoors=True)
    store = made.folder / ".ogcode"
    store.mkdir()
    spend(store, 1, cache_read_input_tokens=600, cache_creation_input_tokens=200, reasoning_tokens=50)
    spend(store, 2, unsent=5_000)
    spend(store, 2, role="librarian")
    spend(store, 3, role="scribe", model="ollama/qwen3:8b", cost=None)
    with (store / "usage.jsonl").open("ab") as ledger:
        ledger.write(b'{"torn": \n[1, 2]\n{"role": "boss", "cost": 1}\n\xff\xfe\n')
        row = {"role": "agent", "session_id": "s", "turn": 1, "input_tokens": 1, "output_tokens": 1}
        odd: list[Mapping[str, object]] = [{"cost": float("nan")}, {"cost": -1}, {"input_tokens": -5}, {"turn": "x"}]
        for each in odd:
            ledger.write(json.dumps({"cache_read_input_tokens": 0, "cost": 0.0, **row, **each}).encode() + b"\n")
    return made


def test_stats_add_up_by_day_model_and_role(spent: Place) -> None:
    told = json.loads(spent.run("stats", "--json").stdout)
    assert [(each["day"], each["requests"]) for each in told["days"]] == [
        ("2026-09-03", 1),
        ("2026-09-02", 2),
        ("2026-09-01", 1),
    ]
    assert {each["role"]: each["input_tokens"] for each in told["roles"]} == {
        "agent": 2_000,
        "librarian": 1_000,
        "scribe": 1_000,
    }
    assert {each["model"]: each["cost_usd"] for each in told["models"]} == {
        "openai/gpt-4.1": 1.5,
        "ollama/qwen3:8b": None,
    }
    total = told["total"]
    assert (total["requests"], total["cost_usd"], total["unpriced_requests"]) == (4, None, 1)
    assert (total["cache_read_input_tokens"], total["cache_creation_input_tokens"]) == (600, 200)
    assert (total["output_tokens"], total["reasoning_tokens"]) == (400, 50)
    assert told["unreadable_lines"] == 8


def test_stats_tell_what_replay_would_have_cost_by_the_same_prices(spent: Place) -> None:
    told = json.loads(spent.run("stats", "--json").stdout)
    found = listed("openai/gpt-4.1")
    assert found
    assert found.prices
    assert (told["agent_tokens"], told["replay_tokens"]) == (2_000, 7_000)
    assert told["replay_tokens_cached"] == 1_000 + 100 + 5_000
    assert told["replay_cost_usd"] == pytest.approx(1.0 + 5_000 * found.prices.input)
    assert told["replay_cost_usd_cached"] == pytest.approx(1.0 + 5_000 * found.prices.cache_read)
    shown = spent.run("stats")
    assert "with every turn sent again it would have been 7,000" in shown.stdout
    assert "? (1 unpriced)" in shown.stdout
    assert "8 lines of the ledger can't be read" in shown.stderr


def test_stats_of_the_last_days_leave_the_older_ones_out(spent: Place) -> None:
    spend(spent.folder / ".ogcode", 4, model="no/such-model", unsent=10)
    days = (datetime.now(UTC).date() - NOW.date().replace(day=2)).days + 1
    told = json.loads(spent.run("stats", "--json", "--days", str(days)).stdout)
    assert told["since"] == "2026-09-02"
    assert {each["day"] for each in told["days"]} == {"2026-09-02", "2026-09-03", "2026-09-04"}
    assert told["replay_cost_usd"] is None  # no price is known of one of the models
    assert spent.run("stats", "--days", "0").returncode == 2


def test_stats_of_nothing_say_so_and_make_nothing(tmp_path: Path) -> None:
    made = new_place(tmp_path, git=False, indoors=True)
    done = made.run("stats")
    assert (done.returncode, done.stdout) == (0, "nothing is on record\n")
    assert not (made.folder / ".ogcode").exists()


def test_a_ledger_that_is_a_link_is_not_read(spent: Place, tmp_path: Path) -> None:
    ledger = spent.folder / ".ogcode" / "usage.jsonl"
    ledger.rename(tmp_path / "elsewhere")
    ledger.symlink_to(tmp_path / "elsewhere")
    assert spent.run("stats").stdout == "nothing is on record\n"


def test_a_request_of_every_role_is_on_record_with_all_its_counts(tmp_path: Path, serve: Serve) -> None:
    made = new_place(tmp_path, indoors=True)
    recall = Call("memory_recall", {"question": "what was wrong with add?"})
    server = serve(playing([Say("add subtracted."), recall, Say("It subtracted.")]))
    made.run("-p", "what is wrong?", "--memory-wait", "20", **model_of(server))
    result = made.result("-p", "-c", "what was it?", "--memory-wait", "20", **model_of(server))
    rows = lines_of(made.folder / ".ogcode")
    assert [(row["role"], row["turn"]) for row in rows if row["turn"] == 2] == [
        ("agent", 2),
        ("librarian", 2),
        ("agent", 2),
        ("scribe", 2),
    ]
    assert all(row["cost"] is None and row["model"] == "openai/fake" for row in rows)
    assert {"cache_read_input_tokens", "cache_creation_input_tokens", "reasoning_tokens"} <= rows[0].keys()
    mine = [row for row in rows if row["role"] != "scribe"]
    for name in ("input_tokens", "output_tokens"):
        assert result["usage"][name] == sum(int(str(row[name])) for row in mine if row["turn"] == 2)
        assert result["session_usage"][name] == sum(int(str(row[name])) for row in mine)
    assert (result["total_cost_usd"], result["session_cost_usd"]) == (None, None)
    agent = [row for row in mine if row["turn"] == 2 and row["role"] == "agent"]
    assert result["replay_tokens"] == sum(
        int(str(row["input_tokens"])) + int(str(row["unsent_tokens"])) for row in agent
    )
    note = result["memory"]["note"]
    assert result["memory"]["scribe_tokens"] == spent_on(made.folder / ".ogcode", note, "scribe")
