"""The lifecycle of a CNF, end to end, over REST; run by ``tools/demo``."""

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from samples import build  # noqa: E402

FILES = (
    "configmap secret services pod replicaset deployment daemonset statefulset"
)
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}
OPERATION_TIMEOUT_S = 600.0
#: seconds in which the objects of the demo have to be deleted
CLEANUP_TIMEOUT_S = 120.0


class DemoFailed(Exception):
    """A step of the demo failed.

    :param status: the HTTP status, where the API refused a request
    """

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.status = status


class Interrupted(BaseException):
    """SIGTERM or SIGINT was received."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class ApiClient:
    """A client of the API."""

    def __init__(self, api: str) -> None:
        self.api = api

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = "application/json",
    ) -> tuple[Any, Any]:
        """Send a request; return its JSON and its headers."""
        url = path if path.startswith("http") else self.api + path
        request = urllib.request.Request(url, method=method)
        request.add_header("Version", "2.0.0")
        if body is not None:
            request.add_header("Content-Type", kind)
            raw = isinstance(body, bytes)
            request.data = body if raw else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request) as response:
                text = response.read()
                return (json.loads(text) if text else None), response.headers
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read())
            raise DemoFailed(
                f"{method} {path}: {problem['status']} {problem['detail']}",
                problem["status"],
            ) from None
        except OSError as error:
            raise DemoFailed(f"{method} {path}: {error}") from None

    def wait_operation(self, op_occ_url: str) -> Any:
        """Wait until a lifecycle operation has ended."""
        until = time.monotonic() + OPERATION_TIMEOUT_S
        while time.monotonic() < until:
            op_occ, _ = self.call("GET", op_occ_url)
            if op_occ["operationState"] not in ACTIVE:
                return op_occ
            time.sleep(0.02)
        raise DemoFailed(
            f"{op_occ_url} has not ended in {OPERATION_TIMEOUT_S} s"
        )


class DemoRun:
    """The steps of the demo, each printed when it ends."""

    def __init__(
        self, rest: ApiClient, steps: list[Any], *, quiet: bool
    ) -> None:
        self.rest_client = rest
        self.quiet = quiet
        self.steps = steps
        self.instance = ""

    def print_progress(self, text: str) -> None:
        if not self.quiet:
            print(text, flush=True)

    def step(self, name: str, act: Callable[[], str], note: str = "") -> None:
        """Run one step, measure its time, and print its state."""
        start = time.monotonic()
        state = "FAILED"
        try:
            state = act()
        finally:
            seconds = round(time.monotonic() - start, 3)
            self.steps.append(
                {"operation": name, "state": state, "seconds": seconds}
            )
            self.print_progress(
                f"  {name:<24} {state:<18} {seconds:7.3f} s   {note}"
            )

    def task(self, name: str, task: str, body: Any, note: str = "") -> None:
        """Run one lifecycle operation to its end."""

        def act() -> str:
            _, headers = self.rest_client.call(
                "POST", f"{self.path}/{task}", body
            )
            op_occ = self.rest_client.wait_operation(headers["Location"])
            if op_occ["operationState"] != "COMPLETED":
                error = op_occ.get("error", {}).get("detail")
                raise DemoFailed(f"{name}: {op_occ['operationState']} {error}")
            return str(op_occ["operationState"])

        self.step(name, act, note)

    @property
    def path(self) -> str:
        return f"/vnflcm/v2/vnf_instances/{self.instance}"

    def show(self) -> Any:
        return self.rest_client.call("GET", self.path)[0]

    def vnfcs(self) -> list[Any]:
        info = self.show().get("instantiatedVnfInfo", {})
        return list(info.get("vnfcInfo", ()))

    def onboard(self, csar: bytes) -> str:
        created, _ = self.rest_client.call(
            "POST", "/vnfpkgm/v1/vnf_packages", {}
        )
        path = f"/vnfpkgm/v1/vnf_packages/{created['id']}"
        self.rest_client.call(
            "PUT", f"{path}/package_content", csar, "application/zip"
        )
        self.package = path
        return str(self.rest_client.call("GET", path)[0]["onboardingState"])

    def register(self, vim: dict[str, Any]) -> str:
        layout = ("auth_url", "type", "project_name")
        cred = {k: v for k, v in vim.items() if k not in layout}
        created, _ = self.rest_client.call(
            "POST",
            "/v1.0/vims",
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
        self.vim = f"/v1.0/vims/{created['vim']['id']}"
        return str(created["vim"]["status"])

    def create(self, vnfd_id: str) -> str:
        created, _ = self.rest_client.call(
            "POST",
            "/vnflcm/v2/vnf_instances",
            {"vnfdId": vnfd_id, "vnfInstanceName": "demo"},
        )
        self.instance = created["id"]
        return str(created["instantiationState"])

    def terminate(self) -> None:
        end = {"terminationType": "FORCEFUL"}
        self.task("terminate", "terminate", end)

    def clean_up(self) -> None:
        """Delete what a failed or interrupted demo has created.

        :raises DemoFailed: objects are left
        """
        if not self.instance:
            return
        self.print_progress("Removing what the demo has created ...")
        self.stop_operation()
        if self.show()["instantiationState"] == "INSTANTIATED":
            self.terminate()
        until = time.monotonic() + CLEANUP_TIMEOUT_S
        while True:
            try:
                self.rest_client.call("DELETE", self.path)
            except DemoFailed as error:
                # a conductor removes what a failed operation has left
                if error.status != 409 or time.monotonic() > until:
                    raise
                time.sleep(0.2)
            else:
                return

    def stop_operation(self) -> None:
        """Cancel the running operation, or fail one in FAILED_TEMP."""
        query = f"?filter=(eq,vnfInstanceId,{self.instance})"
        found, _ = self.rest_client.call("GET", OP_OCCS + query)
        for op_occ in found:
            self.fail_operation(
                f"{OP_OCCS}/{op_occ['id']}", op_occ["operationState"]
            )

    def fail_operation(self, path: str, state: str) -> None:
        if state in ACTIVE:
            try:
                mode = {"cancelMode": "FORCEFUL"}
                self.rest_client.call("POST", f"{path}/cancel", mode)
            except DemoFailed as error:
                if error.status != 409:  # it may have ended
                    raise
            state = self.rest_client.wait_operation(path)["operationState"]
        if state == "FAILED_TEMP":
            self.rest_client.call("POST", f"{path}/fail")

    def delete(self) -> str:
        self.rest_client.call("DELETE", self.path)
        disable = {"operationalState": "DISABLED"}
        self.rest_client.call("PATCH", self.package, disable)
        self.rest_client.call("DELETE", self.package)
        self.rest_client.call("DELETE", self.vim)
        return "DELETED"


def run_lifecycle(
    demo_run: DemoRun, vim: dict[str, Any], namespace: str
) -> None:
    """Run all steps."""
    vnfd_id = str(uuid.uuid4())
    with tempfile.TemporaryDirectory() as folder:
        source = ROOT / "samples" / "cnf"
        path = build.build(source, Path(folder) / "cnf.csar", vnfd_id)
        csar = path.read_bytes()
    demo_run.step("onboard package", lambda: demo_run.onboard(csar))
    demo_run.step(
        "register VIM", lambda: demo_run.register(vim), vim["auth_url"]
    )
    demo_run.step("create VNF instance", lambda: demo_run.create(vnfd_id))
    instantiate = {
        "flavourId": "simple",
        "additionalParams": {
            "namespace": namespace,
            "lcm-kubernetes-def-files": [
                f"Files/kubernetes/{name}.yaml" for name in FILES.split()
            ],
        },
    }
    demo_run.task("instantiate", "instantiate", instantiate, "five kinds")
    demo_run.print_progress(
        f"    VNFCs: {', '.join(v['id'] for v in demo_run.vnfcs())}"
    )
    scale_and_heal(demo_run)
    demo_run.terminate()
    demo_run.step("delete", demo_run.delete, "instance, package, VIM")


def scale_and_heal(demo_run: DemoRun) -> None:
    """Scale and heal."""
    aspect = {"aspectId": "web_aspect", "numberOfSteps": 2}
    out = {"type": "SCALE_OUT", **aspect}
    demo_run.task("scale out", "scale", out, "a Deployment, two steps")
    in_ = {"type": "SCALE_IN", **aspect}
    demo_run.task("scale in", "scale", in_)
    one = next(v["id"] for v in demo_run.vnfcs() if v["vduId"] == "web")
    demo_run.task("heal one VNFC", "heal", {"vnfcInstanceId": [one]}, one)
    demo_run.task(
        "heal the whole VNF", "heal", {}, "deleted and created again"
    )
    demo_run.print_progress(
        f"    VNFCs: {', '.join(v['id'] for v in demo_run.vnfcs())}"
    )


@contextlib.contextmanager
def sandbox(
    arguments: argparse.Namespace, state: Path
) -> Iterator[dict[str, str]]:
    """Run the sandbox; yield its addresses, as in ``sandbox.json``."""
    command = [
        sys.executable,
        str(ROOT / "tools" / "sandbox.py"),
        f"--state={state}",
        "--port=0",
    ]
    if arguments.kubeconfig:
        command.append(f"--kubeconfig={arguments.kubeconfig}")
    ready = state / "sandbox.json"
    # Ctrl-C in a terminal must not end it: it is needed to clean up
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not ready.exists():
            if server.poll() is not None:
                raise DemoFailed("tools/sandbox did not start")
            time.sleep(0.05)
        yield json.loads(ready.read_text())
    finally:
        server.terminate()
        server.wait(30)


def run(
    demo_run: DemoRun, arguments: argparse.Namespace, facts: dict[str, str]
) -> None:
    """Run every step, then list the operations; clean up after a failure."""
    cluster_name = (
        "your cluster" if arguments.kubeconfig else "sandbox cluster"
    )
    demo_run.print_progress(
        f"tacker_cnf at {facts['api']}, {cluster_name} {facts['cluster']}"
    )
    vim = yaml.safe_load(Path(facts["vim"]).read_text())
    try:
        run_lifecycle(demo_run, vim, arguments.namespace)
    except (DemoFailed, Interrupted) as error:
        try:
            demo_run.clean_up()
        except (DemoFailed, Interrupted) as stopped:
            error.add_note(
                f"The cluster is not cleaned up ({stopped}); what is left has"
                f" the label tacker_vnf_instance_id={demo_run.instance}"
            )
        raise
    op_occs, _ = demo_run.rest_client.call("GET", OP_OCCS)
    demo_run.print_progress(f"\nLifecycle operations, on {facts['cluster']}:")
    for op_occ in op_occs:
        demo_run.print_progress(
            f"  {op_occ['id']}  {op_occ['operation']:<12} "
            f"{op_occ['operationState']:<10} {op_occ['startTime']}"
        )


def interrupt(number: int, _: object) -> NoReturn:
    raise Interrupted(number)


def main() -> int:
    """Run the demo; return 0 if every step succeeded."""
    parser = argparse.ArgumentParser(
        prog="tools/demo",
        description="The lifecycle of a VNF on Kubernetes.",
    )
    parser.add_argument("--kubeconfig", type=Path, help="a cluster of yours")
    parser.add_argument(
        "--namespace", default="default", help="where the VNF is put"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the steps as JSON"
    )
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    steps: list[dict[str, Any]] = []
    code, problem = 0, None
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tacker-cnf-demo-") as folder,
            sandbox(arguments, Path(folder).resolve()) as facts,
        ):
            demo_run = DemoRun(
                ApiClient(facts["api"]), steps, quiet=arguments.json
            )
            run(demo_run, arguments, facts)
    except (DemoFailed, Interrupted) as error:
        code = getattr(error, "exit_code", 1)
        problem = ". ".join((str(error), *getattr(error, "__notes__", ())))
        print(f"tools/demo: {problem}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"steps": steps, "error": problem}, indent=2))
    return code


if __name__ == "__main__":
    sys.exit(main())
