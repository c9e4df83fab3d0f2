"""Pictures of the app, each with a text that must be on it."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from stage import NOTE, SIZE, STATUS, Clock, Play, Stage, calling, happening, saying, sees, waiting
from stage_sessions import StagedSessions, a_session
from textual.pilot import Pilot

from ogcode.agent.events import Nested, ReasoningDelta, ToolFinished, ToolStarted, Warned
from ogcode.agent.turn import ToolCall
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.prompt import Prompt

Snap = Callable[..., bool]

ANSWER = """## Retry in dispatch

`Send` now waits **twice** as long after each failure. See [the docs](https://example.org/a).

1. `internal/dispatch/retry.go`: the loop
2. `internal/dispatch/retry_test.go`: a fake clock

| file | lines |
|---|---|
| retry.go | 42 |

```python
def backoff(attempt: int) -> float:
    # doubles, with a cap
    return min(2 ** attempt, 60)
```

> Nothing else changed: `Vec<T>` and <b>tags</b> stay [/] as they are.
"""
DIFF = """--- a/internal/dispatch/retry.go
+++ b/internal/dispatch/retry.go
@@ -1,4 +1,5 @@
 package dispatch

-const tries = 1
+const tries = 5
+const limit = time.Minute
"""
CHANGE = DIFF.replace("--- a/", "--- ").replace("+++ b/", "+++ ").replace("-1,4 +1,5", "-1,3 +1,4")
LONG = "\n".join(
    ["--- /dev/null", "+++ a.go", "@@ -0,0 +1,30 @@", *(f"+const line = {number}" for number in range(30))]
)
RECALL = ToolCall("c1", "memory_recall", json.dumps({"question": "what did we decide about retries?"}))
READ = ToolCall("c2", "read", json.dumps({"path": "internal/dispatch/retry.go"}))
EDIT = ToolCall("c3", "edit", json.dumps({"path": "internal/dispatch/retry.go"}))
BASH = ToolCall("c4", "bash", json.dumps({"command": "go test ./internal/dispatch/... && rm -rf build"}))


def after(*plays: Play) -> Play:
    async def play(*given: object) -> None:
        for each in plays:
            await each(*given)  # type: ignore[arg-type]  # passed on as it came

    return play


def stand(stage: Stage) -> Ogcode:
    app = Ogcode(stage, clock=Clock())
    app.animation_level = "none"
    return app


def typed(text: str, seen: str, *then: str) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run(pilot: Pilot[int]) -> None:
        await sees(pilot, "ogcode ·")
        prompt = pilot.app.query_one(Prompt)
        prompt.cursor_blink = False
        prompt.put(text)
        await pilot.press("enter")
        await sees(pilot, seen)
        if then:
            await pilot.press(*then[:-1])
            await sees(pilot, then[-1])
        colours = [worker for worker in pilot.app.workers if worker.group == "colour"]
        if colours:
            await pilot.app.workers.wait_for_complete(colours)
        await pilot.pause()

    return run


def test_a_turn(snap_compare: Snap) -> None:
    inner = Nested("memory_recall", ToolStarted(ToolCall("n", "read", json.dumps({"path": "a-note"}))))
    tools = happening(
        ReasoningDelta("I should look first."),
        ToolStarted(RECALL),
        inner,
        ToolFinished(RECALL, f"Retries stop at five. [[{NOTE}#Decisions & why]]"),
        ToolStarted(READ),
        ToolFinished(READ, "package dispatch\n" * 40),
        ToolStarted(BASH),
        ToolFinished(BASH, "not allowed: use trash instead", failed=True),
        Warned("the scribe could not start; the turn waits in the spool"),
    )
    app = stand(Stage([after(tools, saying("Done: **five** tries."))]))
    assert snap_compare(app, terminal_size=SIZE, run_before=typed("make Send retry", "Done: five tries."))


def test_an_answer(snap_compare: Snap) -> None:
    app = stand(Stage([saying(ANSWER)]))
    assert snap_compare(app, terminal_size=SIZE, run_before=typed("make Send retry", NOTE))


def test_an_unfolded_diff(snap_compare: Snap) -> None:
    stage = Stage([happening(ToolStarted(EDIT), ToolFinished(EDIT, "edited internal/dispatch/retry.go"))])
    stage.work.differences["c3"] = CHANGE
    run = typed("make Send retry", NOTE, "ctrl+o", "3 + const tries = 5")
    assert snap_compare(stand(stage), terminal_size=SIZE, run_before=run)


def test_a_running_turn_with_a_queue(snap_compare: Snap) -> None:
    app = stand(Stage([waiting(ToolStarted(BASH))]))
    run = typed("make Send retry", "running bash", *"then test it", "enter", "queued: then test it")
    assert snap_compare(app, terminal_size=SIZE, run_before=run)


def test_an_approval_of_a_change(snap_compare: Snap) -> None:
    stage = Stage([calling(EDIT, why="it changes a file")], shown=CHANGE)
    stage.rights.rule = "Edit(internal/dispatch/retry.go)"
    assert snap_compare(stand(stage), terminal_size=SIZE, run_before=typed("make Send retry", "3 + const tries = 5"))


def test_an_approval_in_a_small_terminal(snap_compare: Snap) -> None:
    app = stand(Stage([calling(EDIT, why="it changes a file")], shown=LONG))
    assert snap_compare(app, terminal_size=(80, 24), run_before=typed("make Send retry", "see the rest"))


def test_the_commands(snap_compare: Snap) -> None:
    app = stand(Stage(state=replace(STATUS, scripted=False, model="ollama/qwen3:8b", trusted=False, pending=1)))
    assert snap_compare(
        app, terminal_size=SIZE, run_before=typed("/help", "Shift+Tab", "escape", "/", "m", "/memory [word]")
    )


def test_the_sessions(snap_compare: Snap) -> None:
    lines = (
        a_session("3f8c21aa", "make Send retry", name="dispatch retry", day=14),
        a_session("77aa01bc", "why does the cache miss?", branch="ci/cache", day=13),
    )
    run = typed("/resume", "It is fixed.")
    assert snap_compare(stand(Stage(sessions=StagedSessions(lines))), terminal_size=SIZE, run_before=run)


def test_memory(snap_compare: Snap) -> None:
    stage = Stage()
    stage.memory.note_text = f"# Dispatch retry fix\n\nTopics: retries\n\n## Outcome\n\nFive tries [/].\n{DIFF}"
    run = typed("/memory", "Five tries [/].", "1 file     retry.go  changed since")
    assert snap_compare(stand(stage), terminal_size=SIZE, run_before=run)


def test_the_models(snap_compare: Snap) -> None:
    assert snap_compare(stand(Stage()), terminal_size=SIZE, run_before=typed("/model", "openai/gpt-5"))
