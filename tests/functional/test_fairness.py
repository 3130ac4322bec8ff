"""What one project, VIM or package occupies does not delay the others."""

import contextlib
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import fixtures

from tacker_cnf.runtime.fair_places import Request
from tests.fixtures import waiting
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Response, Vnfm
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)

OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
MANY: Final = 200
UNLIMITED: Final = {"operations": -1}


def on_vim(endpoint: str) -> dict[str, Any]:
    """Return the request of an instantiation on a VIM."""
    vim = {"vimType": "fake", "interfaceInfo": {"endpoint": endpoint}}
    return {"flavourId": "simple", "vimConnectionInfo": {"vim1": vim}}


class FairnessCase(ApiCase):
    vnfm: Vnfm

    @contextlib.contextmanager
    def hanging(self, endpoint: str | None = None) -> Iterator[list[str]]:
        """Let operations on one VIM, or on all, wait within this block; yield
        the projects in the order in which their operations started.
        """
        started: list[str] = []
        may_continue = threading.Event()

        def wait(call: Any) -> None:
            (vim,) = call.task.vim_connections.values()
            started.append(call.task.instance.project_id)
            if endpoint in {None, vim.interface_info["endpoint"]}:
                may_continue.wait(120)

        self.vnfm.driver.before["apply"] = wait
        try:
            yield started
        finally:
            may_continue.set()

    def start(self, vnfd_id: str, endpoint: str = "x") -> str:
        """Start an operation; return the URL of its occurrence."""
        response = self.vnfm.task(
            self.vnfm.create(vnfd_id), "instantiate", on_vim(endpoint)
        )
        self.assertEqual(202, response.status, str(response.content))
        return str(response.headers["Location"])

    def wait_queued(self, operations: list[str], waiting_count: int) -> None:
        """Wait until so many of the operations wait for a worker."""
        ids = {url.rpartition("/")[2] for url in operations}
        queue = self.vnfm.conductor.queue
        waiting.until(
            lambda: len(ids & set(queue._waiting)) == waiting_count,
            f"{waiting_count} waiting operations",
        )

    def assert_completed(self, url: str) -> None:
        end = self.vnfm.wait_operation(url)
        self.assertEqual("COMPLETED", end["operationState"], end)


class TestProjects(FairnessCase):
    def serve(self, **conductor: int) -> tuple[str, str]:
        """Return the VNFDs of two projects."""
        vnfm = Projects(
            conductor={"workers": 2, **conductor},
            quotas={**UNLIMITED, "vnf_instances": -1},
        )
        self.vnfm = self.projects = self.useFixture(vnfm)
        first = vnfm.onboard()
        vnfm.become(UNTRUSTED)
        second = vnfm.onboard()
        vnfm.become(OWNER)
        queue, grant = vnfm.conductor.queue, vnfm.conductor.queue._start
        #: operations in the order in which they got a worker
        self.granted: list[str] = []

        def start(key: str, worker: Request) -> None:
            self.granted.append(key)
            grant(key, worker)

        queue._start = start  # type: ignore[method-assign]
        return first, second

    def assert_turn(self, url: str) -> None:
        """Check that an operation was next after the two that ran, and those
        of one turn.
        """
        position = self.granted.index(url.rpartition("/")[2])
        self.assertIn(position, range(2, 5))

    def test_one_operation_beside_many_of_another_project(self) -> None:
        """Also if those came first and may occupy all workers."""
        first, second = self.serve(project_share=100, vim_share=100)
        with self.hanging() as started:
            many = [self.start(first) for _ in range(MANY)]
            self.wait_queued(many, MANY - 2)
            self.projects.become(UNTRUSTED)
            one = self.start(second)
            self.wait_queued([one], 1)
        self.assert_completed(one)
        self.assert_turn(one)
        self.projects.become(OWNER)
        for url in many:
            self.assert_completed(url)
        self.assertEqual(MANY + 1, len(started))

    def test_a_free_worker_for_other_projects(self) -> None:
        """Even if no operation of the first project ever ends."""
        first, second = self.serve()
        with self.hanging("x") as started:
            many = [self.start(first) for _ in range(5)]
            self.wait_queued(many, 4)
            self.projects.become(UNTRUSTED)
            self.assert_completed(self.start(second, "y"))
            self.assertEqual([OWNER, UNTRUSTED], started)
            self.projects.become(OWNER)
            # one that waits can be cancelled
            cancelled = self.vnfm.call(
                "POST",
                f"{OP_OCCS}/{many[-1].rpartition('/')[2]}/cancel",
                {"cancelMode": "FORCEFUL"},
            )
            self.assertEqual(202, cancelled.status, str(cancelled.content))
        for url in many[:-1]:
            self.assert_completed(url)
        end = self.vnfm.wait_operation(many[-1])
        self.assertEqual("ROLLED_BACK", end["operationState"])

    def test_the_sweep_lets_projects_take_turns(self) -> None:
        """The messages of all operations were lost."""
        first, second = self.serve(project_share=100, vim_share=100)
        queue = self.vnfm.conductor.queue
        with self.hanging() as started:
            busy = [self.start(first) for _ in range(2)]
            waiting.until(lambda: len(started) == 2, "two operations")
            dropped: set[str] = set()
            queue._put = lambda key, _: dropped.add(key)  # type: ignore[assignment,method-assign]
            lost = [self.start(first) for _ in range(10)]
            self.projects.become(UNTRUSTED)
            one = self.start(second)
            waiting.until(lambda: len(dropped) == 11, "the messages")
            del queue._put
            self.wait_queued([*lost, one], 11)
        self.assert_completed(one)
        self.assert_turn(one)
        self.projects.become(OWNER)
        for url in (*busy, *lost):
            self.assert_completed(url)
        self.assertEqual(13, len(started))  # none of them twice


