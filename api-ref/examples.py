"""Generate the examples of the API reference from real requests.

    .venv/bin/python api-ref/examples.py

It starts a sandbox, runs a lifecycle, and writes each request and response
that the reference shows to api-ref/source/examples. Addresses and secrets are
replaced; the rest is unchanged.
"""

# ruff: noqa: S310, S603 - it calls only the server that it started

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "api-ref" / "source" / "examples"
sys.path.insert(0, str(ROOT))

from samples import build  # noqa: E402

JSON = "application/json"
FILES = "configmap secret services deployment replicaset statefulset pod"
ACTIVE = {"STARTING", "PROCESSING", "ROLLING_BACK"}
PACKAGES = "/vnfpkgm/v1/vnf_packages"
INSTANCES = "/vnflcm/v2/vnf_instances"
INSTANCES_V1 = "/vnflcm/v1/vnf_instances"
VNFD_ID = "5c6bd0c9-8f0e-4d0b-9a53-2f1d6f4e7a10"
INSTANTIATE = {
    "flavourId": "simple",
    "instantiationLevelId": "quiet",
    "additionalParams": {
        "namespace": "default",
        "lcm-kubernetes-def-files": [
            f"Files/kubernetes/{name}.yaml"
            for name in (*FILES.split(), "daemonset")
        ],
    },
}
PEM = re.compile(r"-----BEGIN (\w+)-----.*?-----END \w+-----\\n", re.DOTALL)


class Story:
    """Requests to a sandbox, some of which become examples."""

    def __init__(self, facts: dict[str, str], vim: dict[str, Any]) -> None:
        self.api = facts["api"]
        self.cluster = facts["cluster"]
        self.vim = vim

    def record(self, name: str, value: Any) -> None:
        """Write an example, without addresses and secrets."""
        text = json.dumps(value, indent=2)
        text = text.replace(self.api, "http://127.0.0.1:9890")
        text = text.replace(self.cluster, "https://127.0.0.1:6443")
        text = text.replace(self.vim["bearer_token"], "TOKEN")
        begin, end = "-----BEGIN \\1-----", "-----END \\1-----"
        text = PEM.sub(f"{begin}\\\\n...\\\\n{end}\\\\n", text)
        (EXAMPLES / f"{name}.json").write_text(text + "\n")

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        name: str = "",
        kind: str = JSON,
    ) -> tuple[Any, str]:
        """Send a request; return the JSON and the Location of the response.

        :param name: name of the example; empty: record none
        :param kind: media type of the body
        """
        url = path if path.startswith("http") else self.api + path
        request = urllib.request.Request(url, method=method)
        of_v1 = "/vnflcm/v1/" in path
        request.add_header("Version", "1.3.0" if of_v1 else "2.0.0")
        if body is not None:
            request.add_header("Content-Type", kind)
            raw = isinstance(body, bytes)
            request.data = body if raw else json.dumps(body).encode()
        if name and isinstance(body, dict):
            self.record(f"{name}-request", body)
        try:
            with urllib.request.urlopen(request) as response:
                text, headers = response.read(), response.headers
        except urllib.error.HTTPError as error:
            text, headers = error.read(), error.headers
        content = json.loads(text) if text else None
        if name and content is not None:
            self.record(f"{name}-response", content)
        return content, headers.get("Location", "")

    def task(
        self, path: str, body: Any, name: str = "", method: str = "POST"
    ) -> tuple[Any, str]:
        """Run a lifecycle operation and wait for its end."""
        _, op_occ_url = self.send(method, path, body, name)
        while True:
            time.sleep(0.1)
            op_occ, _ = self.send("GET", op_occ_url)
            if op_occ["operationState"] not in ACTIVE:
                return op_occ, op_occ_url


def play(story: Story, csar: bytes) -> None:
    """Run all requests."""
    story.send("GET", "/healthcheck", name="healthcheck")
    story.send("GET", "/vnflcm/api_versions", name="api-versions")
    story.send("GET", "/vnflcm/v2/api_versions", name="api-versions-v2")
    story.send("GET", "/vnfpkgm/api_versions", name="package-api-versions")
    onboard(story, csar)
    vim = register(story)
    live(story)
    live_v1(story)
    story.send("DELETE", vim)


def onboard(story: Story, csar: bytes) -> None:
    """Create and read a package."""
    user_data = {"userDefinedData": {"team": "core"}}
    _, package = story.send("POST", PACKAGES, user_data, "package-create")
    content = f"{package}/package_content"
    story.send("PUT", content, csar, kind="application/zip")
    story.send("GET", PACKAGES, name="package-list")
    story.send("GET", package, name="package-show")
    change = {"userDefinedData": {"team": None, "ticket": "42"}}
    patch = "application/merge-patch+json"
    story.send("PATCH", package, change, "package-update", patch)


def register(story: Story) -> str:
    """Register and read a VIM."""
    cred = ("bearer_token", "ssl_ca_cert")
    vim = {
        "name": "edge",
        "description": "A cluster at the edge",
        "type": "kubernetes",
        "auth_url": story.vim["auth_url"],
        "auth_cred": {name: story.vim[name] for name in cred},
        "is_default": True,
    }
    _, path = story.send("POST", "/v1.0/vims", {"vim": vim}, "vim-create")
    change = {"vim": {"description": "The cluster in hall 2"}}
    story.send("PUT", path, change, "vim-update")
    story.send("GET", "/v1.0/vims", name="vim-list")
    story.send("GET", path, name="vim-show")
    return path


