"""Thoughts that arrive as text: taken out of the answer where a server has left them in it."""

import re
from collections.abc import AsyncGenerator, Sequence

from ogcode.agent.model import Delta, Finished, Options, Reasoning, Restarted, Text, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.turn import Message, ToolCall

_TAG = re.compile(r"\s*<(/?)(think|thinking|thought)>")
_TAGS = [f"<{slash}{name}>" for name in ("think", "thinking", "thought") for slash in ("", "/")]
_END = re.compile(r"\s*</(think|thinking|thought)>\s*")
_MENTION = re.compile(r"</?(think|thinking|thought)>")


class Thinking(Around):
    """A model whose thoughts are `Reasoning`, also when its server leaves `<think>…</think>` at the start of the text.

    Only what the very start opens is taken for thoughts: an answer that writes about the tag stays as it is. Where a
    template has opened it already, only its end arrives: alone on its line, outside code, and never opened in the text.
    """

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        answer = _Answer()
        async for delta in self._model.stream(messages, tools, options=options):
            match delta:
                case Text(piece):
                    for each in answer.add(piece):
                        yield each
                    continue
                case Restarted():
                    answer = _Answer()
                case ToolCall():
                    answer.calls = True
                case Finished(reason, _):
                    for each in answer.end(cut=reason == "length"):
                        yield each
            yield delta


class _Answer:
    """One answer so far: first undecided, then thinking or said, and never undecided again once it is said."""

    def __init__(self) -> None:
        self.calls = False
        self._held = ""
        """What has come and is not given on yet."""
        self._closer = ""
        """The tag that ends the thoughts, while they last."""
        self._thoughts = list[str]()
        self._told = False
        """Thoughts came, and came to an end: what follows begins without space, and no other end is looked for."""
        self._said: list[str] | None = None
        """What was given as text; None while that has not begun."""
        self._line = ""
        """The last line of it, as far as it has come."""
        self._about = self._fenced = False
        """It mentions such a tag; it is within code."""

    def add(self, piece: str) -> list[Delta]:
        self._held += piece
        given = list[Delta]()
        while self._held and self._step(given):
            pass
        return given

    def end(self, *, cut: bool) -> list[Delta]:
        """Give what was held back; thoughts that never end are the answer, where there is no other."""
        held, self._held = self._held, ""
        if not self._closer:
            return [Text(held)] if held else []
        rest: list[Delta] = [Reasoning(held)] if held else []
        return rest if cut or self.calls else [*rest, Text("".join([*self._thoughts, held]))]

    def _step(self, given: list[Delta]) -> bool:
        """Take of what is held what can be decided; tell whether there is more to decide."""
        if self._closer:
            return self._think(given)
        if self._said is not None:
            return self._say(self._said, given)
        if tag := _TAG.match(self._held):
            self._held = self._held[tag.end() :]
            self._told = bool(tag[1])
            self._closer = "" if tag[1] else f"</{tag[2]}>"
            return True
        start = self._held.lstrip()
        if not start or any(each.startswith(start) for each in _TAGS):
            return False
        self._held = start if self._told else self._held
        self._said = []
        return True

    def _think(self, given: list[Delta]) -> bool:
        thoughts, closed, rest = self._held.partition(self._closer)
        if not closed:
            keep = _overlap(thoughts, self._closer)
            thoughts, rest = thoughts[: len(thoughts) - keep], thoughts[len(thoughts) - keep :]
        if thoughts:
            self._thoughts.append(thoughts)
            given.append(Reasoning(thoughts))
        self._held = rest
        if closed:
            self._closer, self._told = "", True
        return bool(closed)

    def _say(self, said: list[str], given: list[Delta]) -> bool:
        piece, self._held = self._held, ""
        *lines, self._line = (self._line + piece).split("\n")
        for place, line in enumerate(lines, 1):
            if not (self._told or self._about or self._fenced) and _END.fullmatch(line):
                rest = "\n".join([*lines[place:], self._line])
                thoughts = "".join([*said, piece]).removesuffix(rest).rstrip().removesuffix(line.strip()).strip()
                given += [Restarted("what came so far were its thoughts", 0.0), Reasoning(thoughts)]
                self._held, self._said, self._told = rest, None, True
                return True
            self._about = self._about or bool(_MENTION.search(line))
            self._fenced ^= line.lstrip().startswith("```")
        said.append(piece)
        given.append(Text(piece))
        return False


def _overlap(text: str, tag: str) -> int:
    """Tell how much of the end of a text may be the start of a tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
