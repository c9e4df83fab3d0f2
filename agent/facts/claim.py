"""Whether an answer says that something was remembered, and whether anything was."""

import json
import re

from ogcode.agent.turn import Turn

NOTHING_SAVED = "the answer says that something will be remembered, but nothing was saved; tell ogcode to remember it"

WRITES = frozenset(("remember", "memory_update", "memory_forget"))

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^>.*$", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_DENIED = re.compile(
    r"\b(?:not|never|nothing|cannot|can't|couldn't|won't|isn't|wasn't|unable|nicht|nichts|kein\w*|pas|rien|no|nada)\b|n't\b",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"""\bI(?:['’]ll|\s+will|\s+shall)\s+(?:\w+\s+){0,1}(?:remember|memori[sz]e|keep\s+(?:that|this|it)\s+in\s+mind)\b
    |\bI(?:['’]ve|\s+have)\s+(?:\w+\s+){0,1}(?:remembered|memori[sz]ed)\b
    |\bI\s+(?:remembered|memori[sz]ed)\s+(?:that|this|it|your)\b
    |\b(?:saved|stored|added|noted|recorded|written|committed|put)\b[^.!?\n]{0,80}
     \b(?:to|in|into)\s+(?:\w+\s+){0,2}(?:memory\b|MEMORY\.md)
    |\bmemory\s+(?:(?:has\s+been|is|was)\s+)?(?:updated|saved)\b
    |\b(?:saved|noted|remembered|stored)\s+(?:\w+\s+){0,2}for\s+(?:future|later|next|the\s+rest)\b
    |\b(?:merke\s+(?:ich\s+)?mir|habe?\s+(?:ich\s+)?(?:mir\s+)?[^.!?\n]{0,40}gemerkt|werde\s+[^.!?\n]{0,40}merken)\b
    |\b(?:je\s+m['’]en\s+souviendrai|je\s+retiens|c['’]est\s+(?:bien\s+)?(?:noté|mémorisé|retenu))(?!\w)
    |\b(?:lo\s+recordaré|lo\s+tendré\s+en\s+cuenta)(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)


def claims_in_vain(turn: Turn) -> bool:
    """Tell whether an answer claims to have remembered what nothing in its turn has written."""
    if any(_wrote(step.name, step.arguments) for step in turn.steps if not step.failed):
        return False
    sentences = _SENTENCE.findall(_CODE.sub(" ", turn.answer[-8_000:]))
    return any(_CLAIM.search(each) and not _DENIED.search(each) for each in sentences)


def _wrote(name: str, arguments: str) -> bool:
    if name in WRITES:
        return True
    if name not in ("write", "edit"):
        return False
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return isinstance(given, dict) and str(given.get("path", "")).rpartition("/")[2] == "MEMORY.md"
