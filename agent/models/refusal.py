"""What a provider's refusal means: statuses and texts become the few errors that we have."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    ModelError,
    NoSuchModel,
    NoToolSupport,
    Overloaded,
    RateLimited,
    Refused,
    Unauthorized,
)

LONGEST = 300
"""Characters of a server's own words that we pass on."""

_OVERFLOW = re.compile(
    r"context[_ ](length|window|size|limit)|(maximum|max|available|exceeds?) context|exceed_context"
    r"|context the overflows|maximum prompt length|prompt (is )?too long|input is too long|too many (input )?tokens"
    r"|token (count|limit) .{0,40}exceed|range of input length|maximum (model length|number of tokens)"
    r"|(input|prompt) (length |tokens? )?(exceeds?|is longer than) .{0,30}(max|limit|length)|exceeded model token"
    r"|reduce (the length of|your (message|prompt))|inputs?.{0,2} (length and|tokens \+) .?max_(new_)?tokens"
    r"|tokens to keep from|request_too_large|request entity too large",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"does(n't| not) support (tool|function)|tools? (is|are) not supported|support tool use|tool choice requires"
    r"|tools param requires|function calling is not (supported|enabled)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|not a valid model|unknown model|invalid model|model .{0,120}(not found|does not exist)",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"invalid_api_key|(incorrect|invalid) api key|api key not valid|api key .{0,20}missing", re.IGNORECASE
)
_LACKS_KEY = re.compile(r"missing (credentials|.{0,20}api key)|no api key", re.IGNORECASE)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient (balance|credit)|credit balance is too low|check your plan|out of credits",
    re.IGNORECASE,
)
LOGIN = "check the provider's API key variable"
"""What to do where a key is refused and nobody knows more."""

_SECRET = re.compile(r"\b(sk|gsk|pk|xai|rk)[-_][\w*.-]{6,}|AIza[\w-]{10,}|Bearer\s+\S+", re.IGNORECASE)


def refusal(
    status: int, text: str, *, model: str, place: str, retry_after: float | None = None, login: str = LOGIN
) -> ModelError:
    """Name what a status and the server's words mean, in one sentence for the user."""
    said = f" ({words})" if (words := quoted(text)) else ""
    if _NO_TOOLS.search(text):
        return NoToolSupport(f"{model} can't call tools{said}; choose a model that can with --model")
    if status in (401, 403) or (status == HTTPStatus.BAD_REQUEST and _NO_KEY.search(text)):
        return Unauthorized(f"{model}: {place} refused the key{said}; {login}")
    if status == HTTPStatus.NOT_FOUND or (status in (400, 422) and _NO_MODEL.search(text)):
        return NoSuchModel(f"{model}: {place} does not know this model{said}; check its name and the API base")
    if status == HTTPStatus.PAYMENT_REQUIRED or (status in (400, 429) and _NO_CREDIT.search(text)):
        return Refused(f"{model}: the account at {place} has no credit left{said}; check its plan and billing")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited(f"{model}: too many requests to {place}{said}; wait a little and try again", retry_after)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (status in (400, 422, 500) and _OVERFLOW.search(text)):
        return ContextOverflow(f"{model}: the request is larger than its window{said}; ask for less at once")
    if status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Overloaded(f"{model}: {place} can't serve now (HTTP {status}){said}; try again later", retry_after)
    return Refused(
        f"{model}: {place} rejected the request (HTTP {status}){said}; the same again will be rejected again"
    )


def lacks_key(text: str) -> bool:
    """Tell whether a client complains that it was given no key."""
    return bool(_LACKS_KEY.search(text))


def complaint(error: object, *, model: str, place: str, login: str = LOGIN) -> ModelError:
    """Name what an error object inside a stream that began well means."""
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int | str) and str(code).isdigit() and int(code) >= HTTPStatus.BAD_REQUEST:
        return refusal(int(code), text, model=model, place=place, login=login)
    for words, status in (
        ("rate_limit|too many requests", 429),
        ("overloaded|server_error|api_error|unavailable", 503),
    ):
        if re.search(words, text, re.IGNORECASE):
            return refusal(status, text, model=model, place=place)
    found = refusal(HTTPStatus.BAD_REQUEST, text, model=model, place=place, login=login)
    if not isinstance(found, Refused) or "invalid_request" in text:
        return found
    return Broken(f"{model}: {place} broke off its answer ({quoted(text)}); try again")


def quoted(text: str) -> str:
    """Return a server's own words: one line, bounded, without keys and control characters."""
    if text.lstrip().startswith("<"):
        return "it sent a web page"
    line = " ".join("".join(char if char.isprintable() else " " for char in _SECRET.sub("…", _message(text))).split())
    return line.rstrip(".;") if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _message(text: str) -> str:
    """Find the sentence in an error body of whatever shape."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, list) and found:
        found = found[0]
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read how many seconds a server asks us to wait, None where it says nothing sensible."""
    said = headers.get("retry-after", "").strip()
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif said[:1].isalpha():
            when = parsedate_to_datetime(said)
            seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds()
        else:
            seconds = float(said)
    except (ValueError, OverflowError):
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None
