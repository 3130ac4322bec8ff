"""Each lifecycle operation of a VNF on OpenStack, compared with a baseline.

The baseline is the same work done by the bare ``heatclient`` in the same run on
the same Heat: the templates of the sample VNF, with the same parameters. It
polls the stack every 50 ms. An operation is timed from the POST to the
first response with COMPLETED; the client polls every 10 ms.

    tools/openstack core
    .venv/bin/python bench/heat.py [--openrc .openstack/openrc] [--runs N]
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import heatclient.client
import lcm
import urllib3
from heatclient import exc
from keystoneauth1 import session
from keystoneauth1.identity import v3

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from samples import build  # noqa: E402  # beside this directory

SAMPLE = ROOT / "samples" / "vnf"
HOT = SAMPLE / "BaseHOT" / "simple"
NETWORK = str(uuid.uuid4())  # Heat of tier core does not look it up
OPERATIONS = (
    "instantiate",
    "scale out",
    "scale in",
    "heal one VNFC",
    "heal all servers",
    "heal the stack",
    "terminate",
)


class Product(lcm.Product):
    """A VNF of the sample, driven over REST."""

    def prepare(self) -> None:
        vnfd_id = str(uuid.uuid4())
        path = "/vnfpkgm/v1/vnf_packages"
        made = self.call("POST", path, {}).json()
        with tempfile.TemporaryDirectory() as folder:
            csar = build.build(SAMPLE, Path(folder) / "vnf.csar", vnfd_id)
            content = csar.read_bytes()
        self.call("PUT", f"{path}/{made['id']}/package_content", content)
        path = "/vnflcm/v2/vnf_instances"
        self.instance = self.call("POST", path, {"vnfdId": vnfd_id}).json()[
            "id"
        ]

    def instantiate(self) -> None:
        address = {"type": "IPV4", "numDynamicAddresses": 1}
        protocol = {
            "layerProtocol": "IP_OVER_ETHERNET",
            "ipOverEthernet": {"ipAddresses": [address]},
        }
        points = [
            {"cpdId": name, "cpConfig": {name: {"cpProtocolData": [protocol]}}}
            for name in ("front_cp", "store_cp")
        ]
        link = {"id": "link", "resourceId": NETWORK, "extCps": points}
        body = {"flavourId": "simple", "extVirtualLinks": [link]}
        self.run("instantiate", body)

    def scale_stack(self, kind: str) -> None:
        self.run("scale", {"type": kind, "aspectId": "front_aspect"})

    def scale_out(self) -> None:
        self.scale_stack("SCALE_OUT")

    def scale_in(self) -> None:
        self.scale_stack("SCALE_IN")

    def heal_one(self) -> None:
        path = f"/vnflcm/v2/vnf_instances/{self.instance}"
        info = self.call("GET", path).json()["instantiatedVnfInfo"]
        (store,) = (v for v in info["vnfcInfo"] if v["vduId"] == "store")
        self.run("heal", {"vnfcInstanceId": [store["id"]]})

    def heal_servers(self) -> None:
        self.run("heal", {"additionalParams": {"all": False}})

    def heal_stack(self) -> None:
        self.run("heal", {"additionalParams": {"all": True}})

    def terminate(self) -> None:
        self.run("terminate", {"terminationType": "FORCEFUL"})


class Baseline:
    """The same stack, driven by the bare client."""

    def __init__(self, auth: v3.Password) -> None:
        self.heat = heatclient.client.Client(
            "1", session=session.Session(auth)
        )
        self.name = f"baseline-{uuid.uuid4().hex[:8]}"

    def prepare(self) -> None:
        pass

    def create(self, count: int) -> None:
        server = {
            "computeFlavourId": "m1.tiny",
            "vcImageId": "cirros",
            "locationConstraints": None,
        }
        nfv = {
            "VDU": {
                "front": {**server, "desired_capacity": count},
                "store": server,
                "store_disk": {"vcImageId": "cirros"},
            },
            "CP": {
                "front_cp": {"network": NETWORK},
                "store_cp": {"network": NETWORK},
            },
        }
        self.nfv = nfv
        nested = HOT / "nested" / "front.yaml"
        self.heat.stacks.create(
            stack_name=self.name,
            template=(HOT / "front_and_store.yaml").read_text(),
            files={nested.name: nested.read_text()},
            parameters={"nfv": nfv},
        )
        self.wait_stack("CREATE")

    def wait_stack(self, action: str) -> None:
        while True:
            stack = self.heat.stacks.get(self.name, resolve_outputs=False)
            if stack.stack_status == f"{action}_COMPLETE":
                return
            if stack.stack_status.endswith("FAILED"):
                raise SystemExit(stack.stack_status_reason)
            time.sleep(0.05)

    def update(self) -> None:
        self.heat.stacks.update(
            self.name, existing=True, parameters={"nfv": self.nfv}
        )
        self.wait_stack("UPDATE")

    def resize(self, count: int) -> None:
        self.nfv["VDU"]["front"]["desired_capacity"] = count
        self.update()

    def instantiate(self) -> None:
        self.create(1)

    def scale_out(self) -> None:
        self.resize(2)

    def scale_in(self) -> None:
        self.resize(1)

    def servers(self) -> list[tuple[str, str, str]]:
        """Find the servers: stack name, stack id, resource name."""
        found = self.heat.resources.list(self.name, nested_depth=5)
        return [
            (*_stack_of(resource), resource.resource_name)
            for resource in found
            if resource.resource_type == "OS::Nova::Server"
        ]

    def heal(self, names: set[str]) -> None:
        for name, stack_id, server in self.servers():
            if server in names:
                self.heat.resources.mark_unhealthy(
                    stack_id=f"{name}/{stack_id}",
                    resource_name=server,
                    mark_unhealthy=True,
                    resource_status_reason="healed",
                )
        self.update()

    def heal_one(self) -> None:
        self.heal({"store"})

    def heal_servers(self) -> None:
        self.heal({"store", "front"})

    def heal_stack(self) -> None:
        self.terminate()
        self.create(1)

    def terminate(self) -> None:
        self.heat.stacks.delete(self.name)
        with contextlib.suppress(exc.HTTPNotFound):
            while True:
                self.heat.stacks.get(self.name, resolve_outputs=False)
                time.sleep(0.05)


def _stack_of(resource: Any) -> tuple[str, str]:
    (link,) = (rel for rel in resource.links if rel["rel"] == "stack")
    name, stack_id = link["href"].split("/")[-2:]
    return name, stack_id


def run_lifecycle(subject: Any, times: lcm.Times) -> None:
    """Run the lifecycle of one VNF, and time each operation."""
    subject.prepare()
    acts = (
        subject.instantiate,
        subject.scale_out,
        subject.scale_in,
        subject.heal_one,
        subject.heal_servers,
        subject.heal_stack,
        subject.terminate,
    )
    for name, act in zip(OPERATIONS, acts, strict=True):
        start = time.perf_counter()
        act()
        times[name].append(time.perf_counter() - start)


@contextlib.contextmanager
def service(state: Path, credentials: dict[str, str]) -> Iterator[str]:
    """Start the service, with this OpenStack as its default VIM."""
    process = subprocess.Popen(
        [
            sys.executable,
            str(lcm.SANDBOX),
            f"--state={state}",
            "--port=0",
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        lcm.wait_for(state / "sandbox.json")
        api = json.loads((state / "sandbox.json").read_text())["api"]
        vim = {
            "name": "bench",
            "type": "openstack",
            "is_default": True,
            "auth_url": credentials["OS_AUTH_URL"],
            "auth_cred": {
                "username": credentials["OS_USERNAME"],
                "password": credentials["OS_PASSWORD"],
                "user_domain_name": credentials["OS_USER_DOMAIN_NAME"],
            },
            "vim_project": {
                "name": credentials["OS_PROJECT_NAME"],
                "project_domain_name": credentials["OS_PROJECT_DOMAIN_NAME"],
            },
        }
        product = Product(api, urllib3.PoolManager())
        product.call("POST", "/v1.0/vims", {"vim": vim})
        yield api
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    openrc = ROOT / ".openstack" / "openrc"
    parser.add_argument("--openrc", type=Path, default=openrc)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    text = arguments.openrc.read_text()
    credentials = dict(re.findall(r"^export (\w+)=(.*)$", text, re.MULTILINE))
    auth = v3.Password(
        credentials["OS_AUTH_URL"],
        username=credentials["OS_USERNAME"],
        password=credentials["OS_PASSWORD"],
        user_domain_name=credentials["OS_USER_DOMAIN_NAME"],
        project_name=credentials["OS_PROJECT_NAME"],
        project_domain_name=credentials["OS_PROJECT_DOMAIN_NAME"],
    )
    baseline_times: lcm.Times = {name: [] for name in OPERATIONS}
    product_times: lcm.Times = {name: [] for name in OPERATIONS}
    with (
        tempfile.TemporaryDirectory() as folder,
        service(Path(folder), credentials) as api,
    ):
        pool = urllib3.PoolManager()
        for run in range(arguments.runs + 1):  # in turn, so drift hits both
            run_lifecycle(Baseline(auth), baseline_times)
            run_lifecycle(Product(api, pool), product_times)
            if not run:  # connections, caches
                for times in (
                    *baseline_times.values(),
                    *product_times.values(),
                ):
                    times.clear()
    subjects = {"baseline": baseline_times, "this service": product_times}
    rows = lcm.table("Front and Store", subjects, OPERATIONS)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
