"""`ogcode models`: what can be used here and now, and which of it is."""

import asyncio
from dataclasses import asdict

from ogcode.agent.model import ModelError, Prices
from ogcode.agent.models.choice import Chosen, chosen
from ogcode.agent.models.offered import Offered, Silent, offered
from ogcode.tui.commands.terminal import answer, answer_json, flat
from ogcode.tui.place import Here

SECONDS = 2.0


def list_models(here: Here, *, as_json: bool) -> int:
    """Print a line for each model, the one that would be asked marked, and one for each endpoint that is silent.

    Raises:
        ModelError: there is none to ask; the text says why.
    """
    found, choice = asyncio.run(_found(here))
    name, why = (choice.name, choice.why) if isinstance(choice, Chosen) else ("", "")
    models = [each for each in found if isinstance(each, Offered)]
    if name and name not in {each.name for each in models}:
        models.append(Offered(name, "named", why))
    for each in models:
        taken = each.name == name
        if as_json:
            answer_json(_row(each) | {"chosen": taken} | ({"why": why} if taken else {}))
        else:
            answer(f"{'*' if taken else ' '} {flat(each.name)}  {'; '.join(told(each))}")
    for silent in (each for each in found if isinstance(each, Silent)):
        if as_json:
            answer_json({"source": silent.source, "place": silent.place, "failure": silent.said})
        else:
            answer(f"- {flat(silent.said)}")
    if not isinstance(choice, Chosen):
        raise choice
    if not as_json:
        answer(f"chosen: {flat(name)} ({why})")
    return 0


async def _found(here: Here) -> tuple[list[Offered | Silent], Chosen | ModelError]:
    choosing = asyncio.ensure_future(_chosen(here))
    found = await offered(
        environ=here.environ, api_base=here.config.api_base, prices_cache=here.home / "prices.json", seconds=SECONDS
    )
    return found, await choosing


async def _chosen(here: Here) -> Chosen | ModelError:
    try:
        return await chosen(flag="", environ=here.environ, configured=here.config.model, seconds=SECONDS)
    except ModelError as error:
        return error


def _row(each: Offered) -> dict[str, object]:
    return {
        "model": each.name,
        "source": each.source,
        "place": each.place,
        "size": each.size or None,
        "parameters": each.parameters or None,
        "context": each.context or None,
        "loaded": each.loaded,
        "tools": each.able.tools,
        "vision": each.able.vision,
        "thinking": list(each.able.thinking) if each.able.tools is not None else None,
        "prices": asdict(each.prices) if each.prices else None,
    }


def told(each: Offered) -> list[str]:
    """Say what is known of a model."""
    said = list[str]()
    if each.parameters:
        said.append(f"{_short(each.parameters, 'KMB')} parameters")
    if each.size:
        said.append(f"{_short(each.size, 'KMG')}B")
    if each.context:
        said.append(f"context {each.context:,}")
    if each.able.tools is not None:
        able = {"tools": each.able.tools, "thinking": each.able.thinking, "vision": each.able.vision}
        said.append(", ".join(name for name, has in able.items() if has) or "neither tools, thinking nor vision")
    if each.loaded is not None:
        said.append(f"loaded with {each.loaded:,}" if each.loaded else "loaded")
    if each.prices:
        said.append(_priced(each.prices))
    said.append({"key": f"{each.place} is set", "named": each.place}.get(each.source, f"at {each.place}"))
    return said


def _priced(prices: Prices) -> str:
    return f"${prices.input * 1e6:.2f} in, ${prices.output * 1e6:.2f} out per million tokens"


def _short(number: float, letters: str) -> str:
    """Write a large number for a person, in thousands, millions or thousands of millions."""
    for power, letter in reversed(list(enumerate(letters, 1))):
        if number >= 1000**power:
            return f"{number / 1000**power:.1f}{letter}"
    return f"{number:.0f}"