def live(story: Story) -> None:
    """Run the lifecycle of a VNF, with one operation that fails."""
    create = {
        "vnfdId": VNFD_ID,
        "vnfInstanceName": "five kinds",
    }
    _, vnf = story.send("POST", INSTANCES, create, "instance-create")
    story.task(f"{vnf}/instantiate", INSTANTIATE, "instance-instantiate")
    story.send("GET", INSTANCES, name="instance-list")
    story.send("GET", vnf, name="instance-show")
    scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
    _, op_occ = story.task(
        f"{vnf}/scale", {**scale, "numberOfSteps": 2}, "instance-scale"
    )
    story.send("GET", op_occ, name="op-occ-show")
    story.send("GET", f"{op_occ}/plan", name="op-occ-plan")
    story.send("GET", "/vnflcm/v2/vnf_lcm_op_occs", name="op-occ-list")
    modify(story, vnf)
    heal = {"vnfcInstanceId": ["probe-probe"], "cause": "does not answer"}
    story.task(f"{vnf}/heal", heal, "instance-heal")
    too_far = {**scale, "numberOfSteps": 9}
    story.send("POST", f"{vnf}/scale", too_far, "problem")
    fail(story, vnf)
    end = {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 5}
    story.task(f"{vnf}/terminate", end, "instance-terminate")
    story.send("DELETE", vnf)


def live_v1(story: Story) -> None:
    """Run the lifecycle of a VNF by version 1."""
    create = {"vnfdId": VNFD_ID}
    _, vnf = story.send("POST", INSTANCES_V1, create, "v1-instance-create")
    vim = story.send("GET", "/v1.0/vims")[0]["vims"][0]
    used = {"id": "edge", "vimId": vim["id"], "vimType": "kubernetes"}
    instantiate = INSTANTIATE | {"vimConnectionInfo": [used]}
    name = "v1-instance-instantiate"
    story.task(f"{vnf}/instantiate", instantiate, name)
    instance, _ = story.send("GET", vnf, name="v1-instance-show")
    patch = {"vnfInstanceName": "seven pods", "metadata": {"owner": "ops"}}
    story.task(vnf, patch, "v1-instance-modify", "PATCH")
    vnfcs = instance["instantiatedVnfInfo"]["vnfcResourceInfo"]
    heal = {"vnfcInstanceId": [vnfcs[0]["id"]], "cause": "does not answer"}
    _, op_occ = story.task(f"{vnf}/heal", heal, "v1-instance-heal")
    story.send("GET", op_occ, name="v1-op-occ-show")
    story.task(f"{vnf}/terminate", {"terminationType": "FORCEFUL"})
    story.send("DELETE", vnf)


def modify(story: Story, vnf: str) -> None:
    """Modify the VNF instance."""
    patch = {
        "vnfInstanceName": "six pods",
        "metadata": {"owner": "ops"},
        "vnfcInfoModifications": [
            {
                "id": "probe-probe",
                "vnfcConfigurableProperties": {"logLevel": "debug"},
            }
        ],
    }
    _, op_occ = story.task(vnf, patch, "instance-modify", "PATCH")
    story.send("GET", op_occ, name="op-occ-modify")


def fail(story: Story, vnf: str) -> None:
    """Heal a pod that was deleted with kubectl, and fail the operation."""
    instance, _ = story.send("GET", vnf)
    vnfc = next(
        v
        for v in instance["instantiatedVnfInfo"]["vnfcInfo"]
        if v["vduId"] == "web"
    )
    pod = vnfc["vnfcResourceInfoId"]
    kubectl = ["kubectl", f"--kubeconfig={story.vim['kubeconfig']}"]
    subprocess.run([*kubectl, "delete", "pod", pod], check=True)
    heal = {"vnfcInstanceId": [vnfc["id"]]}
    _, op_occ = story.task(f"{vnf}/heal", heal)
    story.send("GET", op_occ, name="op-occ-failed")
    story.send("POST", f"{op_occ}/rollback", name="op-occ-rollback-refused")
    story.send("POST", f"{op_occ}/fail", name="op-occ-fail")


def main() -> None:
    """Start a sandbox and write the examples."""
    EXAMPLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder).resolve()
        source = ROOT / "samples" / "cnf"
        csar = build.build(source, state / "cnf.csar").read_bytes()
        # without a watch, the VNFM does not notice the deleted pod
        settings = state / "conf.d" / "examples.conf"
        settings.parent.mkdir()
        settings.write_text("[conductor]\nsync_watch = false\n")
        sandbox = str(ROOT / "tools" / "sandbox.py")
        server = subprocess.Popen(
            [sys.executable, sandbox, f"--state={state}", "--port=0"],
            stdout=subprocess.DEVNULL,
        )
        try:
            while not (state / "sandbox.json").exists():
                time.sleep(0.1)
            facts = json.loads((state / "sandbox.json").read_text())
            vim = yaml.safe_load(Path(facts["vim"]).read_text())
            play(Story(facts, vim | facts), csar)
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
