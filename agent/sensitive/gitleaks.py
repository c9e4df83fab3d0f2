"""Ask gitleaks, where it is installed, what our own rules did not see."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ogcode.agent.sensitive.finding import mark

SECONDS = 10.0
"""How long gitleaks may take over one note."""


class GitleaksFailed(Exception):
    """gitleaks is there and did not answer; the text has been through our own rules all the same."""


def second_pass(text: str, gitleaks: Path | None, *, seconds: float = SECONDS) -> str:
    """Replace what gitleaks finds in a text that is scrubbed already. Without gitleaks the text is given back.

    Starts a process: for the scribe and for doctor, never for what a user waits for. `gitleaks` is to be found by
    `process.program`, so that it is never the repository's own. Configuration and exceptions of the repository, of
    the environment and inside the text (`gitleaks:allow`) are not obeyed.

    Raises:
        GitleaksFailed: it could not be run, took too long, or printed no report.
    """
    if gitleaks is None or not text.strip():
        return text
    for secret, kind in sorted(_report(text, gitleaks, seconds), key=lambda found: -len(found[0])):
        pieces = re.split(f"({mark().pattern})", text)
        pieces[::2] = [piece.replace(secret, f"[secret: {kind}]") for piece in pieces[::2]]
        text = "".join(pieces)
    return text


def _report(text: str, gitleaks: Path, seconds: float) -> Iterator[tuple[str, str]]:
    command = [str(gitleaks), "stdin", "--no-banner", "--log-level=error", "--exit-code=0", "--ignore-gitleaks-allow"]
    with tempfile.TemporaryDirectory(prefix="ogcode-") as empty:
        try:
            done = subprocess.run(
                [*command, "--report-format=json", "--report-path=-"],
                input=text.encode("utf-8", "replace"),
                capture_output=True,
                cwd=empty,  # the folder it looks for its configuration in
                env={"HOME": empty, "TMPDIR": empty},
                timeout=seconds,
                check=True,
            )
            written = Path(empty, "-")  # what versions before 8.22 make of a report path of "-"
            report = json.loads(written.read_bytes() if written.exists() else done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise GitleaksFailed(f"{gitleaks}: {_reason(error)}; notes are scrubbed by ogcode's own rules") from error
    for found in report if isinstance(report, list) else ():
        match found:
            case {"Secret": str(secret), "RuleID": str(rule)} if len(secret) >= 4:
                words = " ".join(re.findall("[a-z]+", rule.lower()))[:40].strip()
                yield secret, words if len(words) > 2 else "token"


def _reason(error: Exception) -> str:
    match error:
        case subprocess.TimeoutExpired():
            return f"no answer in {error.timeout:g} s"
        case subprocess.CalledProcessError():
            return f"ended with {error.returncode} (gitleaks 8.19 or later is needed)"
        case OSError():
            return error.strerror or "could not be started"
    return "printed no report that can be read"
