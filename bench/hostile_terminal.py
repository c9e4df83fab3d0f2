"""Every text of a corpus through the real app in a pseudo-terminal, wherever others' words are shown: none acts on it.

    python -P bench/hostile_terminal.py adversarial.jsonl

Each line is an object with `id` and `input`; names of controls in it (ESC, BEL, U+202E, …) are made what they name.
What the app sends is compared with what it sends of plain words: no other kind of sequence may come, nothing unseen.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stage_cli import end_scribe, new_place
from terminals import ogcode, played

_NAMED = re.compile(r"U\+([0-9A-F]{4,6})")
_WORDS = {
    "ESC": "\x1b",
    "BEL": "\x07",
    "tag characters": "\U000e0041\U000e0042",
    "bytes 80–9F": "\x80\x9b31m\x9d0;x\x9c",
}
_KINDS = re.compile(r"\x1b(?:\[([<>=?]*)[\d;:]*([ -/]*[@-~])|\][^\x07\x1b]*|.)", re.DOTALL)
_UNSEEN = re.compile("[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200c\u200e-\u200f\u202a-\u202e"
                     "\u2060-\u206f\ufeff\U000e0000-\U000e007f]")  # fmt: skip
_FREE = "mHn"
"""How sequences end that come any number of times: colours, places, questions where the cursor is."""
_AT_ONCE = 8
"""Texts in one run of the app."""


def acting(text: str) -> str:
    """Make the controls that are named in a text."""
    for word, control in _WORDS.items():
        text = text.replace(f"{word} ", control).replace(word, control)
    return _NAMED.sub(lambda found: chr(int(found[1], 16)), text)


def shown(texts: Sequence[str]) -> str:
    """Run the app on texts, each as a message, an answer, a call, its output and a file's name; give all it sent."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = new_place(Path(folder))
        calls = list[dict[str, object]]()
        for number, text in enumerate(texts):
            (place.folder / f"{number}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
            name = text.replace("/", "_").replace("\0", "")[:40] or "x"
            (place.folder / os.fsdecode(f"{number} {name}".encode("utf-8", "replace"))).touch()
            calls += [
                {"name": "read", "arguments": {"path": f"{number}.txt"}},
                {"name": "bash", "arguments": {"command": f"cat {number}.txt; exit 1 # {' '.join(text.split())}"}},
                {"name": "grep", "arguments": {"pattern": text}},
                {"name": text[:60] or "x", "arguments": {text: text}},
            ]
        calls.append({"name": "glob", "arguments": {"pattern": "*"}})
        whole = "\n\n".join(texts)
        replies: list[object] = [{"text": text, "calls": calls[4 * at : 4 * at + 4]} for at, text in enumerate(texts)]
        replies += [{"text": whole, "calls": calls[-1:]}, {"text": f"{whole}\n\nTHE-END", "delay": 0.001}]
        played(place, [{"role": "agent", "replies": replies}, {"role": "scribe", "replies": [{"error": "broken"}]}])
        request = " ".join(whole.replace("\0", "").encode("utf-8", "replace").decode().split())[:2_000]
        subprocess.run(["git", "-C", place.folder, "symbolic-ref", "HEAD", "refs/heads/\u202ehi\u200b"], check=False)
        terminal = ogcode(place, "--mode", "yolo", f"go: {request}")
        terminal.sees("THE-END")
        terminal.sees("note 2")
        for key in ("\x0f", "\x1b[5~", "\x1b[5~", "\x1b[6~"):
            there = len(terminal.raw)
            terminal.child.send(key)
            terminal.until(lambda there=there: len(terminal.raw) > there)  # type: ignore[misc]
        terminal.child.send("\x03\x04")
        if terminal.ends() != 0 or not terminal.restored():
            raise SystemExit(f"the app did not end well: {terminal.raw[-500:]!r}")
        end_scribe(place)
        return terminal.raw


def kinds(raw: str) -> Counter[str]:
    """Count the sequences of an output; those of colours and places whatever their numbers."""
    found = [each[0] for each in _KINDS.finditer(raw)]
    return Counter(re.sub(r"[\d;]+", "", each) if each[-1] in _FREE else each for each in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    lines = [json.loads(line) for line in parser.parse_args().corpus.read_text("utf-8").splitlines()]
    usual = kinds(shown(["plain words, and **some** of `them`\n\n- a\n\n[x](y)"] * 3))
    faults = 0
    for at in range(0, len(lines), _AT_ONCE):
        some = lines[at : at + _AT_ONCE]
        raw = shown([acting(line["input"]) for line in some])
        odd = [
            each
            for each, times in kinds(raw).items()
            if times > usual[each] and (each[-1] not in _FREE or each not in usual)
        ]
        unseen = sorted({f"U+{ord(each):04X}" for each in _UNSEEN.findall(raw)} - {"U+0007"})
        faults += bool(odd or unseen)
        print(f"{some[0]['id']} to {some[-1]['id']}: {len(raw):,} characters", sorted(odd), unseen, flush=True)
    print(f"{len(lines)} texts, {faults} runs with a fault; usual: {sorted(usual.items())}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
