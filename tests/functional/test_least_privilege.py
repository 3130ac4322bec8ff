"""The life of a VNF with the account in etc/kubernetes, which the guide shows."""

import concurrent.futures
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fixtures
import msgspec
import yaml
from kubernetes_sandbox.api_request import User
from kubernetes_sandbox.authorization import (
    AuthorizationAttributes,
    Authorizer,
)

from tacker_cnf import errors
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures import waiting
from tests.fixtures.cluster import CORE, RBAC, CnfCase
from tests.fixtures.vnfm import SAMPLES, Csar

EXAMPLES: Final = Path(__file__).parents[2] / "etc/kubernetes"
ROLE: Final = EXAMPLES / "vnfm-role.yaml"
CLUSTER_ROLE: Final = EXAMPLES / "vnfm-cluster-role.yaml"
#: kind -> its path below a namespace
PATHS: Final = {
    "ServiceAccount": (CORE, "serviceaccounts"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
}
FAILING: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: probe}
spec: {containers: [{name: probe, image: "registry/invalid:1"}]}
"""
BUDGET: Final = {
    "metadata": {"name": "web"},
    "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
#: verb, resource and API group
Right = tuple[str, str, str]


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


class TestLeastPrivilege(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        self.used: set[Right] = set()
        self.denied: set[tuple[Right, str]] = set()
        self.useFixture(
            fixtures.MonkeyPatch(
                "kubernetes_sandbox.authorization.Authorizer.is_allowed",
                self.recorded(Authorizer.is_allowed),
            )
        )
        connection = self.cluster.vim(bearer_token=self.create_account())
        self.request = self.vnfm.request(vimConnectionInfo=connection)

    def recorded(self, is_allowed: Any) -> Any:
        """Record the rights that the account uses."""

        def record(
            authorizer: Authorizer, user: User, action: AuthorizationAttributes
        ) -> bool:
            result: bool = is_allowed(authorizer, user, action)
            if "serviceaccount" in user.name:
                right = action.verb, action.resource, action.group
                if result:
                    self.used.add(right)
                else:
                    self.denied.add((right, action.namespace))
            return result

        return record

    def create_account(self) -> str:
        """Create the account of the guide; return a token."""
        namespace = self.vnfm.namespace
        for body in documents(ROLE):
            root, plural = PATHS[body["kind"]]
            path = f"{root}/namespaces/{namespace}/{plural}"
            self.cluster.call("POST", path, body)
        path = f"{CORE}/namespaces/{namespace}/serviceaccounts/vnfm/token"
        created = self.cluster.call("POST", path, {"spec": {}})
        return str(created["status"]["token"])

    def allow_cluster(self) -> None:
        """Give the account the optional rights of the guide."""
        for body in documents(CLUSTER_ROLE):
            for subject in body.get("subjects", ()):
                subject["namespace"] = self.vnfm.namespace
            path = f"{RBAC}/{body['kind'].lower()}s"
            self.cluster.call("POST", path, body)

    def rights(self) -> Iterator[Right]:
        """Yield the rights of the Role."""
        (role,) = (b for b in documents(ROLE) if b["kind"] == "Role")
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield verb, resource, group

    def run_operation(
        self, instance_id: str, task: str, body: Any, state: str = "COMPLETED"
    ) -> Any:
        done = self.vnfm.run(instance_id, task, body)
        self.assertEqual(state, done["operationState"], done)
        return done

    def test_the_rights_are_enough_and_all_are_used(self) -> None:
        before = self.objects()
        budgets = (
            f"/apis/policy/v1/namespaces/{self.vnfm.namespace}"
            "/poddisruptionbudgets"
        )
        self.cluster.call("POST", budgets, BUDGET)
        instance_id = self.vnfm.start_vnf(self.request)
        self.check_life(instance_id)
        self.run_operation(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.check_failure()
        self.check_update()
        self.assertEqual(before.keys(), self.objects().keys())
        # the cluster-wide watch and the nodes are optional
        self.assertEqual(
            set(), {right for right, place in self.denied if place}
        )
        rights = set(self.rights())
        self.assertEqual(set(), self.used - rights)
        # whether a watch is needed depends on how fast objects change
        unused = {right for right in rights - self.used if right[0] != "watch"}
        self.assertEqual(set(), unused)

    def check_life(self, instance_id: str) -> None:
        for direction in ("SCALE_OUT", "SCALE_IN"):
            for aspect in ("web", "cache", "store"):
                body = {"type": direction, "aspectId": f"{aspect}_aspect"}
                self.run_operation(instance_id, "scale", body)
        vnfcs = sorted(self.vnfm.vnfcs(instance_id))
        self.run_operation(instance_id, "heal", {"vnfcInstanceId": vnfcs[:1]})
        vnfcs = sorted(self.vnfm.vnfcs(instance_id))
        self.run_operation(instance_id, "heal", {"vnfcInstanceId": vnfcs})
        for state in ("STOPPED", "STARTED"):
            body = {"changeStateTo": state}
            self.run_operation(instance_id, "operate", body)
        self.run_operation(instance_id, "heal", {})
        name = "Files/kubernetes/deployment.yaml"
        text = (SAMPLES / "cnf" / name).read_text()
        csar = Csar(files={name: text.replace("nginx:1.27", "nginx:1.28")})
        change = {
            "vnfdId": self.vnfm.onboard(self.useFixture(csar)),
            "additionalParams": {"upgrade_type": "RollingUpdate"},
        }
        self.run_operation(instance_id, "change_vnfpkg", change)
        path = f"/vnflcm/v2/vnf_instances/{instance_id}/sync"
        self.assertIn(self.vnfm.call("POST", path).status, {200, 202, 204})

    def check_failure(self) -> None:
        """The error of a pod that cannot start has its events."""
        instance_id = self.vnfm.create_with_files(pod=FAILING)
        failed = self.run_operation(
            instance_id, "instantiate", self.request, "FAILED_TEMP"
        )
        self.assertRegex(failed["error"]["detail"], "ErrImagePull|BackOff")
        failed = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)

    def check_update(self) -> None:
        """Update a CNF by container_update."""
        names = ("configuration", "other", "workloads")
        files = [f"Files/kubernetes/{name}.yaml" for name in names]
        before = self.useFixture(Csar("cnf-update-before"))
        after = self.useFixture(Csar("cnf-update-after"))
        instance_id = self.vnfm.create(self.vnfm.onboard(before))
        parameters = {
            "lcm-kubernetes-def-files": files,
            "namespace": self.vnfm.namespace,
        }
        self.run_operation(
            instance_id,
            "instantiate",
            {**self.request, "additionalParams": parameters},
        )
        paths = ["Files/kubernetes/configuration-2.yaml"]
        done = self.vnfm.modify(
            instance_id,
            {
                "vnfdId": self.vnfm.onboard(after),
                "metadata": {"configmap_secret_paths": paths},
            },
        )
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.run_operation(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )

    def test_the_watch(self) -> None:
        """It covers all namespaces if the account may read their pods."""
        watch = ("watch", "pods", "")
        self.watch(watch)
        self.assertEqual({(("list", "pods", ""), "")}, self.denied)
        self.used.clear()
        self.denied.clear()
        self.allow_cluster()
        self.watch(watch)
        self.assertEqual(set(), self.denied)

    def watch(self, right: Right) -> None:
        """Watch the cluster with the account, until it uses a right."""
        cancel_token = CancelToken()
        task = WatchTask(
            vim_connection=msgspec.convert(
                self.request["vimConnectionInfo"]["vim1"], VimConnectionInfo
            ),
            tenants=lambda: {self.vnfm.namespace},
            on_change=lambda _: None,
            on_missed=lambda _: None,
            cancel_token=cancel_token,
        )
        driver = self.vnfm.parts.drivers.for_type("kubernetes")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            watch = pool.submit(driver.watch, task)
            try:
                waiting.until(lambda: right in self.used, "the watch")
            finally:
                cancel_token.cancel(errors.Cancelled(), forceful=True)
            self.assertRaises(errors.Cancelled, watch.result)
