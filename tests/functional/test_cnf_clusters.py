"""VNFs whose VDUs are on several clusters."""

from typing import Any

import msgspec

from tacker_cnf.nfvo.fake import FakeNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest
from tests.fixtures import waiting
from tests.fixtures.cluster import Cluster, CnfCase, CnfService

VDUS_ON_VIM1 = {"web", "cache", "agent"}
VDUS_ON_OTHER = {"store", "probe"}


class TwoClusters(CnfCase):
    """A cluster "vim1" and another, "there"."""

    def setUp(self) -> None:
        super().setUp()
        self.other = self.useFixture(Cluster())
        body = {"metadata": {"name": self.vnfm.namespace}}
        self.other.call("POST", "/api/v1/namespaces", body)
        self.empty = [set(found) for found in self.list_objects_by_cluster()]

    def list_objects_by_cluster(self) -> list[dict[tuple[str, str], Any]]:
        """Return the objects of each cluster: (kind, name) -> object."""
        return [
            one.objects(self.vnfm.namespace)
            for one in (self.cluster, self.other)
        ]

    def request(self, **places: str) -> dict[str, Any]:
        request = self.vnfm.request()
        request["vimConnectionInfo"]["there"] = self.other.vim()["vim1"]
        request["additionalParams"]["vim_connections"] = places
        return request

    def create_on_two_clusters(self) -> str:
        """Instantiate a VNF with two of its VDUs on the other cluster."""
        return self.vnfm.start_vnf(self.request(store="there", probe="there"))

    def vdus(self) -> list[set[str]]:
        """Return the VDUs that have pods on each cluster."""
        return [
            {
                body["metadata"]["labels"]["tacker_vdu_id"]
                for (kind, _), body in found.items()
                if kind == "pods"
            }
            for found in self.list_objects_by_cluster()
        ]

    def keys(self, instance_id: str) -> dict[str, str]:
        """Return what the instance records: VDU -> key of its cluster."""
        return {
            vnfc["vduId"]: vnfc["computeResource"]["vimConnectionId"]
            for vnfc in self.vnfm.vnfcs(instance_id).values()
        }

    def uids(self) -> list[dict[tuple[str, str], str]]:
        return [
            one.uids(self.vnfm.namespace) for one in (self.cluster, self.other)
        ]


