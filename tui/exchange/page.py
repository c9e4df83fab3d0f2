"""A session as one page for a browser: nothing of it runs, nothing is loaded from elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from markdown_it import MarkdownIt

from ogcode.agent.clean import clean
from ogcode.tui.exchange.retelling import Call, Said, Told

_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
pre, code {{ font: 14px/1.4 ui-monospace, monospace; }}
pre {{ overflow-x: auto; padding: .6rem .8rem; background: color-mix(in srgb, gray 15%, transparent); }}
.request {{ white-space: pre-wrap; border-left: .25rem solid seagreen; padding-left: .8rem; font-weight: 600; }}
.about, .reason {{ color: gray; font-size: .85rem; }}
summary {{ cursor: pointer; font: 14px/1.6 ui-monospace, monospace; overflow-wrap: anywhere; }}
summary.failed {{ color: firebrick; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid gray; padding: .2rem .5rem; }}
</style>
"""


def as_page(session_id: str, turns: Sequence[Told], scrubbed: Callable[[str], str], *, steps: bool) -> str:
    """Tell a session as HTML, with or without what was done in it."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def plain(text: str) -> str:
        return escape(clean(scrubbed(text), prose=True))

    def rendered(text: str) -> str:
        return str(markdown.render(clean(scrubbed(text), prose=True)))

    def parts() -> Iterator[str]:
        yield _HEAD.format(title=f"Session {escape(session_id[:8])}")
        yield f"<h1>Session {escape(session_id)}</h1>"
        for turn in turns:
            yield f'<h2 id="turn-{turn.turn}">Turn {turn.turn}</h2>'
            about = filter(None, (turn.started_at, turn.model, turn.outcome, turn.note))
            yield f'<p class="about">{plain(", ".join(about))}</p>'
            yield f'<p class="request">{plain(turn.request.strip())}</p>'
            for step in turn.steps if steps else ():
                match step:
                    case Call(name=name, arguments=arguments, output=output, failed=failed):
                        kind = ' class="failed"' if failed else ""
                        called = plain(f"{name} {' '.join(arguments.split())}")
                        yield f"<details><summary{kind}>{called}</summary>"
                        yield f"<pre>{plain('(cut short)' if output is None else output)}</pre></details>"
                    case Said("user", text):
                        yield f'<p class="request">{plain(text.strip())}</p>'
                    case Said(_, text):
                        yield rendered(text)
            yield rendered(turn.answer)
            if turn.reason:
                yield f'<p class="reason">{plain(turn.reason)}</p>'

    return "\n".join(parts()) + "\n"
