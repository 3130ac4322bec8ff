"""One VNF, and what it needs: its lifecycle over REST, step by step."""

import datetime
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tools.lifecycle_demo import pods, timelines
from tools.lifecycle_demo.pods import Cluster, Pods
from tools.lifecycle_demo.rest import ACTIVE, OP_OCCS, ApiClient, DemoFailed
from tools.lifecycle_demo.screen import GREEN, RED, Screen

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"
VIMS: Final = "/v1.0/vims"
COMPLETED: Final = "COMPLETED"
#: seconds in which the objects of the demo have to be deleted
CLEANUP_TIMEOUT_S: Final = 120.0
CLEANUP_RETRY_DELAY_S: Final = 0.2

#: called with the id of the operation and its timeline
Watcher = Callable[[str, Any], None]


class Operation(NamedTuple):
    """An operation that has ended."""

    op_occ: Any
    before: Pods
    after: Pods


class DemoVnf:
    """A VNF instance, with its packages and its VIM.

    :param steps: gets one entry for each step
    """

    def __init__(
        self,
        rest: ApiClient,
        cluster: Cluster,
        screen: Screen,
        steps: list[dict[str, Any]],
    ) -> None:
        self._rest = rest
        self._cluster = cluster
        self._screen = screen
        self._steps = steps
        #: what delete() deletes besides the instance
        self._packages: list[str] = []
        self._vim = ""
        self.id = ""

    @property
    def path(self) -> str:
        """The path of the instance."""
        return f"{INSTANCES}/{self.id}"

    def pods(self) -> Pods:
        """Return the pods of the instance."""
        return self._cluster.pods(self.id)

    def wait_for_new_pod(self, before: Pods) -> None:
        """Wait until the instance has a pod that it had not before."""
        self._cluster.wait_for_new_pod(self.id, before)

    def step(self, name: str, act: Callable[[], str], note: str = "") -> None:
        """Run one step, measure its time, and print its state."""
        start = time.monotonic()
        state = "FAILED"
        self._screen.live(f"{name} ...")
        try:
            state = act()
        finally:
            seconds = round(time.monotonic() - start, 3)
            self._steps.append(
                {"operation": name, "state": state, "seconds": seconds}
            )
            self._screen.step(name, state, seconds, note)

    def operate(
        self,
        name: str,
        task: str,
        body: Any = None,
        expected: str = COMPLETED,
        watcher: Watcher | None = None,
    ) -> Operation:
        """Run a lifecycle operation, or a task of one, to its end.

        :param task: the path of the request, below that of the instance
        :param expected: the state in which it ends
        :param watcher: called at each change of the timeline
        :raises DemoFailed: it ends in another state
        """
        path = task if task.startswith("http") else f"{self.path}/{task}"
        before = self.pods()
        start = datetime.datetime.now(datetime.UTC)
        op_occ: Any = {}

        def act() -> str:
            op_occ.update(self._run(name, path, body, watcher))
            return str(op_occ["operationState"])

        self.step(name, act)
        after = self.pods()
        self._screen.details("pods", pods.from_to(before, after))
        self._screen.details("created", pods.names(after - before), GREEN)
        self._screen.details("deleted", pods.names(before - after), RED)
        timeline = op_occ.get("timeline", ())
        self._screen.details("steps", timelines.steps(timeline, start))
        if op_occ["operationState"] != expected:
            error = op_occ.get("error", {}).get("detail")
            raise DemoFailed(f"{name}: {op_occ['operationState']} {error}")
        return Operation(op_occ, before, after)

    def _run(
        self, name: str, path: str, body: Any, watcher: Watcher | None
    ) -> Any:
        with self._rest.follow(self.id) as events:
            _, headers = self._rest.call("POST", path, body)
            url = headers["Location"] or path.rsplit("/", 1)[0]
            for timeline in events.until_ended(url):
                self._screen.live(f"{name} ... {timelines.line(timeline)}")
                if watcher:
                    watcher(url.rsplit("/", 1)[-1], timeline)
        return self._rest.call("GET", url)[0]

    def onboard(self, csar: bytes) -> str:
        """Onboard a package."""
        created, _ = self._rest.call("POST", PACKAGES, {})
        path = f"{PACKAGES}/{created['id']}"
        self._packages.append(path)
        self._rest.call(
            "PUT", f"{path}/package_content", csar, "application/zip"
        )
        return str(self._rest.call("GET", path)[0]["onboardingState"])

    def register(self, vim: dict[str, Any]) -> str:
        """Register the VIM of a VIM file."""
        layout = ("auth_url", "type", "project_name")
        cred = {k: v for k, v in vim.items() if k not in layout}
        created, _ = self._rest.call(
            "POST",
            VIMS,
            {
                "vim": {
                    "name": "demo",
                    "type": "kubernetes",
                    "auth_url": vim["auth_url"],
                    "auth_cred": cred,
                    "vim_project": {"name": "default"},
                    "is_default": True,
                }
            },
        )
        self._vim = f"{VIMS}/{created['vim']['id']}"
        return str(created["vim"]["status"])

    def create(self, vnfd_id: str) -> str:
        """Create the instance."""
        created, _ = self._rest.call(
            "POST", INSTANCES, {"vnfdId": vnfd_id, "vnfInstanceName": "demo"}
        )
        self.id = created["id"]
        return str(created["instantiationState"])

    def terminate(self) -> None:
        """Terminate the instance."""
        end = {"terminationType": "FORCEFUL"}
        self.operate("terminate", "terminate", end)

    def delete_instance(self) -> str:
        """Delete the instance."""
        self._rest.call("DELETE", self.path)
        self.id = ""
        return "DELETED"

    def delete_all(self) -> str:
        """Delete the instance, the packages and the VIM."""
        self.delete_instance()
        for path in self._packages:
            disable = {"operationalState": "DISABLED"}
            self._rest.call("PATCH", path, disable)
            self._rest.call("DELETE", path)
        self._rest.call("DELETE", self._vim)
        return "DELETED"

    def clean_up(self) -> None:
        """Delete what a failed or interrupted demo has created.

        :raises DemoFailed: objects are left
        """
        if not self.id:
            return
        self._screen.line("Deleting what the demo has created ...")
        self._stop_operation()
        instance, _ = self._rest.call("GET", self.path)
        if instance["instantiationState"] == "INSTANTIATED":
            self.terminate()
        until = time.monotonic() + CLEANUP_TIMEOUT_S
        while True:
            try:
                self._rest.call("DELETE", self.path)
            except DemoFailed as error:
                # a conductor removes what a failed operation has left
                if error.status != 409 or time.monotonic() > until:
                    raise
                time.sleep(CLEANUP_RETRY_DELAY_S)
            else:
                return

    def _stop_operation(self) -> None:
        """Cancel the running operation, or fail one in FAILED_TEMP."""
        query = f"?filter=(eq,vnfInstanceId,{self.id})"
        found, _ = self._rest.call("GET", OP_OCCS + query)
        for op_occ in found:
            self._fail_operation(
                f"{OP_OCCS}/{op_occ['id']}", op_occ["operationState"]
            )

    def _fail_operation(self, path: str, state: str) -> None:
        if state in ACTIVE:
            try:
                mode = {"cancelMode": "FORCEFUL"}
                self._rest.call("POST", f"{path}/cancel", mode)
            except DemoFailed as error:
                if error.status != 409:  # it may have ended
                    raise
            state = self._rest.wait_operation(path)["operationState"]
        if state == "FAILED_TEMP":
            self._rest.call("POST", f"{path}/fail")
