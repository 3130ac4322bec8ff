"""The sample driver writes nothing outside of its directory."""

from pathlib import Path
from typing import Any

import fixtures
import testtools
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.lcm.vnf_plan import ActionType
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import (
    a_context,
    a_running_instance,
    a_state,
    a_task,
    a_vnfc,
    an_instance,
)
from tests.fixtures.sample_driver import DirectoryDriver


class SampleDriverTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.outside = Path(self.useFixture(fixtures.TempDir()).path)
        self.root = self.outside / "vim"
        self.root.mkdir()
        self.driver = DirectoryDriver(cfg.ConfigOpts())
        self.vims = {
            "vim1": VimConnectionInfo(
                vim_type=self.driver.vim_type,
                interface_info={"endpoint": str(self.root)},
            )
        }

    def execute(self, **task: Any) -> set[str]:
        """Execute a task; return the VNFCs after it."""
        plan = self.driver.plan(a_task(vim_connections=self.vims, **task))
        found = self.driver.execute(plan, a_context())
        return {vnfc.id for vnfc in found.vnfc_resource_info}

    def test_an_id_cannot_name_another_directory(self) -> None:
        for name in ("..", "../x", "/x", "a/b", ".", "", "a\n", "a\0"):
            with testtools.ExpectedException(errors.BadRequest):
                self.execute(instance=an_instance(id=name))
        self.assertEqual([self.root], list(self.outside.iterdir()))
        self.assertEqual([], list(self.root.iterdir()))

    def test_a_vdu_cannot_name_a_file(self) -> None:
        vdu = "../../x"
        self.execute(desired=a_state(counts={vdu: 2}))
        home = self.root / "an-instance"
        self.assertEqual([self.root], list(self.outside.iterdir()))
        self.assertEqual([home], list(self.root.iterdir()))
        self.assertEqual(2, len(list(home.iterdir())))

    def test_only_files_that_were_found_are_deleted(self) -> None:
        other = self.outside / "x.json"
        other.write_text("{}")
        home = self.root / "an-instance"
        home.mkdir()
        named = '{"id": "../../x", "vdu_id": "web", "operation_id": ""}'
        (home / "1.json").write_text(named)
        vnfc = a_vnfc("../../x")
        state = a_state(counts={"web": 1}, vnfcs=(vnfc,))
        after = self.execute(
            instance=a_running_instance(vnfc),
            current=state,
            desired=state,
            replace=(vnfc,),
        )
        self.assertEqual({"1"}, after)
        self.execute(current=state, desired=None)
        self.assertTrue(other.exists())
        self.assertFalse(home.exists())

    def test_a_file_of_another_form_is_an_error_of_the_vim(self) -> None:
        home = self.root / "an-instance"
        home.mkdir()
        (home / "1.json").write_text("no JSON")
        with testtools.ExpectedException(errors.InfraError):
            self.execute()

    def test_a_change_that_files_do_not_have_is_refused(self) -> None:
        with testtools.ExpectedException(errors.BadRequest):
            self.driver.plan(a_task(moves_links=True))

    def test_a_full_directory_fails_the_operation_at_its_deadline(
        self,
    ) -> None:
        (self.root / "capacity").write_text("1")
        plan = self.driver.plan(a_task(vim_connections=self.vims))
        kinds = [action.type for action in plan.actions]
        self.assertEqual([ActionType.CREATE] * 2, kinds)
        lines: list[str] = []
        context = a_context(
            deadline=Deadline.within(0.01), report_progress=lines.append
        )
        with testtools.ExpectedException(errors.NotReady):
            self.driver.execute(plan, context)
        self.assertEqual(1, len(list(self.root.glob("*/*.json"))))
        self.assertIn("waiting for room in the directory", lines)
