"""How far a task has come, told to an operator line by line."""

from collections.abc import Callable
from typing import Final

#: characters that a line may have
MAX_LINE_CHARS: Final = 255


class Progress:
    """Tells a line when it differs from the one before."""

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        self._report = report
        self._last = ""

    def __call__(self, line: str) -> None:
        """Tell where the task stands now."""
        if line != self._last:
            self._last = line
            self._report(
                line
                if len(line) <= MAX_LINE_CHARS
                else f"{line[: MAX_LINE_CHARS - 3]}..."
            )
