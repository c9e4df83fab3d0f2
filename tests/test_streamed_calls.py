import json
import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from ogcode.agent.arguments import Unreadable, read
from ogcode.agent.model import Broken
from ogcode.agent.models.chunks import UNSAID, Assembly
from ogcode.agent.turn import ToolCall

Piece = Mapping[str, object]
CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("shout", {"text": 'a "b" {c}\n', "times": 2}),
    ("list", {}),
    ("shout", {"text": "é😀"}),
    ("read_file", {"path": "a.py", "lines": [1, 2]}),
)


def assembled(pieces: Sequence[Piece], reason: str = "tool_calls") -> list[ToolCall]:
    assembly = Assembly("openai/fake")
    for piece in pieces:
        assembly.add({"choices": [{"delta": {"tool_calls": [piece]}}]})
    assembly.reason = reason
    return [delta for delta in assembly.end() if isinstance(delta, ToolCall)]


def cut(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.choices(range(len(text) + 1), k=chance.randrange(4)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def indexed(number: int, name: str, arguments: str, chance: random.Random) -> list[Piece]:
    """As OpenAI does it: an index throughout, id and name first; here the name comes in pieces, too."""
    first, *rest = cut(name, chance)
    return [
        {"index": number, "id": f"id{number}", "function": {"name": first, "arguments": ""}},
        *({"index": number, "function": {"name": piece}} for piece in rest if piece),
        *({"index": number, "function": {"arguments": piece}} for piece in cut(arguments, chance)),
    ]


def indexed_without_ids(number: int, name: str, arguments: str, chance: random.Random) -> list[Piece]:
    first, *rest = cut(arguments, chance)
    return [
        {"index": number, "function": {"name": name, "arguments": first}},
        *({"index": number, "function": {"arguments": piece}} for piece in rest),
    ]


def by_id(number: int, name: str, arguments: str, chance: random.Random) -> list[Piece]:
    """An id in every piece, and every index is 0."""
    first, *rest = cut(arguments, chance)
    return [
        {"index": 0, "id": f"id{number}", "function": {"name": name, "arguments": first}},
        *({"index": 0, "id": f"id{number}", "function": {"arguments": piece}} for piece in rest),
    ]


def same_id(number: int, name: str, arguments: str, chance: random.Random) -> list[Piece]:
    """An index, and one id for all."""
    return [{**piece, "id": "call"} for piece in indexed_without_ids(number, name, arguments, chance)]


def unmarked(number: int, name: str, arguments: str, chance: random.Random) -> list[Piece]:
    """Neither index nor id: one call after the other."""
    return [{"function": piece["function"]} for piece in indexed_without_ids(number, name, arguments, chance)]


Way = Callable[[int, str, str, random.Random], list[Piece]]


def pieces_of(way: Way, chance: random.Random, *, mixed: bool) -> list[Piece]:
    streams = [way(place, name, json.dumps(given), chance) for place, (name, given) in enumerate(CALLS)]
    pieces = [streams[number].pop(0) for number in range(len(streams))] if mixed else list[Piece]()
    while streams := [stream for stream in streams if stream]:
        pieces.append((chance.choice(streams) if mixed else streams[0]).pop(0))
    return pieces


@pytest.mark.parametrize(
    ("way", "mixed"),
    [
        (indexed, False),
        (indexed, True),
        (indexed_without_ids, False),
        (indexed_without_ids, True),
        (by_id, False),
        (by_id, True),
        (same_id, False),
        (unmarked, False),
    ],
)
def test_calls_are_put_together_however_they_are_streamed(way: Way, mixed: bool) -> None:
    for seed in range(100):
        calls = assembled(pieces_of(way, random.Random(seed), mixed=mixed))
        assert [(call.name, json.loads(call.arguments)) for call in calls] == list(CALLS)
        assert len({call.id for call in calls}) == len(CALLS)


@pytest.mark.parametrize("way", [indexed_without_ids, by_id, same_id, unmarked])
def test_a_stream_that_stops_anywhere_without_a_reason_runs_no_part_of_a_call(way: Way) -> None:
    for seed in range(20):
        pieces = pieces_of(way, random.Random(seed), mixed=False)
        for end in range(1, len(pieces)):
            try:
                calls = assembled(pieces[:end], UNSAID)
            except Broken:
                continue
            assert [(call.name, json.loads(call.arguments)) for call in calls] == list(CALLS)[: len(calls)]


@pytest.mark.parametrize("way", [indexed_without_ids, by_id])
def test_arguments_that_stop_before_their_end_are_never_read(way: Way) -> None:
    name, given = CALLS[0]
    text = json.dumps(given)
    for end in range(1, len(text)):
        (call,) = assembled(way(0, name, text[:end], random.Random(end)))
        with pytest.raises(Unreadable):
            read(call.arguments)
