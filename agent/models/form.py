"""The form of a request: what one server rejects is left out for it from then on."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from ogcode.agent.model import Delayed, Delta, Refused

Body = dict[str, object]
Answer = Callable[[Body], AsyncGenerator[Delta]]


class Form:
    """Knows by which words a server complains about each optional key; remembers those that it has complained about."""

    def __init__(self, optional: Mapping[str, tuple[str, ...]]) -> None:
        self._optional = optional
        self.rejected = set[str]()

    async def asked(
        self, body: Callable[[], Body], answer: Answer, *, wanted: Mapping[str, str]
    ) -> AsyncGenerator[Delta]:
        """Ask with what the server takes, again and again until it rejects nothing that could be left out.

        `wanted` are the keys whose loss the user should hear of, and what the user calls them.

        Raises:
            Refused: it rejects what is no option.
        """
        while True:
            sent = {key: value for key, value in body().items() if key not in self.rejected}
            try:
                async with aclosing(answer(sent)) as deltas:
                    async for delta in deltas:
                        yield delta
            except Refused as error:
                said = str(error)
                named = next((key for key in self._optional if key in sent and self._means(key, said)), "")
                if not named:
                    raise
                self.rejected.add(named)
            else:
                return
            if named in wanted:
                yield Delayed(f"the server takes no {wanted[named]}; asked without it from now on")

    def _means(self, key: str, said: str) -> bool:
        return any(word in said for word in (key, *self._optional[key]))
