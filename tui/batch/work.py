"""One task, from wherever it was left to its result."""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ogcode.agent.files.root import find_root
from ogcode.agent.rights.trust import Trust
from ogcode.agent.sandbox.layout import SandboxRefused
from ogcode.agent.sensitive.secrets import scrub
from ogcode.tui.batch.child import Child, last_line, start
from ogcode.tui.batch.commands import SECONDS, Done, run_command
from ogcode.tui.batch.journal import Standing
from ogcode.tui.batch.results import STATUSES, Result, Status, Turn
from ogcode.tui.batch.shop import Shop, Stop
from ogcode.tui.batch.tasks import Task
from ogcode.tui.batch.worktrees import GitFailed

_TICK = 0.05
_SIGNALLED = (130, 143)
_OURS = ("running", "kept", "checked")
"""Stages in which there is a turn, or will be, that needn't be run again."""


class Interrupted(Exception):
    """The batch was told to stop, or the task's process was, while it was at work; or it had used up the budget."""

    def __init__(self, cost: float | None = None) -> None:
        super().__init__()
        self.cost = cost


class Ended(Exception):
    """The task is over before its end; why, in a sentence."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status


async def work_on(shop: Shop, task: Task) -> Result | None:
    """Do what is left to do of a task; None where that was interrupted.

    Raises:
        OSError: the journal can't be written.
    """
    step, turn, check = shop.journal.of(task.id), None, None
    attempt = step.attempt
    try:
        turn = await _earlier(shop, task, step)
        if turn is None:
            attempt += 1
            await put_away(shop, task.id)
            turn = await _turn(shop, task, attempt)
        await _keep(shop, task, attempt)
        check = await _check(shop, task, attempt) if task.check and turn.status == "done" else None
        ended = Ended(turn.status, turn.reason)
        if check and check.code:
            ended = Ended("check_failed", f"the check ended with {check.code}")
    except Interrupted as interrupted:
        await _leave(shop, task.id, interrupted)
        return None
    except Ended as early:
        ended = early
    except (GitFailed, SandboxRefused, OSError) as error:
        ended = Ended("failed", str(error))
    return await _finish(shop, task, attempt, turn=turn, ended=ended, check=check)


async def _leave(shop: Shop, task: str, interrupted: Interrupted) -> None:
    """Clear up after a task that was told to stop; what is in the way of that waits for the next start."""
    step = shop.journal.of(task)
    if shop.files(task, step.attempt).alive():
        shop.progress.say(f"{task}: it goes on by itself; the next start takes its result")
        return
    try:
        if step.stage != "kept":
            await put_away(shop, task)
            shop.journal.step(task, "interrupted", step.attempt, cost=interrupted.cost)
        elif shop.worktrees:
            await shop.worktrees.remove(task)
    except (GitFailed, OSError) as error:
        shop.progress.say(f"{task}: {error}")


async def put_away(shop: Shop, task: str) -> None:
    """Put what an earlier attempt left on a branch of its own, and take its worktree away.

    Raises:
        GitFailed, OSError: something is still where the next attempt would be.
    """
    if shop.worktrees is None:
        return
    if os.path.lexists(shop.worktrees.path(task)) and shop.journal.of(task).stage != "preparing":
        await shop.worktrees.keep(task, f"ogcode: {task}: what an earlier attempt left")
        if inner := await shop.worktrees.holds_repositories(task):
            raise GitFailed(f"{shop.worktrees.path(task)} holds a repository of its own, {inner}; move it elsewhere")
    await shop.worktrees.remove(task)
    if kept := await shop.worktrees.set_aside(task):
        shop.progress.say(f"{task}: what an earlier attempt left is on {kept}")


async def over(shop: Shop, task: str) -> None:
    """Wait for the end of a process that an earlier run of the batch has left.

    Raises:
        Interrupted: nobody knows how to end it; it goes on.
    """
    step = shop.journal.of(task)
    files = shop.files(task, step.attempt)
    if files.alive():
        shop.progress.at(task, "goes on from before", files.log)
        await _wait(shop, task, Child(files, step.number("pid"), step.text("born")))


async def _earlier(shop: Shop, task: Task, step: Standing) -> Turn | None:
    """Take the turn that an earlier run of the batch has begun, once it is over; None where there is none to take."""
    await over(shop, task.id)
    if step.task != task.digest or step.stage not in (*_OURS, "started"):
        return None
    told = shop.files(task.id, step.attempt).told()
    turn = Turn.read(told, None) if told else None
    if turn is None or not _cut_off(turn, step):
        return turn
    if shop.stop.code:
        raise Interrupted(turn.cost)
    shop.journal.step(task.id, "interrupted", step.attempt, cost=turn.cost)
    return None


def _cut_off(turn: Turn, step: Standing) -> bool:
    """Tell whether a turn was ended for the sake of the batch, by a signal or what was left to spend."""
    return turn.exit_code in _SIGNALLED or (turn.over_cost and step.facts.get("costs") == "what is left")


async def _turn(shop: Shop, task: Task, attempt: int) -> Turn:
    """Run the turn of a task in a fresh worktree."""
    base = await shop.worktrees.head() if shop.worktrees else ""
    shop.journal.step(task.id, "preparing", attempt, digest=task.digest, base=base)
    await _prepare(shop, task, base)
    shop.journal.step(task.id, "started", attempt)
    await _setup(shop, task)
    if shop.stop.code:
        raise Interrupted
    files, folder = shop.files(task.id, attempt), shop.place(task)
    if not folder.is_dir():
        raise Ended("failed", f"{folder} is not there; is it committed?")
    left = _left(shop)
    costs = "what is left" if left is not None and (task.max_cost is None or left < task.max_cost) else ""
    child = start(files, task.prompt, _words(shop, task, left), folder=folder, environ=_environ(shop, folder))
    step = shop.journal.step(task.id, "running", attempt, pid=child.pid, born=child.born, costs=costs)
    shop.progress.at(task.id, "runs", files.log)
    await _wait(shop, task.id, child)
    told, code = files.told(), child.code
    if told is None and (shop.stop.code or code in _SIGNALLED):
        raise Interrupted
    if told is None or code is None:
        why = f"it was ended by signal {-code}" if code and code < 0 else last_line(files.log).removeprefix("ogcode: ")
        raise Ended(STATUSES.get(code or 1, "failed"), why or f"it ended with {code} and no result")
    turn = Turn.read(told, code)
    if _cut_off(turn, step):
        raise Interrupted(turn.cost)
    return turn


async def _prepare(shop: Shop, task: Task, base: str) -> None:
    if shop.worktrees:
        settings = shop.here.root.top / ".ogcode" / "config.toml"
        await shop.worktrees.make(task.id, base, settings=settings if settings.is_file() else None)


async def _setup(shop: Shop, task: Task) -> None:
    done = await _command(shop, task, "setup", task.setup) if task.setup else None
    if done and done.code:
        said = " ".join(done.output.split())[-300:]
        raise Ended("setup_failed", f"setup ended with {done.code}{f': {said}' if said else ''}")


async def _keep(shop: Shop, task: Task, attempt: int) -> None:
    if shop.journal.of(task.id).stage not in ("kept", "checked"):
        message = f"ogcode: {task.id}\n\nA task of the batch {shop.name}."
        commit = await shop.worktrees.keep(task.id, message) if shop.worktrees else ""
        shop.journal.step(task.id, "kept", attempt, commit=commit)


async def _check(shop: Shop, task: Task, attempt: int) -> Done:
    step = shop.journal.of(task.id)
    if step.stage == "checked":
        return Done(step.number("check") or 0, step.text("output"))
    if shop.worktrees and not shop.worktrees.path(task.id).exists():  # the batch was stopped at this point
        await _prepare(shop, task, "")
        await _setup(shop, task)
    done = await _command(shop, task, "check", task.check)
    done = replace(done, output=scrub(done.output, shop.here.secrets))
    shop.journal.step(task.id, "checked", attempt, check=done.code, output=done.output)
    return done


async def _finish(
    shop: Shop, task: Task, attempt: int, *, turn: Turn | None, ended: Ended, check: Done | None
) -> Result:
    """Clear up, and put together what came of the task: its end is on disk when this returns."""
    commit, branch, diff, left = "", None, None, None
    reasons = [str(ended)] if str(ended) else []
    step = shop.journal.of(task.id)
    if worktrees := shop.worktrees:
        place = worktrees.path(task.id)
        stage = step.stage if step.attempt == attempt else None
        try:
            if stage in ("started", "running") and place.exists():
                await worktrees.keep(task.id, f"ogcode: {task.id}: what it left\n\n{ended}")
            if stage and (commit := await worktrees.tip(task.id)):
                branch, diff = worktrees.branch(task.id), await worktrees.diff(step.text("base"), commit)
            if inner := await worktrees.holds_repositories(task.id) if branch else "":
                reasons.append(f"{place} stays, for it holds a repository of its own: {inner}")
            elif stage and not shop.wishes.keep_worktrees:
                await worktrees.remove(task.id)
        except (GitFailed, OSError) as error:
            reasons.append(str(error))
        left = str(place) if os.path.lexists(place) else None
    secrets = shop.here.secrets
    result = Result(
        id=task.id,
        attempt=attempt,
        status=ended.status,
        reason=scrub("; ".join(dict.fromkeys(reasons)), secrets),
        answer=scrub(turn.answer, secrets) if turn else "",
        exit_code=turn.exit_code if turn else None,
        check=check.code if check else None,
        check_output=check.output if check and check.code else "",
        branch=branch,
        commit=commit or None,
        diff=diff,
        worktree=left,
        tokens=turn.tokens if turn else 0,
        cost=turn.cost if turn else None,
        note=turn.note if turn else None,
        note_pending=turn.pending if turn else False,
        seconds=turn.seconds if turn else 0.0,
        session=turn.session if turn else None,
    )
    row = result.row(shop.name)
    shop.journal.step(task.id, "finished", attempt, digest=task.digest, cost=result.cost, result=row)
    for number in range(1, attempt + 1):
        shop.files(task.id, number).drop()
    return result


async def _wait(shop: Shop, task: str, child: Child) -> None:
    shop.stop.children[task] = child
    try:
        while child.running:  # one that is not ours tells nobody when it ends
            if shop.stop.code and child.pid is None:
                raise Interrupted
            await asyncio.sleep(_TICK)
    finally:
        del shop.stop.children[task]


async def _command(shop: Shop, task: Task, what: str, command: str) -> Done:
    shop.progress.at(task.id, what)
    seconds = task.command_time or SECONDS
    asked = run_command(command, shop.here, shop.place(task), seconds=seconds)
    return await _unless_stopped(shop.stop, asked)


async def _unless_stopped(stop: Stop, asked: Coroutine[Any, Any, Done]) -> Done:
    running = asyncio.ensure_future(asked)
    stop.commands.add(running)
    try:
        if stop.code:
            running.cancel()
        return await running
    except asyncio.CancelledError:
        if not stop.code:
            raise
        raise Interrupted from None
    finally:
        running.cancel()
        stop.commands.discard(running)


def _environ(shop: Shop, folder: Path) -> Mapping[str, str]:
    """Pass on the trust in the checkout where it does not reach the worktree, whose settings may be older."""
    here = shop.here
    holds = Trust(here.home).holds(find_root(folder, None))
    return here.environ if holds else {**here.environ, "OGCODE_TRUST": "1"}


def _left(shop: Shop) -> float | None:
    """Tell what the batch may still cost."""
    most = shop.wishes.max_cost
    return None if most is None else max(most - shop.journal.spent, 0.0)


def _words(shop: Shop, task: Task, left: float | None) -> list[str]:
    """Give the flags of the headless run."""
    wishes = shop.wishes
    costs = [cost for cost in (task.max_cost, left) if cost is not None]
    flags: dict[str, object] = {
        "--model": task.model or wishes.model or None,
        "--mode": task.mode or wishes.mode,
        "--sandbox": wishes.sandbox,
        "--max-turns": task.max_turns,
        "--max-tokens": task.max_tokens,
        "--max-cost": min(costs) if costs else None,
        "--time-limit": task.time_limit,
        "--memory-wait": wishes.memory_wait,
    }
    return [f"{flag}={value}" for flag, value in flags.items() if value is not None]
