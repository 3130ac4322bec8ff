"""The timelines of operations on a cluster, as clients read them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import testtools

from tests.fixtures.cluster import CnfService


class TestTimelines(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService())
        self.instance_id = self.vnfm.start_vnf()

    def infra(self, op_occ: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the step that changed the cluster."""
        grant, infra = op_occ["timeline"]
        self.assertEqual("GRANT", grant["step"])
        self.assertEqual("INFRA", infra["step"])
        self.assertLessEqual(grant["endTime"], infra["startTime"])
        self.assertLessEqual(infra["startTime"], infra["endTime"])
        return dict(infra)

    def latest(self) -> Any:
        (op_occ,) = self.vnfm.call("GET", "/vnflcm/v2/vnf_lcm_op_occs").json
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}"
        self.assertNotIn("timeline", op_occ)
        return self.vnfm.call("GET", path).json

    def summarize(
        self, resources: Sequence[Mapping[str, Any]]
    ) -> Counter[tuple[str, str | None, str | None]]:
        """Count the resources by their kind, VDU and message."""
        return Counter(
            (r["kind"], r.get("vduId"), r.get("message")) for r in resources
        )

    def test_an_instantiation_has_every_object_and_pod(self) -> None:
        infra = self.infra(self.latest())
        resources = infra["resources"]
        vnfcs = self.vnfm.vnfcs(self.instance_id).values()
        self.assertEqual(
            {vnfc["id"] for vnfc in vnfcs},
            {r["vnfcId"] for r in resources if r["kind"] == "Pod"},
        )
        kinds = Counter(r["kind"] for r in resources)
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
            self.assertEqual(1, kinds[kind], kind)
        self.assertEqual({"DONE"}, {r["status"] for r in resources})
        self.assertEqual(len(resources), infra["total"])
        self.assertEqual(len(resources), infra["done"])

    def test_a_heal_has_the_deleted_and_the_new_pod(self) -> None:
        (vnfc,) = (
            name
            for name, vnfc in self.vnfm.vnfcs(self.instance_id).items()
            if vnfc["vduId"] == "cache"
        )
        body = {"vnfcInstanceId": [vnfc]}
        op_occ = self.vnfm.run(self.instance_id, "heal", body)
        found = self.summarize(self.infra(op_occ)["resources"])
        self.assertEqual(1, found["Pod", "cache", "Deleted"])
        self.assertEqual(1, found["Pod", "cache", "Running"])

    def test_a_termination_has_all_that_was_deleted(self) -> None:
        body = {"terminationType": "FORCEFUL"}
        op_occ = self.vnfm.run(self.instance_id, "terminate", body)
        infra = self.infra(op_occ)
        found = self.summarize(infra["resources"])
        self.assertEqual({"Deleted"}, {message for *_, message in found})
        self.assertEqual(1, found["Pod", "web", "Deleted"])
        self.assertEqual(1, found["Deployment", None, "Deleted"])
        self.assertEqual(infra["total"], infra["done"])
