"""What `ogcode --help` says besides the flags."""

USAGE = """ogcode [PROMPT]          the app, in this repository
       ogcode -p [PROMPT]       headless: answer on stdout, all else on stderr
       ogcode recall QUESTION   ask what was done and why
       ogcode memory|sessions   notes, and what was said: list, show, …
       ogcode undo              files that were changed: list, last, redo
       ogcode batch|init|models|doctor|stats|context|schema|completion|demo|help"""

MORE = "All flags: ogcode help flags. Those of a command: ogcode COMMAND --help."

EXAMPLES = """examples:
  ogcode -p "fix the failing test" --mode edit --allow 'Bash(pytest*)'
  git diff | ogcode -p "review this" --output-format json
  ogcode -p -c "and now the docs"             go on with the last session"""

ENDS = """exit codes:
  0 done   1 error   2 usage   3 time limit   42 bad input   53 steps, loop
  54 token, cost or window limit   55 a needed permission or sandbox was denied
  75 the provider failed, try again   130 interrupted   143 terminated"""

STDIN = """stdin:
  Without a PROMPT it is the prompt. With one it is added as <stdin>…</stdin>: a file
  always, a pipe if it brings something, or ends, within 3 seconds, and then all of
  it. '-' and --prompt-file - wait for it as long as it takes."""


def show_help(words: list[str]) -> int:
    """Print the page, or with `flags` all that there is of them; return the exit code."""
    import sys

    from ogcode.tui.arguments import parser

    if words not in ([], ["flags"]):
        sys.stderr.write("usage: ogcode help [flags]\nogcode help: a command's own help is ogcode COMMAND --help\n")
        return 2
    sys.stdout.write(parser(whole=bool(words)).format_help())
    if words:
        sys.stdout.write(f"\n{STDIN}\n")
    return 0
