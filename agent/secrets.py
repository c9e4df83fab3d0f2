"""Take secrets out of a text before it is written anywhere."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping

_SHAPES = (
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("private key", r"(?:[A-Za-z0-9+/=]{16,80}\s+)*[A-Za-z0-9+/=]{4,80}\s*-----END [A-Z ]*PRIVATE KEY-----"),
    ("bearer token", r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}"),
    ("github token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("gitlab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("api key", r"\b(?:sk|rk|pk)-(?:[a-z]{2,12}-)?[A-Za-z0-9_-]{20,}"),
    ("stripe key", r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("google key", r"\bAIza[A-Za-z0-9_-]{30,}"),
    ("slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("huggingface token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi token", r"\bpypi-[A-Za-z0-9_-]{30,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_.-]*"),
    ("password", r"(?<=://)[^\s:/@]{1,60}:[^\s:/@]{3,100}(?=@)"),
)
_ASSIGNED = re.compile(
    r"""(?ix) \b (?<!\[) ( [\w.-]{0,40}?
            (?: passw(?:or)?d | passwd | secret | token | api[_-]?key | access[_-]?key | private[_-]?key | credential )
        [\w.-]{0,40} )
        (["']? \s* (?: = | : | => | := ) \s* ["']?) (?!\[secret) ([^\s"'`,;]{8,}) """
)
_PLAIN = re.compile(r"[A-Za-z_.()\[\]{}<>/-]*|\$.*|.*\(.*|(?:True|False|None|null)", re.IGNORECASE)
_TELLING = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_RULES = tuple((kind, re.compile(shape)) for kind, shape in _SHAPES)


def known_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Pick the values of an environment that its names call secret, longest first."""
    named = {value for name, value in environ.items() if _TELLING.search(name) and len(value) >= 8}
    coded = {b64encode(value.encode("utf-8", "replace")).decode().rstrip("=") for value in named}
    return tuple(sorted(named | coded, key=len, reverse=True))


def scrub(text: str, known: Iterable[str] = ()) -> str:
    """Replace what looks like a secret, and every known one, by its kind: `[secret: github token]`."""
    for value in known:
        text = text.replace(value, "[secret: environment]")
    for kind, rule in _RULES:
        text = rule.sub(f"[secret: {kind}]", text)
    return _ASSIGNED.sub(_assigned, text)


def _assigned(match: re.Match[str]) -> str:
    value = match[3]
    if _PLAIN.fullmatch(value):
        return match[0]
    return f"{match[1]}{match[2]}[secret: {match[1].lower()[-24:]}]"
