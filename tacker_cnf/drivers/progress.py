"""Progress of a task, reported to operators line by line."""

from collections.abc import Callable
from typing import Final

#: maximum length of a line
MAX_LINE_CHARS: Final = 255


class Progress:
    """Reports each line that differs from the previous one."""

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        self._report = report
        self._last = ""

    def __call__(self, line: str) -> None:
        """Report the present state of the task."""
        if line != self._last:
            self._last = line
            self._report(
                line
                if len(line) <= MAX_LINE_CHARS
                else f"{line[: MAX_LINE_CHARS - 3]}..."
            )
