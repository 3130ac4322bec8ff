"""Why a script failed, read from what it wrote on stderr."""

from typing import Final

#: how much of what a script said goes into an error
MAX_STDERR_CHARS: Final = 2000
#: and how much of it as the cause
MAX_CAUSE_CHARS: Final = 500
_TRACEBACK: Final = "Traceback (most recent call last):"


def describe(problem: str, stderr: str) -> str:
    """Tell how a script ended, the cause before all else it said."""
    end = stderr[-MAX_STDERR_CHARS:]
    if not end:
        return f"{problem}."
    cause = _cause(stderr)[:MAX_CAUSE_CHARS]
    if cause == end:
        return f"{problem}: {end}"
    return f"{problem}: {cause}\n\nThe end of what it wrote:\n{end}"


def _cause(stderr: str) -> str:
    """Find the message of the last traceback, or else the last line."""
    _, traceback, after = stderr.rpartition(_TRACEBACK)
    if traceback:
        lines = after.lstrip("\n").split("\n")
        # frames are indented; the message begins where they end
        for number, line in enumerate(lines):
            if line and not line[0].isspace():
                return "\n".join(lines[number:]).strip()
    return stderr.rpartition("\n")[2].strip()
