"""An answer that is cut off, at whatever byte: never a wrong one, never a call of an incomplete one."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from asking import HELLO, SHOUT, anthropic, calls_of, ollama, openai, text_of
from conftest import Serve
from fake_server import Bytes

from ogcode.agent.model import Broken, Delta, Finished, Model, Options
from ogcode.agent.turn import ToolCall

STREAMS = Path(__file__).parent / "streams"
SAMPLE = 14
"""Cuts of each stream in the short form, beside its last bytes."""


async def heard(model: Model) -> tuple[list[Delta], bool]:
    """Listen to an answer; tell whether it came to its end."""
    deltas = list[Delta]()
    try:
        async for delta in model.stream(HELLO, [SHOUT], options=Options()):
            deltas.append(delta)
    except Broken:
        return deltas, False
    return deltas, True


def some(length: int) -> Iterable[int]:
    return sorted({*random.Random(4).sample(range(length), SAMPLE), *range(length - 4, length)})


@pytest.mark.parametrize("places", [some, pytest.param(range, marks=pytest.mark.torture)], ids=["some", "every"])
@pytest.mark.parametrize("broken", [True, False], ids=["connection lost", "body closed"])
@pytest.mark.parametrize(
    ("name", "client", "calls"),
    [
        ("openai_text", openai, 0),
        ("openai_tools", openai, 2),
        ("anthropic_text", anthropic, 0),
        ("anthropic_tools", anthropic, 3),
        ("ollama_tools", ollama, 2),
    ],
)
async def test_a_cut_stream_is_broken_or_was_complete(
    serve: Serve,
    name: str,
    client: Callable[[str], Model],
    calls: int,
    *,
    broken: bool,
    places: Callable[[int], Iterable[int]],
) -> None:
    content = (STREAMS / f"{name}.txt").read_bytes()
    cuts = list(places(len(content)))
    server = serve([Bytes(content, broken=False), *(Bytes(content, cut, broken) for cut in cuts)])
    model = client(server.url)
    whole, ended = await heard(model)
    assert ended
    assert len(calls_of(whole)) == calls
    assert text_of(whole) or calls
    complete = 0
    for cut in cuts:
        deltas, ended = await heard(model)
        complete += ended
        if ended:
            assert (text_of(deltas), calls_of(deltas)) == (text_of(whole), calls_of(whole)), cut
        else:
            assert text_of(whole).startswith(text_of(deltas)), cut
            assert not [delta for delta in deltas if isinstance(delta, ToolCall | Finished)], cut
    assert complete < len(cuts) // 2
