"""The output of the demo: coloured on a terminal, else plain lines."""

import contextlib
import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

RESET: Final = "\x1b[0m"
CLEAR_LINE: Final = "\r\x1b[K"
BOLD: Final = "\x1b[1m"
DIM: Final = "\x1b[2m"
RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"
YELLOW: Final = "\x1b[33m"
#: state of a step -> its colour; others are green
COLOURS: Final[Mapping[str, str]] = {
    "FAILED": RED,
    "FAILED_TEMP": RED,
    "ROLLED_BACK": YELLOW,
}
INDENT: Final = " " * 6
#: a space within an item of a list, where no line ends
NO_BREAK: Final = "\N{NO-BREAK SPACE}"
#: columns of plain lines
PLAIN_WIDTH: Final = 79


class Screen:
    """Prints steps, and below each of them what it did.

    :param quiet: print nothing
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._is_terminal = (
            stream.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )
        self._width = (
            shutil.get_terminal_size().columns
            if self._is_terminal
            else PLAIN_WIDTH
        )

    def title(self, text: str) -> None:
        """Print a title."""
        self._print("\n" + self._paint(text, BOLD))

    def step(
        self, name: str, state: str, seconds: float, note: str = ""
    ) -> None:
        """Print a step that has ended."""
        painted = self._paint(f"{state:<17}", COLOURS.get(state, GREEN))
        self._print(f"  {name:<22} {painted} {seconds:6.2f} s  {note}")

    def detail(self, name: str, text: str, colour: str = DIM) -> None:
        """Print a detail of the last step."""
        lines = textwrap.wrap(
            text,
            self._width - len(INDENT) - 10,
            break_on_hyphens=False,
        )
        for line in lines:
            label = self._paint(f"{name:<9}", colour)
            text = line.replace(NO_BREAK, " ")
            self._print(f"{INDENT}{label} {text}")
            name = ""

    def details(
        self, name: str, items: Iterable[str], colour: str = DIM
    ) -> None:
        """Print a detail that is a list, if it is not empty."""
        joined = ", ".join(item.replace(" ", NO_BREAK) for item in items)
        self.detail(name, joined, colour)

    def line(self, text: str) -> None:
        """Print a line."""
        self._print(text)

    def live(self, text: str) -> None:
        """Show what happens now, until the next output; on a terminal only."""
        if self._is_terminal:
            text = text[: self._width - 3]
            self._write(f"{CLEAR_LINE}  {self._paint(text, DIM)}")

    def _paint(self, text: str, colour: str) -> str:
        return f"{colour}{text}{RESET}" if self._is_terminal else text

    def _print(self, text: str) -> None:
        clear = CLEAR_LINE if self._is_terminal else ""
        self._write(f"{clear}{text.rstrip(' ')}\n")

    def _write(self, text: str) -> None:
        if not self._quiet:
            # a closed terminal or pipe must not prevent the cleanup
            with contextlib.suppress(OSError):
                self._stream.write(text)
                self._stream.flush()
