"""How often does search find the turn that a later commit came from? Our notes, our index, no model.

    python bench/recall.py SET.json... [--outputs CONVERSATIONS]

A set has turns ("notes": session, ts, user, files, tools, answer) and questions ("queries": q, gold turns, asof). Every
turn is captured and written as the note that needs no model, as the product would; the notes are searched through the
index. Beside it: the whole turns, calls and all, in a plain FTS5 table, and what the same table makes of our notes.
With a folder of whole conversations (`*-SESSION.json`: turns with "tool_results") the comparison is made once more over
the sessions that are in it, what the tools gave included in the whole turns: what indexing everything comes to.
"""

import argparse
import json
import math
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.notes import note_id, parse_note, slug
from ogcode.agent.memory.words import STOP_WORDS
from ogcode.agent.turn import Step, Turn
from ogcode.agent.window.tokens import count

Search = Callable[[str], Sequence[int]]
"""Gives the numbers of turns, best first."""
DEPTH = 400


@dataclass(frozen=True, slots=True)
class Asked:
    words: str
    gold: frozenset[int]
    asof: str


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--outputs", type=Path)
    arguments = parser.parse_args()
    for path in arguments.sets:
        given = json.loads(path.read_text("utf-8"))
        asked = [Asked(each["q"], frozenset(each["gold"]), each["asof"]) for each in given["queries"]]
        with tempfile.TemporaryDirectory() as folder:
            compare(given["name"], given["notes"], asked, Path(folder))
        if arguments.outputs:
            turns, asked = with_outputs(given["notes"], asked, arguments.outputs)
            with tempfile.TemporaryDirectory() as folder:
                compare(f"{given['name']}, where the outputs are known", turns, asked, Path(folder))


def with_outputs(
    turns: Sequence[Mapping[str, object]], asked: Sequence[Asked], folder: Path
) -> tuple[list[Mapping[str, object]], list[Asked]]:
    """Keep the sessions whose conversations are there turn for turn, with what their tools gave, and the questions."""
    sessions = dict[object, list[int]]()
    for number, turn in enumerate(turns):
        sessions.setdefault(turn["session"], []).append(number)
    kept = dict[int, Mapping[str, object]]()
    for path in sorted(folder.glob("*.json")):
        numbers = sessions.get(path.stem.rpartition("-")[2], [])
        told = json.loads(path.read_text("utf-8"))["turns"]
        if len(told) == len(numbers):
            kept |= {
                number: {**turns[number], "outputs": each["tool_results"]}
                for number, each in zip(numbers, told, strict=True)
            }
    places = {number: place for place, number in enumerate(sorted(kept))}
    known = [replace(each, gold=frozenset(places[turn] for turn in each.gold & places.keys())) for each in asked]
    return [kept[number] for number in sorted(kept)], [each for each in known if each.gold]


def compare(name: str, turns: Sequence[Mapping[str, object]], asked: Sequence[Asked], folder: Path) -> None:
    memory, written = remember(turns, folder)
    notes = Notes(open_index(memory), memory.root.store, Scope(), trusted=False)
    numbers = {identity: number for number, identity in enumerate(written)}
    thin, whole = list(written.values()), ["\n".join(everything(turn)) for turn in turns]
    print(f"{name}: {len(turns)} turns, {len(asked)} questions; mean note {mean(map(count, thin)):.0f} tokens")
    ways: dict[str, tuple[Search, Sequence[str]]] = {
        "our notes, our index": (lambda words: [numbers[each.id] for each in notes.find(words, limit=DEPTH)], thin),
        "our notes, plain FTS5": (plain(thin), thin),
        "whole turns, plain FTS5": (plain(whole), whole),
    }
    for way, (search, texts) in ways.items():
        print(f"  {way:24}{score(search, turns, asked, [count(text) for text in texts])}")
    print(f"  {evidence(notes, turns, asked, numbers)}")


def remember(turns: Sequence[Mapping[str, object]], folder: Path) -> tuple[Memory, dict[str, str]]:
    """Write the note of every turn; give the texts by note id, in the order of the turns."""
    (folder / "repository").mkdir()
    memory = Memory.of(find_root(folder / "repository", None), folder / "home")
    memory.root.memory.mkdir(parents=True)
    written = dict[str, str]()
    last: dict[str, int] = {}
    started = datetime(2020, 1, 1, tzinfo=UTC)
    for turn in turns:
        session = str(turn["session"]).ljust(32, "0")
        last[session] = last.get(session, 0) + 1
        started = datetime.fromisoformat(str(turn["ts"])).replace(tzinfo=UTC) if turn["ts"] else started
        while (identity := note_id(started, session)) in written:
            started += timedelta(seconds=1)
        place = Place(session, last[session], started, "none", 128_000)
        job = replace(capture(finished(turn, memory.root.top), place, memory.root.top), id=identity)
        text = written[identity] = extract_note(job)
        (memory.root.memory / f"{identity}--{slug(parse_note('', text.encode()).title)}.md").write_text(text, "utf-8")
        memory.manifest.add(identity, text.encode())
    return memory, written


