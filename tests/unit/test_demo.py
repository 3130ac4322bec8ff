"""The output of tools/demo."""

import io
from typing import Any

import fixtures
import testtools

from tools.lifecycle_demo import timelines
from tools.lifecycle_demo.screen import Screen


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class ClosedPipe(io.StringIO):
    """A stream without a reader."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


class TestScreen(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        for name, value in {
            "NO_COLOR": None,
            "TERM": "xterm",
            "COLUMNS": "40",
        }.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def show(self, stream: io.StringIO, **options: Any) -> str:
        screen = Screen(stream, **options)
        screen.live("scale out ...")
        screen.step("scale out", "COMPLETED", 1.5)
        return stream.getvalue()

    def check_plain(self, stream: io.StringIO) -> None:
        self.assertEqual(
            "  scale out              COMPLETED           1.50 s\n",
            self.show(stream),
        )

    def test_a_file_gets_plain_lines(self) -> None:
        self.check_plain(io.StringIO())

    def test_a_terminal_gets_plain_lines_with_no_color(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable("NO_COLOR", "1"))
        self.check_plain(Terminal())

    def test_a_dumb_terminal_gets_plain_lines(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable("TERM", "dumb"))
        self.check_plain(Terminal())

    def test_a_terminal_gets_colours_and_what_happens_now(self) -> None:
        self.assertEqual(
            "\r\x1b[K  \x1b[2mscale out ...\x1b[0m"
            "\r\x1b[K  scale out              "
            "\x1b[32mCOMPLETED        \x1b[0m   1.50 s\n",
            self.show(Terminal()),
        )

    def test_nothing_is_printed_if_quiet(self) -> None:
        self.assertEqual("", self.show(Terminal(), quiet=True))

    def test_it_continues_without_a_reader(self) -> None:
        self.assertEqual("", self.show(ClosedPipe()))

    def test_a_list_is_wrapped_between_its_items(self) -> None:
        stream = Terminal()
        items = ["web 1 -> 3", "store 1 -> 3", "cache 2 -> 1"]
        Screen(stream).details("pods", items)
        lines = [
            line.partition("\x1b[0m ")[2]
            for line in stream.getvalue().splitlines()
        ]
        self.assertEqual(
            ["web 1 -> 3,", "store 1 -> 3,", "cache 2 -> 1"],
            [line for line in lines if line],
        )


class TestProgress(testtools.TestCase):
    def test_it_names_what_is_in_progress(self) -> None:
        resources = [
            {"kind": "Pod", "name": "a", "status": "DONE"},
            {"kind": "Pod", "name": "b", "status": "IN_PROGRESS"},
        ]
        step = {"step": "INFRA", "done": 1, "total": 2}
        self.assertEqual(
            "INFRA [##########..........] 1 of 2 Pod b",
            timelines.line([step | {"resources": resources}]),
        )

    def test_it_has_none_before_the_first_step(self) -> None:
        self.assertEqual("waits for a conductor", timelines.line([]))
