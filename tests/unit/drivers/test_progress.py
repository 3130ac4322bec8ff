from collections.abc import Iterable

import testtools

from tacker_cnf.drivers.progress import MAX_LINE_CHARS, Progress


class TestProgress(testtools.TestCase):
    def reported(self, lines: Iterable[str]) -> list[str]:
        reported: list[str] = []
        progress = Progress(reported.append)
        for line in lines:
            progress(line)
        return reported

    def test_only_new_lines_are_reported(self) -> None:
        self.assertEqual(["a", "b", "a"], self.reported(["a", "a", "b", "a"]))

    def test_a_long_line_is_cut(self) -> None:
        (line,) = self.reported(["x" * 1000])
        self.assertEqual(MAX_LINE_CHARS, len(line))
        self.assertTrue(line.endswith("..."))
