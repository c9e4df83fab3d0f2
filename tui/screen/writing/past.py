"""Earlier messages: walked through with Up and Down, searched with Ctrl+R."""

from collections.abc import Sequence

from ogcode.agent.clean import clean


class Past:
    """The messages of this project, oldest first, and the place that the user is at; behind the last is the draft."""

    def __init__(self) -> None:
        self.recalled = False
        self.said: list[str] = []
        self._place = 0
        self._draft = ""

    def recall(self, said: Sequence[str]) -> None:
        """Put what was said in earlier sessions before what was said in this one, once."""
        if self.recalled:
            return
        self.recalled = True
        self.said[:0] = (clean(each, prose=True) for each in said)
        self._place += len(said)

    def add(self, text: str) -> None:
        """Add a message that was sent, and come back from wherever the user was."""
        if not self.said or self.said[-1] != text:
            self.said.append(text)
        self._place, self._draft = len(self.said), ""

    def walk(self, step: int, now: str) -> str | None:
        """Give the message before or behind, `now` being what is in the prompt; None where there is none."""
        place = self._place + step
        if not 0 <= place <= len(self.said):
            return None
        if self._place == len(self.said):
            self._draft = now
        self._place = place
        return self._draft if place == len(self.said) else self.said[place]

    def found(self, words: str) -> list[str]:
        """Give the messages that hold all these words, the newest first, each once."""
        wanted = words.lower().split()
        each_once = dict.fromkeys(reversed(self.said))
        return [text for text in each_once if all(word in text.lower() for word in wanted)]