class TestVims(FairnessCase):
    def test_a_vim_that_does_not_answer(self) -> None:
        """It delays no operation on another VIM, of the same project."""
        self.vnfm = self.useFixture(
            Vnfm(conductor={"workers": 4}, quotas=UNLIMITED)
        )
        vnfd_id = self.vnfm.onboard()
        with self.hanging("dead") as started:
            many = [self.start(vnfd_id, "dead") for _ in range(8)]
            self.wait_queued(many, 6)
            self.assert_completed(self.start(vnfd_id, "alive"))
            self.assertEqual(3, len(started))
        for url in many:
            self.assert_completed(url)


class TestScripts(FairnessCase):
    scripts = 40
    max_running = 2

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(
            Vnfm(
                conductor={
                    "workers": 4,
                    "project_share": 100,
                    "lease": 600,
                },
                scripts={"max_running": self.max_running, "timeout": 300},
                quotas=UNLIMITED,
            )
        )
        self.folder = Path(self.vnfm.state_path)
        self.may_end = self.folder / "may-end"
        self.log = self.folder / "log"
        self.log.touch()
        script = f"""\
            import json, os, sys, time
            def write(line):
                log = os.open({str(self.log)!r}, os.O_WRONLY | os.O_APPEND)
                os.write(log, line)
                os.close(log)
            write(b"+")
            while not os.path.exists({str(self.may_end)!r}):
                time.sleep(0.02)
            write(b"-")
            """
        files = {
            SCRIPT: self.driver(script),
            FLAVOUR: flavour_with_scripts("instantiate_start"),
        }
        self.with_script = self.vnfm.onboard(
            self.useFixture(Csar(files=files))
        )
        self.without_script = self.vnfm.onboard()

    @staticmethod
    def driver(body: str) -> str:
        body = textwrap.indent(textwrap.dedent(body), " " * 8)
        return (
            "from tacker_cnf.mgmt_drivers.base import MgmtDriver\n\n"
            "class Driver(MgmtDriver):\n"
            "    def instantiate_start(self, script_input):\n"
            f"{body}\n"
            "Driver.main()\n"
        )

    def start_scripts(self, count: int) -> list[str]:
        urls = []
        for number in range(count):
            request = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
            response = self.vnfm.task(
                self.vnfm.create(self.with_script), "instantiate", request
            )
            self.assertEqual(202, response.status, str(number))
            urls.append(response.headers["Location"])
        return urls

    def test_scripts_that_hang(self) -> None:
        urls = self.start_scripts(self.scripts)
        waiting.until(
            lambda: self.log.read_text() == "+" * self.max_running,
            "the first scripts",
        )
        self.assert_completed(self.start(self.without_script))
        # one that waits can be cancelled
        path = f"{OP_OCCS}/{urls[-1].rpartition('/')[2]}/cancel"
        cancelled = self.vnfm.call("POST", path, {"cancelMode": "GRACEFUL"})
        self.assertEqual(202, cancelled.status, str(cancelled.content))
        end = self.vnfm.wait_operation(urls.pop())
        self.assertNotEqual("COMPLETED", end["operationState"])
        self.assertEqual("+" * self.max_running, self.log.read_text())
        self.may_end.touch()
        for url in urls:
            self.assert_completed(url)
        running = highest = 0
        for event in self.log.read_text():
            running += 1 if event == "+" else -1
            highest = max(highest, running)
        self.assertEqual((0, self.max_running), (running, highest))

    def test_scripts_wait_as_long_as_their_operation_may(self) -> None:
        self.start_scripts(self.max_running)
        waiting.until(
            lambda: self.log.read_text() == "+" * self.max_running,
            "the first scripts",
        )
        self.vnfm.conf.set_override("instantiate_timeout", 1.0, "conductor")
        end = self.vnfm.wait_operation(self.start_scripts(1)[0])
        self.assertIn("[scripts] max_running", end["error"]["detail"])
        self.may_end.touch()

    def test_a_forceful_termination_does_not_wait_too_long(self) -> None:
        """It keeps half of its time for the VIM."""
        files = {
            SCRIPT: self.driver("pass"),
            FLAVOUR: flavour_with_scripts("terminate_start"),
        }
        vnfd_id = self.vnfm.onboard(self.useFixture(Csar(files=files)))
        instance_id = self.vnfm.create(vnfd_id)
        request = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assert_completed(str(response.headers["Location"]))
        self.start_scripts(self.max_running)
        waiting.until(
            lambda: self.log.read_text() == "+" * self.max_running,
            "the scripts",
        )
        remaining: list[float] = []
        self.vnfm.driver.before["destroy"] = lambda call: remaining.append(
            call.context.deadline.remaining
        )
        self.vnfm.conf.set_override("terminate_timeout", 4.0, "conductor")
        response = self.vnfm.task(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assert_completed(str(response.headers["Location"]))
        self.may_end.touch()
        self.assertNotEqual(0.0, remaining[0])


class TestDryRuns(FairnessCase):
    def test_scripts_of_dry_runs(self) -> None:
        """More than the API may run are answered 503 at once."""
        self.vnfm = self.useFixture(Vnfm(scripts={"max_dry_runs": 1}))
        instance_id = self.vnfm.create()
        running, may_end = threading.Event(), threading.Event()

        def run_script(call: Any) -> None:
            with call.context.script_place(0.0):
                running.set()
                may_end.wait(120)

        self.vnfm.driver.before["observe"] = run_script

        def plan() -> Response:
            path = f"/vnflcm/v2/vnf_instances/{instance_id}/instantiate"
            return self.vnfm.call("POST", f"{path}?dry_run=true", on_vim("x"))

        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(plan)
            self.assertTrue(running.wait(120))
            refused = plan()
            self.assert_problem(503, refused, "[scripts] max_dry_runs")
            self.assertEqual("10", refused.headers["Retry-After"])
            may_end.set()
            self.assertEqual(200, first.result().status)
        self.assertEqual(200, plan().status)


class TestApiServer(FairnessCase):
    """One project cannot occupy what the API server has of slow requests."""

    def setUp(self) -> None:
        super().setUp()
        self.projects = Projects(
            api={
                "max_peer_requests": 2,
                "max_uploads": 2,
                "project_share": 50,
            }
        )
        self.vnfm = self.useFixture(self.projects)
        self.waiting, self.may_end = threading.Event(), threading.Event()
        self.addCleanup(self.may_end.set)

    def wait(self, project: str) -> None:
        if project == OWNER:
            self.waiting.set()
            self.may_end.wait(120)

    def check(
        self,
        create: Callable[[], str],
        send: Callable[[str], Response],
        option: str,
    ) -> None:
        """Check that a second request of a project is rejected while its first
        one waits, and one of another project is not.

        :param create: creates a resource of a project, and returns its ID
        :param send: sends a request for it
        """
        resources = {}
        for project in (UNTRUSTED, OWNER):
            self.projects.become(project)
            resources[project] = create()
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(send, resources[OWNER])
            self.assertTrue(self.waiting.wait(120))
            refused = send(resources[OWNER])
            self.assert_problem(503, refused, option)
            self.assertIn("[api] project_share", refused.detail)
            self.projects.become(UNTRUSTED)
            self.assertLess(send(resources[UNTRUSTED]).status, 300)
            self.may_end.set()
            self.assertLess(first.result().status, 300)

    def test_dry_runs(self) -> None:
        self.vnfm.driver.before["observe"] = lambda call: self.wait(
            call.task.instance.project_id
        )

        def plan(instance_id: str) -> Response:
            path = f"/vnflcm/v2/vnf_instances/{instance_id}/instantiate"
            return self.vnfm.call("POST", f"{path}?dry_run=true", on_vim("x"))

        self.check(self.vnfm.create, plan, "[api] max_peer_requests")

    def test_uploads(self) -> None:
        catalogue = self.vnfm.parts.catalogue
        onboard = catalogue.onboard

        def wait_and_onboard(*content: Any, **options: Any) -> None:
            self.wait(self.projects.project)
            onboard(*content, **options)

        self.useFixture(
            fixtures.MockPatchObject(catalogue, "onboard", wait_and_onboard)
        )
        packages = "/vnfpkgm/v1/vnf_packages"

        def create() -> str:
            return str(self.vnfm.call("POST", packages, {}).json["id"])

        def upload(package_id: str) -> Response:
            return self.vnfm.call(
                "PUT",
                f"{packages}/{package_id}/package_content",
                self.useFixture(Csar()).read(),
                {"Content-Type": "application/zip"},
            )

        self.check(create, upload, "[api] max_uploads")
