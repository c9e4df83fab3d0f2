"""Every other provider, through litellm; the only module that imports it."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delta,
    ModelError,
    Options,
    Overloaded,
    Prices,
    Refused,
    ToolSpec,
    Unauthorized,
)
from ogcode.agent.models.chunks import Assembly, messages_of, tools_of
from ogcode.agent.models.openai import asked_of
from ogcode.agent.models.refusal import lacks_key, quoted, refusal, wait_of
from ogcode.agent.turn import Message
from ogcode.agent.window.fit import longest


class Lite:
    def __init__(
        self,
        name: str,
        *,
        window: int,
        prices: Prices | None = None,
        api_base: str = "",
        traits: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self._api_base = api_base
        self.sees = "sees" in traits
        self.thinks = "thinks" in traits

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        litellm = await asyncio.to_thread(load)
        from openai import OpenAIError  # what all of litellm's errors are

        given: dict[str, object] = {
            "tools": tools_of(tools) or None,
            "max_tokens": longest(options.max_output, self.window, thinks=self.thinks),
            "temperature": options.temperature,
            "api_base": self._api_base or None,
            **asked_of(options),
        }
        assembly = Assembly(self.name)
        try:
            answer = await litellm.acompletion(
                model=self.name,
                messages=messages_of(messages, aloud=self.name.startswith("moonshot/")),
                stream=True,
                stream_options={"include_usage": True},
                num_retries=0,
                max_retries=0,
                drop_params=True,
                **{key: value for key, value in given.items() if value is not None},
            )
            async with aclosing(_chunks(answer)) as chunks:
                async for chunk in chunks:
                    for delta in assembly.add(chunk):
                        yield delta
        except OpenAIError as error:
            raise self._translated(error) from error
        except ImportError as error:
            raise Refused(f"{self.name} needs a package that is not installed ({quoted(str(error))})") from error
        if not assembly.reason:
            raise Broken(f"{self.name}: the answer broke off before its end; try again")
        for delta in assembly.end():
            yield delta

    def _translated(self, error: Exception) -> ModelError:
        text = str(error).rpartition("Exception - ")[2].removeprefix("litellm.").partition("Traceback (most recent")[0]
        place = self.name.partition("/")[0]
        if lacks_key(text):
            return Unauthorized(f"{self.name} needs a key ({quoted(text)})")
        match type(error).__name__:
            case "ContextWindowExceededError":
                return ContextOverflow(
                    f"{self.name}: the request is larger than its window ({quoted(text)}); ask for less"
                )
            case "APIConnectionError" | "MidStreamFallbackError":
                return Broken(f"{self.name}: the connection to {place} broke off ({quoted(text)}); try again")
            case "Timeout":
                return Overloaded(f"{self.name}: {place} did not answer in time; try again later")
        if any(isinstance(cause, OSError) for cause in _causes(error)):
            return Broken(f"{self.name}: {place} can't be reached ({quoted(text)}); check the network and try again")
        status = getattr(error, "status_code", None)
        asked = wait_of(getattr(error, "litellm_response_headers", None) or {}, datetime.now(UTC))
        return refusal(
            status if isinstance(status, int) else 500, text, model=self.name, place=place, retry_after=asked
        )


def _causes(error: BaseException) -> Iterator[BaseException]:
    while cause := error.__cause__ or error.__context__:
        yield cause
        error = cause


async def _chunks(answer: Any) -> AsyncGenerator[dict[str, object]]:  # litellm's wrapper has no useful type
    try:
        async for chunk in answer:
            yield chunk.model_dump()
    finally:
        if close := getattr(answer, "aclose", None):
            await close()


def warm() -> None:
    """Begin to import litellm, so that it is there when the first request is; who leaves before does not wait."""
    threading.Thread(target=load, name="litellm", daemon=True).start()


def load() -> ModuleType:
    """Import litellm (seconds of CPU the first time), kept from network, `.env` files, logs and stdout."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.modify_params = True  # leaves out what a model would refuse: thinking, in a history without its signatures
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    loaded: ModuleType = litellm
    return loaded
