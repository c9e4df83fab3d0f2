"""`ogcode memory stats`: what there is, how large it is, and what it has cost."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISREG

from ogcode.agent.index.reading import Entry
from ogcode.agent.usage import read_ledger
from ogcode.tui.commands.notes import counted, open_notes
from ogcode.tui.commands.spending import Sum, add_up
from ogcode.tui.commands.terminal import answer, answer_json, flat
from ogcode.tui.place import Here


def show_stats(here: Here, *, as_json: bool) -> int:
    """Print the numbers; tokens of notes are bytes / 4, those of requests the provider's."""
    entries = open_notes(here).entries()
    written = [entry for entry in entries if not entry.pending]
    spending = add_up(read_ledger(here.root.store))
    days = sorted(entry.created_at[:10] for entry in entries if entry.created_at)
    sizes = [size for entry in written if (size := _size(here.root.store / entry.path))]
    disk = _disk(here.root.store)
    mean = sum(sizes) // max(1, len(sizes))
    sent, replay = spending.roles["agent"].usage.input_tokens, spending.replay.tokens
    if as_json:
        answer_json(
            {
                "notes": len(written),
                "pending": len(entries) - len(written),
                "conversations": len({entry.session_id for entry in entries}),
                "first_day": days[0] if days else None,
                "last_day": days[-1] if days else None,
                **_kinds(written),
                "mean_bytes": mean,
                "mean_tokens": mean // 4,
                "disk_bytes": disk,
                "spent": {role: each.told() for role, each in spending.roles.items()},
                "sent_tokens": sent,
                "replay_tokens": replay,
            }
        )
        return 0
    told = f"{counted(len(written), 'note')} in {counted(len({entry.session_id for entry in entries}), 'conversation')}"
    span = f", {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    pending = len(entries) - len(written)
    answer(f"{told}{span}{f'; {pending} pending' if pending else ''}")
    for kind, counts in _kinds(written).items():
        if counts:
            answer(f"{kind.replace('_', ' ')}: {', '.join(f'{number:,} {name}' for name, number in counts.items())}")
    answer(f"a note: about {mean // 4:,} tokens ({mean:,} bytes)")
    answer(
        f"on disk: {_bytes(sum(disk.values()))} ({', '.join(f'{name} {_bytes(size)}' for name, size in disk.items())})"
    )
    for role, each in spending.roles.items():
        if each.requests:
            answer(f"{role}: {_cost(each)}")
    if replay > sent:
        answer(f"sent {sent:,} tokens; with every turn replayed it would have been about {replay:,}")
    return 0


def _kinds(written: Sequence[Entry]) -> Mapping[str, Mapping[str, int]]:
    kinds = {
        "written_by": [flat(entry.scribe) or "hand" for entry in written],
        "outcomes": [flat(entry.outcome) or "unknown" for entry in written],
        "origins": [entry.origin for entry in written],
    }
    return {kind: dict(Counter(names).most_common(20)) for kind, names in kinds.items()}


def _cost(spent: Sum) -> str:
    total = spent.usage
    cost = "cost unknown" if total.cost is None else f"${total.cost:.4f}"
    sent = f"{total.input_tokens:,} tokens sent ({total.cache_read_input_tokens:,} cached)"
    return f"{counted(spent.requests, 'request')}, {sent}, {total.output_tokens:,} received, {cost}"


def _disk(store: Path) -> dict[str, int]:
    """Sum the bytes of files below each name in `.ogcode`, largest first; links are not followed."""
    sizes = Counter[str]()
    for folder, _, files in os.walk(store) if not store.is_symlink() else ():
        top = os.path.relpath(folder, store).partition(os.sep)[0]
        for file in files:
            sizes[file if top == "." else top] += _size(Path(folder, file))
    return dict(sizes.most_common())


def _size(path: Path) -> int:
    try:
        facts = path.lstat()
    except OSError:
        return 0
    return facts.st_size if S_ISREG(facts.st_mode) else 0


def _bytes(size: int) -> str:
    unit, per = ("MB", 1e6) if size >= 1e6 else ("kB", 1e3)
    return f"{size / per:,.1f} {unit}"
