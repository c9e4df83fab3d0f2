"""`/permissions`: what is allowed and why, and a rule less."""

from ogcode.agent.clean import clean
from ogcode.tui.screen.actions.command import Command, Front


async def _permissions(app: Front, argument: str) -> None:
    rights = app.desk.rights
    rules = rights.rules()
    kept = [each.rule for each in rules if each.kept]
    word, _, which = argument.partition(" ")
    if word in ("remove", "rm"):
        which = which.strip()
        place = int(which) - 1 if which.isdecimal() and len(which) < 6 else -1
        rule = kept[place] if 0 <= place < len(kept) else which
        await app.transcript.say(rights.remove(rule) if rule in kept else _none(which, len(kept)), "plain")
        return
    lines = [*rights.explained(), ""]
    for each in rules:
        number = f"  [{kept.index(each.rule) + 1}]" if each.kept else ""
        lines.append(f"{each.kind:<6}{clean(each.rule)}  ({clean(each.origin)}){number}")
    lines += [] if rules else ["no rules are set"]
    lines += ["", "/permissions remove NUMBER takes a rule out of your settings again"] if kept else []
    await app.transcript.say("\n".join(lines), "plain")


def _none(which: str, number: int) -> str:
    there = f"1 to {number} are there" if number else "your settings allow nothing for good"
    return f"there is no rule '{which}' that can be removed; {there}"


COMMANDS = (
    Command(
        "/permissions",
        "[remove N]",
        "the rules in force, the mode and the sandbox; or take a rule away",
        _permissions,
        aliases=("/allowed-tools", "/approvals"),
    ),
)
