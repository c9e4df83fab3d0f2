"""Commands that fingers know from other agents and that ogcode has not: what there is here in their place."""

from collections.abc import Mapping

_BY_ITSELF = "no request carries earlier turns, so there is nothing to make smaller; /context shows what the next holds"
_WRITTEN = "a note of each turn is written by itself; /memory shows them, and those that wait"
_NO_PLUGINS = "ogcode has none; what a command of the shell can do the agent can run, and AGENTS.md holds your rules"
_NO_ACCOUNT = "there is no account; a provider's key is taken from the environment, as in OPENAI_API_KEY"
_NO_REPORTS = "ogcode sends nothing to anybody; /export html writes the session, to go with a report of yours"
_EFFORT = "/config effort low, medium or high sets it from the next start on; ogcode --effort for one session"
_MODES = "Shift+Tab goes through the modes ask, edit, plan and auto; ogcode --mode begins in one"
_BACK = "/rewind goes back to before a turn, /undo takes back what the last one did to files"

INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("/compact", "/compress", "/summarize"), _BY_ITSELF),
    **dict.fromkeys(("/dream", "/flush"), _WRITTEN),
    **dict.fromkeys(("/mcp", "/agents", "/skills", "/hooks", "/plugin", "/plugins"), _NO_PLUGINS),
    **dict.fromkeys(("/login", "/logout", "/auth", "/connect"), _NO_ACCOUNT),
    **dict.fromkeys(("/bug", "/feedback"), _NO_REPORTS),
    **dict.fromkeys(("/checkpoint", "/restore"), _BACK),
    "/review": "say it in words, as in: review what this branch changes; /diff shows what ogcode changed",
    **dict.fromkeys(("/effort", "/thinking"), _EFFORT),
    "/sandbox": "/permissions tells of it; ogcode --sandbox ro, ws, ws+net or off sets it",
    "/tools": "/context names the tools that the model has",
    "/add-dir": "ogcode --add-dir FOLDER works in another folder as well, from the start",
    "/loop": "ogcode -p runs one turn from a shell's loop; ogcode batch runs a list of tasks",
    "/share": "/export html writes the session into a file that any browser shows",
    "/save": "a session is saved as it goes; /resume goes on with one, /export writes one into a file",
    "/statusline": "/config status_line.command COMMAND lets a command of yours write the line",
    "/trust": "ogcode --trust trusts this folder from then on",
    "/version": "ogcode --version tells it",
}
"""Holds in the app and where there are lines alone."""

INSTEAD_IN_APP: Mapping[str, str] = {
    **INSTEAD,
    **dict.fromkeys(("/plan", "/mode", "/approval-mode", "/yolo", "/auto"), _MODES),
    "/status": "the line at the bottom tells it; /context, /cost and /permissions tell more, /doctor tries things out",
    "/editor": "Ctrl+G writes the message in $EDITOR; so does Ctrl+X Ctrl+E",
    "/btw": "Enter keeps a question until the turn is over; Ctrl+S says it into the running turn",
    "/goal": "say what is to be reached; Shift+Tab to auto lets it go on without asking",
    "/history": "Up brings back earlier messages, Ctrl+R searches them",
    "/terminal-setup": "Alt+Enter and Ctrl+J begin a new line in every terminal; ? shows all keys",
}
"""Speaks of keys, too."""
