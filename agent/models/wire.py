"""The one way over HTTP: JSON goes out, lines come back, and every failure is one of ours."""

import ipaddress
import json
import sys
from asyncio import AbstractEventLoop, get_running_loop, timeout
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ogcode.agent.model import Broken, ModelError, Refused
from ogcode.agent.models.refusal import LOGIN, complaint, quoted, refusal, wait_of

if TYPE_CHECKING:
    import httpx

CONNECT = 5.0
IDLE = 300.0
"""Seconds without a byte after which a remote stream is given up."""
LONGEST = 64_000_000
"""Bytes of one line of a stream."""
MOST = 64_000
"""Characters of an error's body that are read."""
UNUSED = ("httpx._main", "httpcore._async.http2", "httpcore._sync.http2")
"""What httpx loads where it finds it: a command line in colour and HTTP/2, more than all the rest."""
SECRET = 8
"""Characters of the shortest key that is worth hiding."""
DRAIN = 0.05
"""Seconds that a finished stream gets to end by itself, so that its connection can be used again."""


def address_of(text: str, advice: str) -> SplitResult:
    """Read the address of an API, with or without its scheme.

    Raises:
        Refused: it is none; the text ends with the advice.
    """
    try:
        return urlsplit(text if "://" in text else f"http://{text}")
    except ValueError as error:
        raise Refused(f"{quoted(text)} is no http:// or https:// address; {advice}") from error


class NotListening(Broken):
    """Nothing answers at an endpoint of this machine; waiting long will not help."""


