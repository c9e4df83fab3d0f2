"""What a headless run prints on stdout: the answer, or JSON, and nothing else."""

import json
import uuid
from typing import Protocol, TextIO

from ogcode.agent.clean import clean
from ogcode.agent.events import (
    Answered,
    Event,
    Retrying,
    SummedUp,
    ToolFinished,
    Waiting,
    Warned,
)
from ogcode.agent.version import VERSION
from ogcode.tui.headless.partial import Partial
from ogcode.tui.headless.progress import Started
from ogcode.tui.headless.result import FORMAT, Outcome, arguments_of, result


class Output(Protocol):
    def begin(self, started: Started) -> None: ...
    def event(self, event: Event) -> None: ...
    def end(self, outcome: Outcome) -> None: ...


class Text:
    """The answer as text."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def begin(self, started: Started) -> None: ...
    def event(self, event: Event) -> None: ...

    def end(self, outcome: Outcome) -> None:
        if text := outcome.said:
            shown = clean(text, prose=True) if self._stdout.isatty() else text.encode("utf-8", "replace").decode()
            self._write(shown)

    def _write(self, text: str) -> None:
        self._stdout.write(text if text.endswith("\n") else f"{text}\n")
        self._stdout.flush()


class Json(Text):
    """One JSON object when a turn is over."""

    def end(self, outcome: Outcome) -> None:
        self._write(json.dumps(result(outcome)))


class StreamJson(Json):
    """One JSON object a line, as it happens; the result comes last. `partial`: messages as they come, too."""

    def __init__(self, stdout: TextIO, session_id: str, folder: str, *, partial: Partial | None = None) -> None:
        super().__init__(stdout)
        self._session_id = session_id
        self._folder = folder
        self._partial = partial

    def begin(self, started: Started) -> None:
        self._object(
            {
                "type": "system",
                "subtype": "init",
                "cwd": self._folder,
                "model": started.model,
                "permissionMode": started.mode,
                "tools": sorted(started.tools),
                "ogcode_version": VERSION,
            }
        )

    def event(self, event: Event) -> None:
        for told in self._partial.told(event) if self._partial else ():
            self._object({"type": "stream_event", "event": told, "parent_tool_use_id": None, "uuid": str(uuid.uuid4())})
        match event:
            case Answered(text, calls):
                content: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
                content += [
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call.arguments)}
                    for call in calls
                ]
                self._object({"type": "assistant", "message": {"role": "assistant", "content": content}})
            case ToolFinished(call, output, failed):
                given = {"type": "tool_result", "tool_use_id": call.id, "content": output, "is_error": failed}
                self._object({"type": "user", "message": {"role": "user", "content": [given]}})
            case Retrying(reason, seconds):
                self._object({"type": "system", "subtype": "retry", "reason": reason, "seconds": round(seconds, 1)})
            case Waiting(reason):
                self._object({"type": "system", "subtype": "waiting", "reason": reason})
            case SummedUp(text) if text:
                self._object({"type": "system", "subtype": "summary", "text": text})
            case Warned(text):
                self._object({"type": "system", "subtype": "warning", "text": text})

    def _object(self, value: dict[str, object]) -> None:
        self._write(json.dumps({**value, "session_id": self._session_id, "version": FORMAT}))
