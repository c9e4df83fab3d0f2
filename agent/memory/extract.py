"""Notes that need no model: rendered from the job alone, the same every time."""

import re
from collections import Counter
from collections.abc import Mapping

from ogcode.agent.memory.calls import within
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import cut, folded, head_and_tail, quoted
from ogcode.agent.memory.notes import frontmatter
from ogcode.agent.memory.words import STOP_WORDS, split_identifier

REQUEST = 1500
"""Characters of the user's words in a note."""

ANSWER = 1400
WORDS = 2500
"""Characters of request and answer together in a note without a model; the answer has at most ANSWER."""

STEPS, OTHERS = 300, 150
"""Bytes of its calls: those that changed something or failed, or else others. A turn is found by what was said."""

KEY_FILES = 12

SHORT = 600
"""Characters (about 150 tokens) of request and answer up to which a talk is kept as it was."""

_WEAK = frozenset(
    """add added after again all any before change changed check code done don't file files first fix good great here
    i'll i'm it's let's look make making need new now ok okay out over perfect run see some sure take them then there
    these think two use used using want way what's yes""".split()
)
"""Words that say too little to be topics."""


def is_short_talk(job: Job) -> bool:
    """Tell whether a turn is best remembered word for word."""
    return not job.steps and job.outcome == "done" and len(job.request) + len(job.answer) <= SHORT


def render_note(job: Job, title: str, topics: tuple[str, ...], told: Mapping[str, str], scribe: str) -> str:
    """Put a note together: the frontmatter and the request are code's; empty sections are left out."""
    head = frontmatter(
        {
            "title": title,
            "session_id": job.session_id,
            "created_at": job.created_at,
            "turn": job.turn,
            "outcome": job.outcome,
            "scribe": scribe,
            "files": dict(job.files),
        }
    )
    request = quoted(head_and_tail(job.request, REQUEST))
    lined = {name: text.strip("\n") for name, text in told.items()}  # more could bare what is indented, and no heading
    body = "\n\n".join(f"## {name}\n{text.rstrip()}" for name, text in lined.items() if text)
    return f"{head}\n# {title}\n\nTopics: {', '.join(topics)}\n\n## Request\n{request}\n\n{body}\n"


def extract_note(job: Job) -> str:
    """Render the note that needs no model."""
    told = {
        "What was done": what_was_done(job),
        "Key files & symbols": key_files(job),
        "Outcome": ended(job) + (outcome(job) or "(no answer)"),
    }
    scribe = "verbatim" if is_short_talk(job) else "extract"
    return render_note(job, title_of(job), topics_of(job), told, scribe)


def what_was_done(job: Job) -> str:
    """List what was changed and what failed, or else some calls; files read one after the other share a line."""
    runs = list[str]()
    for step in job.steps:
        tool, _, about = step.partition(" ")
        if tool == "read" and runs and runs[-1].startswith("read ") and not runs[-1].endswith(")"):
            runs[-1] += f", {about}"
        else:
            runs.append(step)
    telling = [run for run in runs if _telling(run)]
    lines, _ = within(telling or runs, lambda run: f"- {cut(_plain(run), 160)}", _telling, STEPS if telling else OTHERS)
    more = len(runs) - len(lines) + job.dropped
    return "\n".join([*lines, *([f"- … {more} more"] if more else [])])


def key_files(job: Job, named: str = "") -> str:
    """List the files that the turn changed, or those it read where it changed none, but for what is `named` already."""
    paths = [path for path in (job.changed or tuple(job.files)) if path not in named]
    lines = [
        _plain(f"- {path}" + (f": {', '.join(job.symbols[path])}" if path in job.symbols else ""))
        for path in paths[:KEY_FILES]
    ]
    more = [f"- … {len(paths) - KEY_FILES} more files"] if len(paths) > KEY_FILES else []
    return "\n".join([*lines, *more])


def ended(job: Job) -> str:
    """Say how a turn ended that was not done."""
    return f"Ended as {job.outcome}: {_plain(job.reason)}\n\n" if job.outcome != "done" else ""


def title_of(job: Job) -> str:
    """Name a turn by the first line of its request that says something; a mere "yes" by what was answered too."""
    lines = [line for line in map(_heading, job.request.splitlines()) if re.search(r"\w", line)]
    said = next((line for line in lines if _says_something(line)), "")
    answered = next(filter(_says_something, map(_heading, job.answer.splitlines())), "")
    brief = lines[0] if lines else ""
    return cut(said or ": ".join(part for part in (brief, answered) if part) or "Untitled", 64, "…")


def topics_of(job: Job) -> tuple[str, ...]:
    """Pick three to six topics: the files' names, then the words that the request leans on."""
    stems = [path.rpartition("/")[2].partition(".")[0] for path in (job.changed or tuple(job.files))]
    words = Counter(word for word in _words(f"{job.request} {job.answer}") if word not in STOP_WORDS | _WEAK)
    asked = [word for word in _words(job.request) if word in words]
    ranked = sorted(dict.fromkeys([*asked, *(words if len(set(asked)) < 3 else ())]), key=lambda word: -words[word])
    named = dict.fromkeys([*[" ".join(split_identifier(stem)) or stem for stem in stems[:3]], *ranked])
    return tuple(cut(topic, 60, "") for topic in map(_plain, named) if topic)[:6] or ("conversation",)


def outcome(job: Job, most: int = ANSWER) -> str:
    """Give the answer, its long code folded and its middle cut out."""
    return quoted(head_and_tail(folded(job.answer), min(most, WORDS - min(REQUEST, len(job.request)))))


def _telling(step: str) -> bool:
    return step.startswith(("write ", "edit ")) or step.endswith("(failed)")


def _heading(line: str) -> str:
    """Take the marks of headings and lists off a line."""
    return re.sub(r"^(?:(?:[#>*-]+|\d+[.)])\s+)+", "", _plain(line))


def _says_something(line: str) -> bool:
    return len(re.findall(r"\w+", line)) >= 3 or len(line) >= 20


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_](?:[\w'’-]*\w)?", text.lower()) if len(word) > 2]


def _plain(text: str) -> str:
    return " ".join(text.split())
