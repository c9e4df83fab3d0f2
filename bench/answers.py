"""How well does a model answer from memory? Questions to the librarian over notes of real turns.

    python bench/answers.py CONVERSATIONS QUESTIONS.json openai/NAME     (OPENAI_BASE_URL and the like as for ogcode)

CONVERSATIONS is a folder as in bench/digests.py. QUESTIONS is a list of {"question", "fact", "notes"}: a regular
expression that the right answer holds (empty: the notes do not tell), and the turns that tell, as "name of the
file#number", from 0.
Of each answer it is told whether it holds the fact, whether it cites a turn that tells, and whether it cites any other.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ogcode.agent.events import Answered, Event
from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.notes import note_id, slug
from ogcode.agent.model import Model
from ogcode.agent.models.choice import open_model
from ogcode.agent.turn import Step, Turn
from ogcode.librarian.library import Library
from ogcode.librarian.recall import NOTHING, RecallFailed, recall

START = datetime(2026, 9, 1, 9, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scored:
    right: bool
    cited: bool
    strayed: bool
    tokens: int
    requests: int
    told: str


def remembered(memory: Memory, conversations: Path, wanted: set[str]) -> dict[str, str]:
    """Write the notes of conversations, as without a model; give the turn of each."""
    turns = dict[str, str]()
    memory.root.memory.mkdir(parents=True)
    for number, path in enumerate(sorted(conversations.glob("*.json"))):
        if path.stem not in wanted:
            continue
        session = f"{number + 1:08x}" * 4
        for turn, row in enumerate(json.loads(path.read_bytes())["turns"], 1):
            if not row["answer"].strip():
                continue
            steps = tuple(Step(each["name"].lower(), json.dumps({"path": each["args"]})) for each in row["tools"])
            started = START + timedelta(days=number, minutes=7 * turn)
            place = Place(session, turn, started, "bench/none", 32_768)
            job = capture(Turn(row["user"], row["answer"], steps, "done"), place, memory.root.top)
            job = replace(job, id=note_id(started, session))
            text = extract_note(job).encode()
            memory.manifest.add(job.id, text)
            (memory.root.memory / f"{job.id}--{slug(job.request[:60])}.md").write_bytes(text)
            turns[job.id] = f"{path.stem}#{turn - 1}"
    return turns


async def scored(memory: Memory, turns: Mapping[str, str], model: Model, asked: Mapping[str, object]) -> Scored:
    """Ask one question."""
    spent, requests = 0, 0

    def count(event: Event) -> None:
        nonlocal spent, requests
        if isinstance(event, Answered):
            spent, requests = spent + event.usage.tokens, requests + 1

    notes = Notes(open_index(memory), memory.root.store, Scope(), trusted=False)
    library = Library(notes, memory.root.sessions, memory.root.top, memory.seal)
    fact, telling = str(asked["fact"]), asked["notes"]
    assert isinstance(telling, list)
    try:
        answer = await recall(str(asked["question"]), library=library, model=model, emit=count, seconds=600)
    except RecallFailed as error:
        return Scored(False, False, False, spent, requests, f"failed: {error}")
    cited = {turns.get(each.note, each.note) for each in answer.citations}
    absent = answer.text == NOTHING
    right = absent if not fact else bool(re.search(fact, answer.text, re.IGNORECASE | re.DOTALL))
    return Scored(right, bool(cited & {*telling}), bool(cited - {*telling}), spent, requests, answer.told())


async def main(conversations: Path, questions: Path, name: str) -> None:
    model = await open_model(name, environ=dict(os.environ))
    asked = json.loads(questions.read_bytes())
    wanted = {note.partition("#")[0] for each in asked for note in each["notes"]}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "repo").mkdir()
        memory = Memory.of(find_root(Path(folder) / "repo", None), Path(folder) / "home")
        turns = remembered(memory, conversations, wanted)
        all_scores = list[Scored]()
        for each in asked:
            began = time.monotonic()
            score = await scored(memory, turns, model, each)
            all_scores.append(score)
            marks = f"fact {score.right}, cites it {score.cited}, cites others {score.strayed}"
            cost = f"{score.tokens} tokens, {score.requests} requests, {time.monotonic() - began:.0f} s"
            print(f"\n{each['question']}\n  {marks}; {cost}\n  {score.told}", flush=True)
    told = [score for score, each in zip(all_scores, asked, strict=True) if each["fact"]]
    absent = [score for score, each in zip(all_scores, asked, strict=True) if not each["fact"]]
    print(
        f"\n{len(turns)} notes; fact {sum(each.right for each in told)}/{len(told)}, "
        f"cited {sum(each.cited for each in told)}/{len(told)}, "
        f"both {sum(each.right and each.cited for each in told)}/{len(told)}, "
        f"others cited {sum(each.strayed for each in told)}/{len(told)}; "
        f"absence {sum(each.right for each in absent)}/{len(absent)}; "
        f"tokens {sum(each.tokens for each in all_scores) // len(all_scores)} on average"
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
