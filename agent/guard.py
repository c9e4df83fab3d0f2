"""Notice a model that goes round in circles: say so to it once, then stop it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from ogcode.agent.arguments import shown
from ogcode.agent.model import Options
from ogcode.agent.turn import Message, ToolCall

CYCLES = 3
LONGEST = 4
GARBLED = 3
"""Answers in a row with nothing but malformed calls after which a turn ends."""
WARM = 0.8
"""Temperature; what local servers take where none is asked for."""
NUDGE = "\n(The same as before: making this call again will not help. Do something else, or answer.)"


def repeats(history: Sequence[Message], cycles: int = CYCLES) -> bool:
    """Tell whether the calls end in so many equal cycles of up to four calls, results included.

    What the user adds begins a new count: calls may well be made again after it.
    """
    since = max((place for place, message in enumerate(history) if message.role == "user"), default=0)
    asked = {call.id: call for message in history[since:] for call in message.calls}
    results = [each for each in history[since:] if each.role == "tool" and each.call_id in asked][-cycles * LONGEST :]
    done = [(_plain(asked[each.call_id]), each.content) for each in results]
    return any(
        len(done) >= cycles * period and done[-period:] * cycles == done[-cycles * period :]
        for period in range(1, LONGEST + 1)
    )


def _plain(call: ToolCall) -> tuple[str, str]:
    """Tell calls apart by what they ask for, not by how it is written."""
    return call.name, json.dumps(shown(call.arguments), sort_keys=True)


def nudged(history: tuple[Message, ...], options: Options) -> tuple[tuple[Message, ...], Options]:
    """Give history and options as the model should have them: where it has begun to repeat itself, it is told so.

    One that always takes the likeliest word would still say the same: it is given more of a choice, too.
    """
    if not repeats(history, CYCLES - 1):
        return history, options
    told = replace(history[-1], content=history[-1].content + NUDGE)
    warmth = WARM if options.temperature is None else options.temperature
    return (*history[:-1], told), replace(options, temperature=warmth)
