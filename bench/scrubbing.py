"""What the rules for secrets find, what they touch that is none, how fast they are, and how they bear the worst text.

    python bench/scrubbing.py SAMPLES.jsonl [CONVERSATIONS.json …] [--show]

A line of SAMPLES is `{"rule", "kind": "tp" | "fp", "text", "secret"}`: with a secret it is an assigned one, and its
value is tried again alone in sentences; `tp` without is a literal one; `fp` must not be touched. Every number is also
given for two halves of the kinds, divided by their names: how far they lie apart is how far it can be trusted. A file
of CONVERSATIONS holds `turns` or `notes`: requests, calls and answers, each turn one text. `--show` prints what was
missed and touched. Times are CPU time of this process; beside them stands that of one plain search in the same text.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from ogcode.agent.sensitive.secrets import findings, scrub

SENTENCES = ("I tried {} yesterday and it worked.", "use `{}` here", 'It printed "{}" twice', "({})")
SPOKEN = ("user", "tools", "answer")
WORST = (
    *("a", "=", "a-", "a=", "a.", "aB3x", "token=", 'token="', "token: ", "api key ", '"', "'", "`", "\\", " ", "\n"),
    *("://a", "://a:b", "https://hooks/", "curl -u a:b ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
    *(
        "QUJD" * 16 + "\n",
        "QUJDREVG -----END PRIVATE KEY-----",
        "eyJhbGciOi",
        "eyJhbGciOi.",
        "ghp_",
        "sk-ant-api03-aB3",
    ),
    *("Cookie: a=", "kind: Secret\ndata:\n  a: QUJDREVGR0hJ\n", "value=", 'name="x" value=', "[secret: token]", " is "),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("samples", type=Path)
    parser.add_argument("conversations", type=Path, nargs="*")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    tell = print if given.show else _silent
    _score([json.loads(line) for line in given.samples.read_text().splitlines()], tell)
    if given.conversations:
        _touched([text for path in given.conversations for text in _texts(path)], tell)
    _bear_the_worst()


def _score(samples: list[dict[str, str | None]], tell: Callable[[str], None]) -> None:
    found, asked, tried = Counter[tuple[str, int]](), Counter[tuple[str, int]](), set[str]()
    for sample in samples:
        rule, text, secret = sample["rule"] or "", sample["text"] or "", sample["secret"]
        half = sha256(rule.encode()).digest()[0] & 1
        kind = "false" if sample["kind"] == "fp" else "assigned" if secret else "literal"
        cases = [(kind, text, secret)]
        if secret and kind == "assigned" and secret not in tried:
            tried.add(secret)
            cases += [("bare", sentence.format(secret), secret) for sentence in SENTENCES]
        for kind, case, value in cases:
            clean = scrub(case)
            touched = clean != case and (value is None or value not in clean)
            asked[kind, half] += 1
            found[kind, half] += touched
            if touched is (kind == "false"):
                tell(f"  {kind:8} {rule}: {case!r:.160}")
    for kind in ("assigned", "literal", "bare", "false"):
        halves = ", ".join(_share(found[kind, half], asked[kind, half]) for half in (0, 1))
        every = _share(found[kind, 0] + found[kind, 1], asked[kind, 0] + asked[kind, 1])
        print(f"{kind:8} {every}   (halves: {halves})")


def _touched(texts: list[str], tell: Callable[[str], None]) -> None:
    began = time.process_time()
    touched = [(text, found) for text in texts if (found := findings(text))]
    spent = time.process_time() - began
    for text, found in touched:
        tell(f"  touched  {[(each.kind, text[each.start : each.end]) for each in found]!r:.200}")
    size = sum(len(text.encode()) for text in texts) / 1e6
    began = time.process_time()
    for text in texts:
        re.findall(r"(?i)secret|token|password", text)
    plain = time.process_time() - began
    print(f"turns touched {_share(len(touched), len(texts))}")
    print(f"speed {size / spent:.1f} MB/s over {size:.1f} MB ({spent / plain:.1f} times one search for three words)")


def _bear_the_worst() -> None:
    times = list[tuple[float, float, str]]()
    for unit in WORST:
        short, long = (_seconds((unit * (size // len(unit) + 1))[:size]) for size in (25_000, 100_000))
        times.append((long, long / short, unit))
    for long, ratio, unit in sorted(times, reverse=True)[:5]:
        print(f"100 kB of {unit!r:.40}: {long * 1000:.0f} ms, {ratio:.1f} times that of 25 kB")
    print(f"worst ratio where it takes over 20 ms: {max(ratio for long, ratio, _ in times if long > 0.02):.1f}")


def _seconds(text: str) -> float:
    began = time.process_time()
    scrub(text)
    return time.process_time() - began


def _texts(path: Path) -> Iterator[str]:
    held = json.loads(path.read_text())
    for turn in held.get("turns", held.get("notes", [])):
        yield "\n".join(piece for name in SPOKEN for piece in _strings(turn.get(name)))


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _strings(each)
        case dict():
            for each in value.values():
                yield from _strings(each)


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {part / max(1, whole):.1%}"


def _silent(told: str) -> None:
    pass


if __name__ == "__main__":
    main()
