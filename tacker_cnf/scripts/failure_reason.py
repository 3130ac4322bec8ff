"""Find the reason of a script's failure in its stderr."""

from typing import Final

#: how much of the end of stderr an error quotes
MAX_STDERR_CHARS: Final = 2000
#: maximum length of the cause in an error
MAX_CAUSE_CHARS: Final = 500
_TRACEBACK: Final = "Traceback (most recent call last):"


def describe(problem: str, stderr: str) -> str:
    """Build an error message: the problem, the cause, the end of stderr."""
    end = stderr[-MAX_STDERR_CHARS:]
    if not end:
        return f"{problem}."
    cause = _cause(stderr)[:MAX_CAUSE_CHARS]
    if cause == end:
        return f"{problem}: {end}"
    return f"{problem}: {cause}\n\nThe end of what it wrote:\n{end}"


def _cause(stderr: str) -> str:
    """Return the message of the last traceback, or else the last line."""
    _, traceback, after = stderr.rpartition(_TRACEBACK)
    if traceback:
        lines = after.lstrip("\n").split("\n")
        # frames are indented; the message is the first line that is not
        for number, line in enumerate(lines):
            if line and not line[0].isspace():
                return "\n".join(lines[number:]).strip()
    return stderr.rpartition("\n")[2].strip()