class TestLifecycle(TwoClusters):
    def test_each_vdu_is_on_the_cluster_of_the_request(self) -> None:
        instance_id = self.create_on_two_clusters()
        self.assertEqual([VDUS_ON_VIM1, VDUS_ON_OTHER], self.vdus())
        expected = dict.fromkeys(VDUS_ON_VIM1, "vim1") | dict.fromkeys(
            VDUS_ON_OTHER, "there"
        )
        self.assertEqual(expected, self.keys(instance_id))
        for (
            found
        ) in self.list_objects_by_cluster():  # objects of no VDU are on both
            self.assertIn(("secrets", "web-secret"), found)
        local_objects, remote_objects = self.list_objects_by_cluster()
        self.assertIn(("deployments", "web"), local_objects)
        self.assertNotIn(("deployments", "web"), remote_objects)
        self.assertIn(("statefulsets", "store"), remote_objects)
        self.assertNotIn(("statefulsets", "store"), local_objects)

    def test_the_first_cluster_is_the_default(self) -> None:
        instance_id = self.vnfm.start_vnf(self.request())
        self.assertEqual([VDUS_ON_VIM1 | VDUS_ON_OTHER, set()], self.vdus())
        self.assertEqual({"vim1"}, set(self.keys(instance_id).values()))
        self.assertEqual(self.empty[1], set(self.list_objects_by_cluster()[1]))

    def test_a_cluster_without_vdus_is_not_used(self) -> None:
        places = dict.fromkeys(VDUS_ON_VIM1 | VDUS_ON_OTHER, "there")
        self.vnfm.start_vnf(self.request(**places))
        self.assertEqual([set(), VDUS_ON_VIM1 | VDUS_ON_OTHER], self.vdus())
        self.assertEqual(self.empty[0], set(self.list_objects_by_cluster()[0]))

    def test_scale(self) -> None:
        instance_id = self.create_on_two_clusters()
        before = self.uids()
        scaled = {"type": "SCALE_OUT", "aspectId": "store_aspect"}
        done = self.vnfm.run(instance_id, "scale", scaled)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(before[0], self.uids()[0])
        self.assertIn(("pods", "store-1"), self.uids()[1])

    def test_heal_of_vnfcs_on_both_clusters(self) -> None:
        instance_id = self.create_on_two_clusters()
        before = self.uids()
        vnfcs = [self.vnfm.vnfc_of(instance_id, v) for v in ("web", "probe")]
        body = {"vnfcInstanceId": vnfcs}
        done = self.vnfm.run(instance_id, "heal", body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        after = self.uids()
        self.assertNotEqual(
            before[1]["pods", "probe"], after[1]["pods", "probe"]
        )
        self.assertEqual(
            before[1]["pods", "store-0"], after[1]["pods", "store-0"]
        )
        self.assertEqual(
            1, len(set(before[0].values()) - set(after[0].values()))
        )
        self.assertEqual([VDUS_ON_VIM1, VDUS_ON_OTHER], self.vdus())

    def test_heal_of_all(self) -> None:
        instance_id = self.create_on_two_clusters()
        before = self.uids()
        done = self.vnfm.run(instance_id, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"], done)
        after = self.uids()
        for one, key in (
            (0, ("deployments", "web")),
            (1, ("statefulsets", "store")),
        ):
            self.assertNotEqual(before[one][key], after[one][key])
        self.assertEqual([VDUS_ON_VIM1, VDUS_ON_OTHER], self.vdus())

    def test_terminate(self) -> None:
        instance_id = self.create_on_two_clusters()
        done = self.vnfm.run(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(
            self.empty,
            [set(found) for found in self.list_objects_by_cluster()],
        )

    def test_synchronize(self) -> None:
        instance_id = self.create_on_two_clusters()
        self.other.sandbox.kill_pod(self.vnfm.namespace, "store-0")

        def is_synchronized() -> bool:
            self.vnfm.task(instance_id, "sync", None)
            return self.is_store_pod_recorded(instance_id)

        waiting.until(is_synchronized, "the record of the new pod")
        self.assertEqual("there", self.keys(instance_id)["store"])

    def is_store_pod_recorded(self, instance_id: str) -> bool:
        """Return whether the present pod of the store is recorded."""
        uid = self.uids()[1].get(("pods", "store-0"))
        return uid in {
            vnfc["metadata"]["uid"]
            for vnfc in self.vnfm.vnfcs(instance_id).values()
        }


class TestWrongRequests(TwoClusters):
    def refused(self, **places: Any) -> str:
        instance_id = self.vnfm.create()
        response = self.vnfm.task(
            instance_id, "instantiate", self.request(**places)
        )
        self.assertEqual(400, response.status, response.detail)
        self.assertEqual(
            self.empty,
            [set(found) for found in self.list_objects_by_cluster()],
        )
        return response.detail

    def test_an_unknown_connection(self) -> None:
        detail = self.refused(web="moon")
        self.assertIn("'moon'", detail)
        self.assertIn("there, vim1", detail)

    def test_an_unknown_vdu(self) -> None:
        self.assertIn("no VDU 'moon'", self.refused(moon="there"))

    def test_a_value_that_is_no_string(self) -> None:
        self.assertIn("vim_connections", self.refused(web=1))


class VimAssigningNfvo(FakeNfvo):
    """Grants each VDU's VNFCs on the configured VIM connections."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, list[str]] = {}

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,
        deadline: Deadline,
    ) -> Grant:
        usual = super().grant(request, cancel_token, deadline)
        vdus = {one.id: one.vdu_id or "" for one in request.add_resources}
        remaining = {vdu: list(keys) for vdu, keys in self.places.items()}
        placed = []
        for info in usual.add_resources:
            keys = remaining.get(vdus[info.resource_definition_id], [])
            key = keys.pop(0) if keys else None
            placed.append(msgspec.structs.replace(info, vim_connection_id=key))
        return msgspec.structs.replace(usual, add_resources=tuple(placed))


class TestGranted(TwoClusters):
    def create_service(self) -> CnfService:
        service = CnfService()
        self.nfvo = service.nfvo = VimAssigningNfvo()
        return service

    def test_the_grant_overrides_the_request(self) -> None:
        self.nfvo.places = {"web": ["there"], "cache": ["there"]}
        instance_id = self.vnfm.start_vnf(self.request(web="vim1"))
        self.assertEqual(
            [{"agent", "store", "probe"}, {"web", "cache"}], self.vdus()
        )
        self.nfvo.places = {"web": ["vim1"]}  # it runs, and stays
        scaled = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        done = self.vnfm.run(instance_id, "scale", scaled)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual("there", self.keys(instance_id)["web"])
        self.assertNotIn("web", self.vdus()[0])

    def instantiate_failing(self, **places: list[str]) -> str:
        """Instantiate by a grant that is invalid; return the error."""
        self.nfvo.places = places
        request = self.request()
        request["instantiationLevelId"] = "busy"
        failed = self.vnfm.run(self.vnfm.create(), "instantiate", request)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertEqual(
            self.empty,
            [set(found) for found in self.list_objects_by_cluster()],
        )
        return str(failed["error"]["detail"])

    def test_an_unknown_vim_connection(self) -> None:
        detail = self.instantiate_failing(web=["moon"])
        self.assertIn("The grant's addResources: VDU web", detail)
        self.assertIn("'moon'", detail)

    def test_a_workload_cannot_be_split(self) -> None:
        detail = self.instantiate_failing(web=["vim1", "there"])
        self.assertIn("cannot be on several clusters (there, vim1)", detail)

    def test_a_rollback_uses_the_clusters_of_the_grant(self) -> None:
        self.nfvo.places = {"web": ["there"]}
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.other.sandbox.set_node_capacity(node, pods=0)
        request = self.request()
        failed = self.vnfm.run(self.vnfm.create(), "instantiate", request)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertIn(
            ("deployments", "web"), self.list_objects_by_cluster()[1]
        )
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertEqual(
            self.empty,
            [set(found) for found in self.list_objects_by_cluster()],
        )
