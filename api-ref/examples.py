"""Makes the examples of the API reference, by really asking.

    .venv/bin/python api-ref/examples.py

It starts a sandbox, plays a story, and writes each request and answer that
the reference shows to api-ref/source/examples. Addresses and secrets are
replaced; the rest is as it came.
"""

# ruff: noqa: S310, S603 - it asks and runs what it started itself

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
PEM = re.compile(r"-----BEGIN (\w+)-----.*?-----END \w+-----\\n", re.DOTALL)


class Story:
    """Requests to a sandbox, of which some are kept."""

    def __init__(self, facts: dict[str, str], vim: dict[str, Any]) -> None:
        self.api = facts["api"]
        self.cluster = facts["cluster"]
        self.vim = vim

    def keep(self, name: str, value: Any) -> None:
        """Write an example, without what is of this machine."""
        text = json.dumps(value, indent=2)
        text = text.replace(self.api, "http://127.0.0.1:9890")
        text = text.replace(self.cluster, "https://127.0.0.1:6443")
        text = text.replace(self.vim["bearer_token"], "TOKEN")
        begin, end = "-----BEGIN \\1-----", "-----END \\1-----"
        text = PEM.sub(f"{begin}\\\\n...\\\\n{end}\\\\n", text)
        (EXAMPLES / f"{name}.json").write_text(text + "\n")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        name: str = "",
        kind: str = JSON,
    ) -> tuple[Any, str]:
        """Make a request; give its JSON and its Location."""
        url = path if path.startswith("http") else self.api + path
        request = urllib.request.Request(url, method=method)
        request.add_header("Version", "2.0.0")
        if body is not None:
            request.add_header("Content-Type", kind)
            raw = isinstance(body, bytes)
            request.data = body if raw else json.dumps(body).encode()
        if name and isinstance(body, dict):
            self.keep(f"{name}-request", body)
        try:
            with urllib.request.urlopen(request) as response:
                text, headers = response.read(), response.headers
        except urllib.error.HTTPError as error:
            text, headers = error.read(), error.headers
        told = json.loads(text) if text else None
        if name and told is not None:
            self.keep(f"{name}-response", told)
        return told, headers.get("Location", "")

    def task(
        self, path: str, body: Any, name: str = "", method: str = "POST"
    ) -> tuple[Any, str]:
        """Run a lifecycle operation to its end."""
        _, op_occ_url = self.ask(method, path, body, name)
        while True:
            time.sleep(0.1)
            op_occ, _ = self.ask("GET", op_occ_url)
            if op_occ["operationState"] not in ACTIVE:
                return op_occ, op_occ_url


def play(story: Story, csar: bytes) -> None:
    """Tell the story."""
    story.ask("GET", "/healthcheck", name="healthcheck")
    story.ask("GET", "/vnflcm/api_versions", name="api-versions")
    story.ask("GET", "/vnflcm/v2/api_versions", name="api-versions-v2")
    onboard(story, csar)
    vim = register(story)
    live(story)
    story.ask("DELETE", vim)


def onboard(story: Story, csar: bytes) -> None:
    """Make and read a package."""
    user_data = {"userDefinedData": {"team": "core"}}
    _, package = story.ask("POST", PACKAGES, user_data, "package-create")
    content = f"{package}/package_content"
    story.ask("PUT", content, csar, kind="application/zip")
    story.ask("GET", PACKAGES, name="package-list")
    story.ask("GET", package, name="package-show")
    change = {"userDefinedData": {"team": None, "ticket": "42"}}
    patch = "application/merge-patch+json"
    story.ask("PATCH", package, change, "package-update", patch)


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
    _, path = story.ask("POST", "/v1.0/vims", {"vim": vim}, "vim-create")
    change = {"vim": {"description": "The cluster in hall 2"}}
    story.ask("PUT", path, change, "vim-update")
    story.ask("GET", "/v1.0/vims", name="vim-list")
    story.ask("GET", path, name="vim-show")
    return path


def live(story: Story) -> None:
    """Carry a VNF through its life, and let one operation fail."""
    create = {
        "vnfdId": "5c6bd0c9-8f0e-4d0b-9a53-2f1d6f4e7a10",
        "vnfInstanceName": "five kinds",
    }
    _, vnf = story.ask("POST", INSTANCES, create, "instance-create")
    instantiate = {
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
    story.task(f"{vnf}/instantiate", instantiate, "instance-instantiate")
    story.ask("GET", INSTANCES, name="instance-list")
    story.ask("GET", vnf, name="instance-show")
    scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
    _, op_occ = story.task(
        f"{vnf}/scale", {**scale, "numberOfSteps": 2}, "instance-scale"
    )
    story.ask("GET", op_occ, name="op-occ-show")
    story.ask("GET", "/vnflcm/v2/vnf_lcm_op_occs", name="op-occ-list")
    modify(story, vnf)
    named = {"vnfcInstanceId": ["probe-probe"], "cause": "does not answer"}
    story.task(f"{vnf}/heal", named, "instance-heal")
    too_far = {**scale, "numberOfSteps": 9}
    story.ask("POST", f"{vnf}/scale", too_far, "problem")
    fail(story, vnf)
    end = {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 5}
    story.task(f"{vnf}/terminate", end, "instance-terminate")
    story.ask("DELETE", vnf)


def modify(story: Story, vnf: str) -> None:
    """Change what is known of the VNF."""
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
    story.ask("GET", op_occ, name="op-occ-modify")


def fail(story: Story, vnf: str) -> None:
    """Heal a pod that somebody else deleted, and accept the failure."""
    told, _ = story.ask("GET", vnf)
    vnfc = next(
        v
        for v in told["instantiatedVnfInfo"]["vnfcInfo"]
        if v["vduId"] == "web"
    )
    pod = vnfc["vnfcResourceInfoId"]
    kubectl = ["kubectl", f"--kubeconfig={story.vim['kubeconfig']}"]
    subprocess.run([*kubectl, "delete", "pod", pod], check=True)
    heal = {"vnfcInstanceId": [vnfc["id"]]}
    _, op_occ = story.task(f"{vnf}/heal", heal)
    story.ask("GET", op_occ, name="op-occ-failed")
    story.ask("POST", f"{op_occ}/rollback", name="op-occ-rollback-refused")
    story.ask("POST", f"{op_occ}/fail", name="op-occ-fail")


def main() -> None:
    """Start a sandbox and write the examples."""
    EXAMPLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder).resolve()
        source = ROOT / "samples" / "cnf"
        csar = build.build(source, state / "cnf.csar").read_bytes()
        # what is deleted behind its back, the VNFM is not to see by itself
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