class Wire:
    """An endpoint and how to speak to it; errors name the model and the place, never the key."""

    def __init__(
        self,
        base: str,
        *,
        model: str,
        key: str = "",
        headers: Mapping[str, str] | None = None,
        advice: str = "check the API base",
        login: str = LOGIN,
        idle: float = IDLE,
    ) -> None:
        """`headers` are those that carry the key and what else the endpoint wants; without them it is a bearer's.

        `advice` is for an endpoint that can't be reached, `login` for a key that is refused.
        """
        try:
            parts = urlsplit(base)
        except ValueError as error:
            raise Refused(f"{model}: {quoted(base)} is no http:// or https:// address; {advice}") from error
        self.base = base.rstrip("/")
        self.model = model
        self.place = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/")
        self.host = parts.hostname or ""
        if headers is None:
            headers = {"authorization": f"Bearer {key}"} if key else {}
        self._headers = {"accept-encoding": "identity", **headers}
        self._key = key
        self._advice = advice
        self._login = login
        self._idle = idle
        self._client: tuple[AbstractEventLoop, httpx.AsyncClient] | None = None

    async def lines(self, path: str, body: Mapping[str, object]) -> AsyncGenerator[str]:
        """Post `body` and yield the lines of the answer as they come.

        Raises:
            ModelError: the endpoint can't be reached, refuses, or breaks off.
        """
        _load_httpx()
        import httpx

        try:
            async with self._open().stream("POST", self.base + path, content=_encoded(body), headers=_JSON) as response:
                if response.status_code != httpx.codes.OK:
                    raise await self._refusal(response)
                heard = monotonic()
                async with aclosing(_pieces(response)) as pieces, aclosing(_lines(pieces)) as lines:
                    async for line in lines:
                        if line is None:
                            raise Broken(f"{self.model}: {self.place} sent a line of over {LONGEST:,} bytes; try again")
                        heard = heard if _says_nothing(line) else monotonic()
                        if (silent := monotonic() - heard) > 2 * self._idle and not is_near(self.host):
                            raise Broken(f"{self.model}: {self.place} sent no part of an answer for {silent:.0f} s")
                        yield line
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._broken(error) from error

    async def fetch(self, path: str, body: Mapping[str, object] | None = None, *, seconds: float = CONNECT) -> object:
        """Get (or post `body` and get) one small JSON answer within `seconds`.

        Raises:
            ModelError: as for `lines`.
        """
        _load_httpx()
        import httpx

        client = self._open()  # first: to load it takes a while, which is not the endpoint's
        try:
            async with timeout(seconds):
                response = await client.request(
                    "GET" if body is None else "POST",
                    self.base + path,
                    content=None if body is None else _encoded(body),
                    headers=_JSON,
                )
            if response.status_code != httpx.codes.OK:
                raise await self._refusal(response)
            found: object = response.json()
        except TimeoutError as error:
            raise Broken(f"{self.model}: {self.place} did not answer within {seconds:g} s; {self._advice}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._broken(error) from error
        except ValueError as error:
            raise Broken(f"{self.model}: {self.place} did not answer in JSON; {self._advice}") from error
        return found

    def _open(self) -> "httpx.AsyncClient":
        """Return the client of the running loop; its connections can't be used from another."""
        import httpx

        loop = get_running_loop()
        if self._client and self._client[0] is loop:
            return self._client[1]
        loopback = is_loopback(self.host)
        waits = httpx.Timeout(self._idle, connect=CONNECT, read=None if is_near(self.host) else self._idle, pool=None)
        try:
            client = httpx.AsyncClient(
                headers=self._headers,
                timeout=waits,
                limits=httpx.Limits(keepalive_expiry=60),
                trust_env=not loopback,  # a proxy must never see what is meant for this machine
                verify=httpx.create_ssl_context() if self.base.startswith("https") else False,
            )
        except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
            raise Refused(
                f"{self.model}: the proxy or certificate settings can't be used ({quoted(str(error))}); "
                "check HTTPS_PROXY and SSL_CERT_FILE"
            ) from error
        self._client = loop, client
        return client

    async def _refusal(self, response: "httpx.Response") -> ModelError:
        text = response.text if response.is_closed else ""
        if not response.is_closed:
            with suppress(TimeoutError):
                async with timeout(CONNECT):
                    async for piece in response.aiter_text():
                        text += piece
                        if len(text) > MOST:
                            break
        if response.is_redirect:
            return Refused(
                f"{self.model}: {self.place} has moved to {response.headers.get('location', '')}; {self._advice}"
            )
        text = self.hide(text)
        asked = wait_of(response.headers, datetime.now(UTC))
        return refusal(
            response.status_code, text, model=self.model, place=self.place, retry_after=asked, login=self._login
        )

    def read(self, text: str) -> dict[str, object]:
        """Read one JSON object of a stream.

        Raises:
            Broken: it is none.
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Broken(
                f"{self.model}: {self.place} sent what is not JSON ({quoted(text[:80])}); try again"
            ) from error
        if not isinstance(found, dict):
            raise Broken(f"{self.model}: {self.place} sent what is not an object ({quoted(text[:80])}); try again")
        return found

    def complaint(self, error: object) -> ModelError:
        """Name what an error object inside a stream that began well means."""
        told = json.loads(self.hide(json.dumps(error, ensure_ascii=False)))
        return complaint(told, model=self.model, place=self.place, login=self._login)

    def hide(self, text: str) -> str:
        """Take the key out of a server's words; what stands where none is needed ("x", "none") is no secret."""
        return text.replace(self._key, "…") if len(self._key) >= SECRET else text

    def _broken(self, error: "httpx.HTTPError | httpx.InvalidURL") -> ModelError:
        import httpx

        match error:
            case httpx.UnsupportedProtocol() | httpx.InvalidURL():
                return Refused(f"{self.model}: {self.place} is no http:// or https:// address; {self._advice}")
            case httpx.ProxyError():
                return Broken(
                    f"{self.model}: the proxy refused the way to {self.place}; check HTTPS_PROXY and NO_PROXY"
                )
            case httpx.ConnectTimeout():
                return Broken(f"{self.model}: {self.place} can't be reached within {CONNECT:g} s; {self._advice}")
            case httpx.ConnectError() if is_loopback(self.host):
                return NotListening(f"{self.model}: nothing listens at {self.place}; {self._advice}")
            case httpx.ConnectError():
                return Broken(f"{self.model}: {self.place} can't be reached ({quoted(str(error))}); {self._advice}")
            case httpx.TimeoutException():
                return Broken(f"{self.model}: {self.place} sent nothing for {self._idle:g} s; try again")
            case _:
                return Broken(f"{self.model}: the connection to {self.place} broke off; try again")


_JSON = {"content-type": "application/json"}


def _load_httpx() -> None:
    """Import httpx as if what is unused were not installed; whoever wants HTTP/2 later still gets it."""
    if "httpx" in sys.modules:
        return
    hidden = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: an import of it fails
    try:
        import httpcore  # noqa: F401  # httpx itself waits with it until there is a client
        import httpx  # noqa: F401
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_near(host: str) -> bool:
    """Tell whether a host is of this machine or its network, where a model may have to be loaded first."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal"))


def _encoded(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


async def _pieces(response: "httpx.Response") -> AsyncGenerator[bytes]:
    import httpx

    pieces = response.aiter_bytes()
    try:
        async for piece in pieces:
            yield piece
    except GeneratorExit:
        with suppress(TimeoutError, httpx.HTTPError):  # what follows a proper end can't spoil it
            async with timeout(DRAIN):
                async for _ in pieces:
                    pass
        raise


def _says_nothing(line: str) -> bool:
    """Tell what only keeps a connection open from what is part of an answer."""
    return not line or line.startswith((":", "event:")) or (line.startswith("data:") and '"type": "ping"' in line[:40])


async def _lines(pieces: AsyncGenerator[bytes]) -> AsyncGenerator[str | None]:
    """Cut at line feeds and nowhere else (JSON may hold other separators); None for a line beyond all bounds."""
    open_line, length = list[bytes](), 0
    async for piece in pieces:
        *closed, rest = piece.split(b"\n")
        for line in closed:
            yield b"".join([*open_line, line]).decode("utf-8", "replace").rstrip("\r")
            open_line, length = [], 0
        open_line.append(rest)
        length += len(rest)
        if length > LONGEST:
            yield None
    if last := b"".join(open_line):
        yield last.decode("utf-8", "replace").rstrip("\r")
