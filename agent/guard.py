"""Notice a model that goes round in circles."""

from collections.abc import Sequence

from ogcode.agent.turn import Message

CYCLES = 3
LONGEST = 4


def repeats(history: Sequence[Message]) -> bool:
    """Tell whether the calls end in three equal cycles of up to four calls, results included."""
    asked = {call.id: call for message in history for call in message.calls}
    done = [
        (asked[message.call_id].name, asked[message.call_id].arguments, message.content)
        for message in history
        if message.role == "tool" and message.call_id in asked
    ]
    return any(
        len(done) >= CYCLES * period and done[-period:] * CYCLES == done[-CYCLES * period :]
        for period in range(1, LONGEST + 1)
    )
