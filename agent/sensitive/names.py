"""Which names say that a secret follows: `GITHUB_TOKEN`, `X-Api-Key`, not `max_tokens` or `keyboard`."""

import re
from functools import lru_cache
from typing import Literal

Telling = Literal["", "perhaps", "surely"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")

_PASSWORDS = (
    *("password", "passwd", "passwort", "passphrase", "passcode", "kennwort", "pwd", "senha", "contraseña"),
    *("密码", "密碼", "пароль", "パスワード"),
)
_SURE = (
    *("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "credential", "credentials"),
    "authorization",
)
_PERHAPS = (
    *("auth", "pass", "cred", "creds", "dsn", "webhook", "hook", "cookie", "bearer", "jwt"),
    *("salt", "sig", "pat", "sas", "key", "accessid", "clientid"),
)
_STEMS = (
    *("secret", "token", "pass", "pwd", "key", "auth", "cred", "dsn", "hook", "cookie", "bearer"),
    *("jwt", "salt", "sig", "pat", "sas", "access", "client", *_PASSWORDS),
)
"""Without one of them nothing tells; most names have none."""

_OWNERS = frozenset(
    """access account admin aes api app application auth authorization client consumer cookie decryption deploy
    developer encryption hmac integration jwt licence license master private root secret server service shared
    signing storage subscription webhook write""".split()
)
"""Words that make a key one to be kept: `api key`."""

_OTHERS = frozenset(
    """answer arrow cache cell child column composite compound config context data dedup dedupe dict don event feature
    field file foreign function group hash header hoc hot idempotency index item job jo json label language list lock
    lookup map memo menu message meta metric mon module name node note object parent partition path primary prop
    property public query queue react record registry resource route row rule schema search section session set
    shortcut sort state step style tab tag test theme trace translation tur unique url version whis""".split()
)
"""Words that make a key one of a table or a keyboard, or none: `primary key`, `monkey`."""

_ABOUT = frozenset(
    """alg algorithm audience bucket budget class claim count counter dir directory endpoint enabled end env error
    exists expiration expires expiry factory field file filename format found function generator handler header hint
    host index input invalid issuer label len length limit limits manager max message method min missing mode name
    names page parser path pattern placeholder policy prefix prompt provider ratio regex required reset rotation rule
    scope scopes service size start state status store strategy strength suffix total ttl type types uri url usage
    used user username valid validation var variable version""".split()
)
"""Last words of a name that is about a secret and doesn't hold it: `token_type`."""

_TEXTS = frozenset(
    """answer bos budget cancel cancellation cls color colour completion continuation continue cursor design end eos
    first input last lexer mask max min next no output pad page parser prev previous prompt punctuation sep special
    start stop sync syntax text theme total unk word""".split()
)
"""Words that make a token one of a text or a listing: `next page token`."""


@lru_cache(maxsize=4096)
def telling(name: str) -> Telling:
    """Say whether a name announces a secret: surely, or perhaps, if the value looks like one."""
    lower = name.lower()
    if not any(stem in lower for stem in _STEMS):
        return ""
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return ""
    pairs = list(zip(["", *words], words, strict=False))
    if any(word.endswith(_PASSWORDS) or (word.endswith(_SURE) and before not in _TEXTS) for before, word in pairs):
        return "surely"
    if any(word in ("key", "keys") and before in _OWNERS for before, word in pairs):
        return "surely"
    before, last = pairs[-1]
    if last == "id":
        return "perhaps" if before in ("access", "client", "key") else ""
    if last.endswith("key"):
        return "" if (last.removesuffix("key") or before) in _OTHERS else "perhaps"
    return "perhaps" if last.endswith(_PERHAPS) and last not in ("bypass", "compass") else ""


@lru_cache(maxsize=4096)
def is_password(name: str) -> bool:
    """Tell what people think up from what a machine made."""
    return any(word.endswith(_PASSWORDS) for word in _words(name))


def kind(name: str) -> str:
    """Give the kind of what stands under a telling name."""
    words = _words(name)
    if is_password(name):
        return "password"
    for ending in ("token", "secret", "key", "cookie", "webhook"):
        if any(word.endswith(ending) for word in words):
            return ending
    return "credential"


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
