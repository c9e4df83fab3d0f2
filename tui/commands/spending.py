"""`ogcode stats`: what the requests have cost, by day, model and role; and what sending every turn again would have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ogcode.agent.models.prices import listed
from ogcode.agent.turn import Usage
from ogcode.agent.usage import ROLES, Spent, read_ledger
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.place import Here

LONGEST = 36_500
"""Days."""
MOST = 40
"""Days, and models, that are listed; the largest."""
_HEAD = ("requests", "sent", "cached", "written", "received", "thought", "cost")


@dataclass(slots=True)
class Sum:
    """Requests added up; what they cost is known only if it is of each."""

    requests: int = 0
    unpriced: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        self.requests += 1
        self.unpriced += usage.cost is None
        self.usage += usage

    def merge(self, other: "Sum") -> None:
        self.requests += other.requests
        self.unpriced += other.unpriced
        self.usage += other.usage

    def told(self) -> Mapping[str, object]:
        usage = self.usage
        return {
            "requests": self.requests,
            "input_tokens": usage.input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cost_usd": usage.cost,
            "unpriced_requests": self.unpriced,
        }

    def row(self) -> tuple[str, ...]:
        *counts, cost, unpriced = self.told().values()
        return (*(f"{count:,}" for count in counts), f"${cost:.4f}" if cost is not None else f"? ({unpriced} unpriced)")


@dataclass(slots=True)
class Replay:
    """What the agent's requests would have been, had each held all earlier turns of its session."""

    tokens: int = 0
    cached: float = 0
    """The same with what a request shares with the one before it counted at a tenth."""
    unsent: dict[str, int] = field(default_factory=dict)
    """Tokens of earlier turns that were not sent, by model."""
    _last: dict[str, int] = field(default_factory=dict)

    def add(self, spent: Spent, *, counts: bool = True) -> None:
        """Take note of a request; what does not count may still have put something into the cache."""
        size = spent.usage.input_tokens + spent.unsent
        fresh = max(0, size - self._last.get(spent.session_id, 0))
        self._last[spent.session_id] = size
        if counts:
            self.tokens += size
            self.cached += fresh + (size - fresh) / 10
            self.unsent[spent.model] = self.unsent.get(spent.model, 0) + spent.unsent

    def cost(self, here: Here, paid: float | None) -> tuple[float | None, float | None]:
        """Give what that would have cost, without a cache and with earlier turns read from one; None is not known."""
        found = {model: listed(model, cache=here.home / "prices.json") for model, count in self.unsent.items() if count}
        prices = {model: each.prices for model, each in found.items() if each and each.prices}
        if paid is None or found.keys() - prices.keys():
            return None, None
        plain = sum(self.unsent[model] * each.input for model, each in prices.items())
        cached = sum(self.unsent[model] * each.cache_read for model, each in prices.items())
        return paid + plain, paid + cached


@dataclass(slots=True)
class Spending:
    total: Sum = field(default_factory=Sum)
    days: dict[str, Sum] = field(default_factory=dict)
    models: dict[str, Sum] = field(default_factory=dict)
    roles: dict[str, Sum] = field(default_factory=lambda: {role: Sum() for role in ROLES})
    replay: Replay = field(default_factory=Replay)
    unreadable: int = 0


def add_up(ledger: Iterable[Spent | None], since: str = "") -> Spending:
    """Add up what is on record since a day."""
    spending, parts = Spending(), dict[tuple[str, str, str], Sum]()
    for spent in ledger:
        if spent is None:
            spending.unreadable += 1
            continue
        counts = spent.day >= since
        if spent.role == "agent":
            spending.replay.add(spent, counts=counts)
        if counts:
            key = spent.day, spent.model, spent.role
            if key not in parts:
                parts[key] = Sum()
            parts[key].add(spent.usage)
    for (day, model, role), part in parts.items():
        places = spending.days.setdefault(day, Sum()), spending.models.setdefault(model, Sum()), spending.roles[role]
        for each in (spending.total, *places):
            each.merge(part)
    return spending


def show_spending(here: Here, days: int | None, *, as_json: bool) -> int:
    """Print what was spent on the last so many days, today included, or ever; tokens are the provider's counts."""
    since = (here.now().date() - timedelta(days=min(days, LONGEST) - 1)).isoformat() if days else ""
    spending = add_up(read_ledger(here.root.store), since)
    replay, agent = spending.replay, spending.roles["agent"].usage
    plain, cached = replay.cost(here, agent.cost)
    by_day = dict(sorted(spending.days.items(), reverse=True))
    by_model = dict(sorted(spending.models.items(), key=lambda each: -each[1].usage.tokens))
    by_role = {role: each for role, each in spending.roles.items() if each.requests}
    if as_json:
        answer_json(
            {
                "since": since or None,
                "total": spending.total.told(),
                "days": [{"day": day, **each.told()} for day, each in by_day.items()],
                "models": [{"model": model, **each.told()} for model, each in by_model.items()],
                "roles": [{"role": role, **each.told()} for role, each in by_role.items()],
                "agent_tokens": agent.input_tokens,
                "replay_tokens": replay.tokens,
                "replay_tokens_cached": round(replay.cached),
                "agent_cost_usd": agent.cost,
                "replay_cost_usd": plain,
                "replay_cost_usd_cached": cached,
                "unreadable_lines": spending.unreadable,
            }
        )
        return 0
    if spending.unreadable:
        remark(f"ogcode: {spending.unreadable:,} lines of the ledger can't be read and are left out")
    if not spending.total.requests:
        answer(f"nothing is on record{f' since {since}' if since else ''}")
        return 0
    rows = list[tuple[str, ...]]()
    for name, group in (("day", by_day), ("model", by_model), ("role", by_role)):
        shown = list(group.items())[:MOST]
        rows += [(name, *_HEAD), *((flat(key)[:40] or "unknown", *each.row()) for key, each in shown)]
        if len(group) > MOST:
            rows.append((f"… {len(group) - MOST:,} more", *[""] * len(_HEAD)))
    rows.append((f"since {since}" if since else "in all", *spending.total.row()))
    answer(_table(rows))
    if replay.tokens > agent.input_tokens:
        answer(_compared(replay, agent, plain, cached))
    return 0


def _compared(replay: Replay, agent: Usage, plain: float | None, cached: float | None) -> str:
    told = (
        f"the agent sent {agent.input_tokens:,} tokens; with every turn sent again it would have been {replay.tokens:,}"
    )
    if agent.cost is None or plain is None or cached is None:
        return told
    return (
        f"{told}\nit cost ${agent.cost:.4f}; that would have been ${plain:.4f}, or ${cached:.4f} with all of it cached"
    )


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    rows = list(rows)
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = list[str]()
    for name, *cells in rows:
        told = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *told]))
    return "\n".join(line.rstrip() for line in lines)