def finished(turn: Mapping[str, object], top: Path) -> Turn:
    """Make the turn that the product would have had: calls as told, changed files as edits of files that are there."""
    calls = [str(call).partition(": ") for call in listed(turn["tools"])]
    steps = [Step(name or "tool", json.dumps({"input": told})) for name, _, told in calls]
    for path in map(str, listed(turn["files"])):
        if (top / path).resolve().is_relative_to(top.resolve()):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).touch()
        steps.append(Step("edit", json.dumps({"path": path, "old": "", "new": ""})))
    return Turn(str(turn["user"]), str(turn["answer"]), tuple(steps), "done")


def listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def everything(turn: Mapping[str, object]) -> list[str]:
    parts = (listed(turn[key]) for key in ("files", "tools", "outputs") if key in turn)
    return [str(turn["user"]), *(str(part) for each in parts for part in each), str(turn["answer"])]


def plain(texts: Iterable[str]) -> Search:
    """Search texts as they are: one column, bm25, the words of the question without stop words."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61')")
    database.executemany("insert into texts(rowid, text) values (?, ?)", enumerate(texts))

    def search(words: str) -> list[int]:
        every = dict.fromkeys(re.findall(r"[a-z0-9]+", words.lower()))
        match = " OR ".join(f'"{word}"' for word in [word for word in every if word not in STOP_WORDS] or every)
        ranked = "select rowid from texts where texts match ? order by bm25(texts) limit ?"
        return [number for (number,) in database.execute(ranked, (match, DEPTH))]

    return search


def score(search: Search, turns: Sequence[Mapping[str, object]], asked: Sequence[Asked], sizes: Sequence[int]) -> str:
    """Score a search as `hit@k` and the like; what came after the question does not count."""
    places, sessions, tokens = list[int](), list[int](), list[int]()
    for each in asked:
        found = [turn for turn in search(each.words) if before(turns[turn], each)]
        places.append(place([turn in each.gold for turn in found]))
        names = list(dict.fromkeys(turns[turn]["session"] for turn in found))
        wanted = {turns[turn]["session"] for turn in each.gold}
        sessions.append(place([name in wanted for name in names]))
        tokens.append(sum(sizes[turn] for turn in found[:5]))
    low, high = wilson(share(places, 5) / 100, len(places))
    reciprocal = 100 * mean(1 / rank if rank else 0 for rank in places)
    return (
        f"hit@1 {share(places, 1):5.1f}  hit@5 {share(places, 5):5.1f} [{low:.0f}-{high:.0f}]"
        f"  hit@10 {share(places, 10):5.1f}  MRR {reciprocal:5.1f}"
        f"  session hit@1 {share(sessions, 1):5.1f}  hit@5 {share(sessions, 5):5.1f}"
        f"  top five {mean(tokens):5.0f} tokens"
    )


def evidence(
    notes: Notes, turns: Sequence[Mapping[str, object]], asked: Sequence[Asked], numbers: Mapping[str, int]
) -> str:
    """Tell how often a section of a gold turn is within the first 1,000 tokens of what is shown."""
    ranks = list[int]()
    for each in asked:
        shown, spent = list[bool](), 0
        for passage in notes.passages(each.words, characters=16_000):
            spent += count(passage.text)
            turn = numbers[passage.entry.id]
            if spent > 1_000:
                break
            if before(turns[turn], each):
                shown.append(turn in each.gold)
        ranks.append(place(shown))
    return f"a gold turn within the first 1,000 tokens of sections: {share(ranks, len(turns)):.1f} %"


def before(turn: Mapping[str, object], asked: Asked) -> bool:
    return not asked.asof or not turn["ts"] or str(turn["ts"]) <= asked.asof


def place(found: Sequence[bool]) -> int:
    return found.index(True) + 1 if True in found else 0


def share(places: Sequence[int], within: int) -> float:
    return 100 * mean(0 < place <= within for place in places)


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Give the 95 % interval of a share, in per cent."""
    scale, centre = 1 + z * z / n, share + z * z / 2 / n
    reach = z * math.sqrt(share * (1 - share) / n + z * z / 4 / n / n)
    return 100 * (centre - reach) / scale, 100 * (centre + reach) / scale


if __name__ == "__main__":
    main()
