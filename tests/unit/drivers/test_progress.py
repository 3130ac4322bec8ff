from collections.abc import Iterable

import msgspec
import testtools

from tacker_cnf.drivers.progress import (
    MAX_LINE_CHARS,
    Progress,
    ResourceProgress,
)
from tacker_cnf.sol.timeline import ResourceStatus


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


class TestResources(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.reported: list[ResourceProgress] = []
        self.progress = Progress(report_resource=self.reported.append)

    def resource(self, name: str, uid: str = "") -> ResourceProgress:
        return ResourceProgress(
            kind="Pod",
            name=name,
            id=uid,
            status=ResourceStatus.IN_PROGRESS,
        )

    def test_only_new_states_are_reported(self) -> None:
        web = self.resource("web")
        ready = msgspec.structs.replace(web, status=ResourceStatus.DONE)
        for state in (web, web, ready, ready, web):
            self.progress.resource(state)
        self.assertEqual([web, ready, web], self.reported)

    def test_deleted_resources_are_done(self) -> None:
        for resource in (
            self.resource("web", "uid-1"),
            self.resource("web", "uid-2"),
            self.resource("without-id"),
        ):
            self.progress.resource(resource)
        self.reported.clear()
        for _ in range(2):
            self.progress.deleted("Pod", {"uid-2"})
            self.progress.deleted("Job", ())
        (deleted,) = self.reported
        self.assertEqual(
            ("uid-1", ResourceStatus.DONE, "Deleted"),
            (deleted.id, deleted.status, deleted.message),
        )

    def test_long_texts_are_cut(self) -> None:
        long = msgspec.structs.replace(
            self.resource("x" * 1000), message="y" * 1000
        )
        self.progress.resource(long)
        (cut,) = self.reported
        self.assertEqual(MAX_LINE_CHARS, len(cut.name))
        self.assertEqual(MAX_LINE_CHARS, len(cut.message or ""))

    def test_a_scope_distinguishes_resources(self) -> None:
        expected: list[tuple[str, int, str]] = []
        progress = Progress(
            report_resource=self.reported.append,
            expect=lambda *args: expected.append(args),
            scope="vim/",
        )
        progress.expect("Pod", 2)
        progress.resource(self.resource("web", "uid-1"))
        progress.deleted("Pod", ())
        self.assertEqual([("Pod", 2, "vim/")], expected)
        self.assertEqual(["vim/uid-1"] * 2, [r.id for r in self.reported])
