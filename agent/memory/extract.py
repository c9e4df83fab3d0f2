"""Notes that need no model: rendered from the job alone, the same every time."""

import re
from collections import Counter

from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import cut, head_and_tail, quoted
from ogcode.agent.memory.notes import frontmatter
from ogcode.agent.memory.words import STOP_WORDS, split_identifier

REQUEST = 1500
"""Characters of the user's words in a note."""

SHORT = 600
"""Characters (about 150 tokens) of request and answer up to which a talk is kept as it was."""


def is_short_talk(job: Job) -> bool:
    """Tell whether a turn is best remembered word for word."""
    return not job.steps and job.outcome == "done" and len(job.request) + len(job.answer) <= SHORT


def render_note(job: Job, title: str, topics: tuple[str, ...], body: str, scribe: str) -> str:
    """Put a note together: the frontmatter and the request are code's, the rest of the body is given."""
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
    return f"{head}\n# {title}\n\nTopics: {', '.join(topics)}\n\n## Request\n{request}\n\n{body.strip()}\n"


def extract_note(job: Job) -> str:
    """Render the note that needs no model."""
    parts = list[str]()
    if job.steps:
        more = f"\n- … {job.dropped} more calls" if job.dropped else ""
        parts.append("## What was done\n" + "\n".join(f"- {_plain(step)}" for step in job.steps[:30]) + more)
    key = [
        _plain(f"- {path}" + (f": {', '.join(job.symbols[path])}" if path in job.symbols else "")) for path in job.files
    ]
    if key:
        parts.append("## Key files & symbols\n" + "\n".join(key))
    ended = f"Ended as {job.outcome}: {_plain(job.reason)}\n\n" if job.outcome != "done" else ""
    parts.append(f"## Outcome\n{ended}{quoted(head_and_tail(job.answer, 1200)) or '(no answer)'}")
    scribe = "verbatim" if is_short_talk(job) else "extract"
    return render_note(job, title_of(job), topics_of(job), "\n\n".join(parts), scribe)


def title_of(job: Job) -> str:
    """Name a turn by the first line of its request."""
    line = next((line for line in job.request.splitlines() if re.search(r"\w", line)), "Untitled")
    return cut(re.sub(r"^(?:(?:[#>*-]+|\d+[.)])\s+)+", "", _plain(line)), 80, "…")


def topics_of(job: Job) -> tuple[str, ...]:
    """Pick three to six topics: the files' names, then the words that the request leans on."""
    stems = [path.rpartition("/")[2].partition(".")[0] for path in (job.changed or tuple(job.files))]
    words = Counter(
        word
        for word in re.findall(r"[^\W\d_][\w-]{2,}", f"{job.request} {job.answer}".lower())
        if word not in STOP_WORDS
    )
    asked = [word for word in re.findall(r"[^\W\d_][\w-]{2,}", job.request.lower()) if word in words]
    ranked = sorted(dict.fromkeys(asked), key=lambda word: -words[word])
    named = dict.fromkeys([*[" ".join(split_identifier(stem)) or stem for stem in stems[:3]], *ranked])
    return tuple(cut(topic, 60, "") for topic in named if topic)[:6] or ("conversation",)


def _plain(text: str) -> str:
    return " ".join(text.split())
