import pytest

from ogcode.agent.guard import NUDGE, WARM, nudged, repeats
from ogcode.agent.model import Options
from ogcode.agent.turn import Message, ToolCall


def history(*steps: tuple[str, str, str]) -> tuple[Message, ...]:
    messages: tuple[Message, ...] = (Message("user", "go"),)
    for number, (name, arguments, result) in enumerate(steps):
        call = ToolCall(f"c{number}", name, arguments)
        messages = (*messages, Message("assistant", "", (call,)), Message("tool", result, call_id=call.id, name=name))
    return messages


SAME = ("read", '{"path": "a"}', "text of a")


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_three_equal_rounds_are_a_circle_and_two_are_not(period: int) -> None:
    round_ = [("read", f'{{"path": "{letter}"}}', letter) for letter in "abcd"[:period]]
    assert repeats(history(*round_ * 3))
    assert not repeats(history(*round_ * 2))
    assert repeats(history(("bash", "{}", "before"), *round_ * 3))


@pytest.mark.parametrize(
    "steps",
    [
        [SAME, SAME, ("read", '{"path": "a"}', "another text")],
        [SAME, SAME, ("read", '{"path": "b"}', "text of a")],
        [SAME, SAME, ("grep", '{"path": "a"}', "text of a")],
        [SAME, SAME, ("edit", "{}", "done"), SAME],
    ],
)
def test_what_differs_in_call_or_result_is_no_circle(steps: list[tuple[str, str, str]]) -> None:
    assert not repeats(history(*steps))


def test_calls_are_the_same_however_their_arguments_are_written() -> None:
    written = ['{"path": "a", "lines": 1}', '{ "lines":1, "path":"a" }', "{'path': 'a', 'lines': 1,}"]
    assert repeats(history(*(("read", each, "text") for each in written)))


def test_broken_arguments_are_compared_as_they_stand() -> None:
    assert repeats(history(*[("read", '{"path', "error")] * 3))
    assert not repeats(history(*(("read", f'{{"path{number}', "error") for number in range(3))))


def test_what_the_user_adds_begins_a_new_count() -> None:
    assert not repeats((*history(SAME, SAME), Message("user", "once more"), *history(SAME)[1:]))


def test_the_second_round_is_told_and_nothing_else_is_changed() -> None:
    told, warmer = nudged(history(SAME, SAME), Options())
    assert told[:-1] == history(SAME, SAME)[:-1]
    assert told[-1].content == f"text of a{NUDGE}"
    assert warmer.temperature == WARM
    assert nudged(history(SAME, SAME), Options(temperature=0.1))[1].temperature == 0.1
    assert nudged(history(SAME), Options()) == (history(SAME), Options())
