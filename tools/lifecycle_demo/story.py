"""What the demo shows, in its order."""

import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from samples import build
from tools.lifecycle_demo import pods
from tools.lifecycle_demo.rest import DemoFailed
from tools.lifecycle_demo.screen import GREEN, RED, Screen
from tools.lifecycle_demo.service import Service
from tools.lifecycle_demo.takeover import Takeover
from tools.lifecycle_demo.vnf import DemoVnf

SOURCE: Final = Path(build.__file__).parent / "cnf"
DEPLOYMENT: Final = "Files/kubernetes/deployment.yaml"
FILES: Final = (
    "configmap secret services pod replicaset deployment daemonset statefulset"
)
IMAGE: Final = "nginx:1.27"
#: no registry has a name below .invalid (RFC 2606)
MISSING_IMAGE: Final = "registry.invalid/nginx:1.28"
#: seconds between two operations of the endless story
PAUSE_S: Final = 3.0


class Packages(NamedTuple):
    """The VNFDs of the onboarded packages."""

    vnfd_id: str
    #: has an image that cannot be pulled
    broken_vnfd_id: str


def prepare(vnf: DemoVnf, vim_file: Path) -> Packages:
    """Onboard the packages, and register the VIM."""
    packages = Packages(str(uuid.uuid4()), str(uuid.uuid4()))
    csar = _build(packages.vnfd_id)
    vnf.step("onboard package", lambda: vnf.onboard(csar))
    broken = _build(packages.broken_vnfd_id, MISSING_IMAGE)
    vnf.step(
        "onboard next package", lambda: vnf.onboard(broken), MISSING_IMAGE
    )
    vim = yaml.safe_load(vim_file.read_text())
    vnf.step("register VIM", lambda: vnf.register(vim), vim["auth_url"])
    return packages


def _build(vnfd_id: str, image: str = IMAGE) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "cnf"
        shutil.copytree(SOURCE, source)
        deployment = source / DEPLOYMENT
        text = deployment.read_text()
        deployment.write_text(text.replace(IMAGE, image))
        path = build.build(source, Path(folder) / "cnf.csar", vnfd_id)
        return path.read_bytes()


def _scale(direction: str, aspect: str, steps: int) -> dict[str, Any]:
    return {
        "type": direction,
        "aspectId": f"{aspect}_aspect",
        "numberOfSteps": steps,
    }


class Story:
    """The story of one VNF.

    :param namespace: of the VNF
    """

    def __init__(
        self,
        vnf: DemoVnf,
        service: Service,
        screen: Screen,
        packages: Packages,
        namespace: str,
    ) -> None:
        self._vnf = vnf
        self._service = service
        self._screen = screen
        self._packages = packages
        self._parameters = {
            "namespace": namespace,
            "lcm-kubernetes-def-files": [
                f"Files/kubernetes/{name}.yaml" for name in FILES.split()
            ],
        }

    def instantiate(self) -> None:
        """Create and instantiate the VNF."""
        vnf = self._vnf
        vnfd_id = self._packages.vnfd_id
        vnf.step("create VNF instance", lambda: vnf.create(vnfd_id))
        request = {
            "flavourId": "simple",
            "additionalParams": self._parameters,
        }
        vnf.operate("instantiate", "instantiate", request)

    def scale_out(self) -> None:
        """Scale out a Deployment."""
        self._vnf.operate("scale out", "scale", _scale("SCALE_OUT", "web", 2))

    def scale_in(self) -> None:
        """Scale in the Deployment."""
        self._vnf.operate("scale in", "scale", _scale("SCALE_IN", "web", 1))

    def heal_one(self) -> None:
        """Heal one VNFC."""
        name = next(p.name for p in self._vnf.pods() if p.vdu == "web")
        request = {"vnfcInstanceId": [f"web-{name}"]}
        self._vnf.operate("heal one VNFC", "heal", request)

    def fail_and_roll_back(self) -> None:
        """Change to a package that cannot run, and roll back.

        :raises DemoFailed: the rollback has not restored the pods
        """
        self._screen.title("A change that fails, and its rollback")
        request = {
            "vnfdId": self._packages.broken_vnfd_id,
            "additionalParams": {
                "upgrade_type": "RollingUpdate",
                "lcm-kubernetes-def-files": self._parameters[
                    "lcm-kubernetes-def-files"
                ],
                "vdu_params": [{"vdu_id": "web"}],
            },
        }
        failed = self._vnf.operate(
            "change package", "change_vnfpkg", request, "FAILED_TEMP"
        )
        self._screen.detail("error", failed.op_occ["error"]["detail"], RED)
        url = failed.op_occ["_links"]["rollback"]["href"]
        rolled_back = self._vnf.operate(
            "roll back", url, expected="ROLLED_BACK"
        )
        if rolled_back.after != failed.before:
            change = failed.before ^ rolled_back.after
            raise DemoFailed(
                f"The rollback left other pods: {', '.join(pods.names(change))}"
            )
        count = len(rolled_back.after)
        self._screen.detail(
            "before",
            f"the same {count} pods with the same images as before",
            GREEN,
        )

    def take_over(self) -> None:
        """Heal the whole VNF, and kill the conductor; another one completes
        the operation.

        :raises DemoFailed: a pod was created twice
        """
        self._screen.title(
            "A conductor that is killed in the middle of an operation"
        )
        takeover = Takeover(self._vnf, self._service, self._screen)
        done = self._vnf.operate(
            "heal the whole VNF",
            "heal",
            {},
            watcher=takeover.watch,
        )
        takeover.check(done)

    def terminate(self) -> None:
        """Terminate the VNF."""
        self._screen.title("Removal")
        self._vnf.terminate()

    def run(self) -> None:
        """Run every chapter once, and delete all that the demo needed."""
        self.instantiate()
        self.scale_out()
        self.scale_in()
        self.heal_one()
        self.fail_and_roll_back()
        self.take_over()
        self.terminate()
        vnf = self._vnf
        vnf.step("delete", vnf.delete_all, "instance, packages, VIM")

    def repeat(self) -> None:
        """Run a slow story again and again, until an exception ends it."""
        while True:
            for chapter in (
                self.instantiate,
                self.scale_out,
                self.heal_one,
                self.fail_and_roll_back,
                self.scale_in,
                self.terminate,
            ):
                chapter()
                time.sleep(PAUSE_S)
            self._vnf.step("delete", self._vnf.delete_instance)
