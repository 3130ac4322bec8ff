"""Requests that have no dry run."""

import uuid
from typing import Any, Final

from tests.fixtures.vnfm import ApiCase, Csar, Vnfm

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"


class TestRequestsWithoutDryRun(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def check_rejected(self, method: str, path: str, body: Any = None) -> None:
        for query in ("dry_run=true", "dry_run=false", "dryRun=true"):
            response = self.vnfm.call(method, f"{path}?{query}", body)
            self.assert_problem(400, response, "this request has no dry run")
            self.assertIn(query.partition("=")[0], response.detail)

    def test_a_vnf_instance(self) -> None:
        csar = self.useFixture(Csar())
        vnf = self.vnfm.create(self.vnfm.onboard(csar))
        before = self.vnfm.call("GET", INSTANCES).json
        self.check_rejected("POST", INSTANCES, {"vnfdId": csar.vnfd_id})
        self.check_rejected("DELETE", f"{INSTANCES}/{vnf}")
        self.check_rejected("POST", f"{INSTANCES}/{vnf}/sync")
        self.assertEqual(before, self.vnfm.call("GET", INSTANCES).json)
        path = f"{INSTANCES}/{vnf}?dry_run=true"
        self.assertEqual(200, self.vnfm.call("GET", path).status)

    def test_an_operation(self) -> None:
        path = f"{OP_OCCS}/{uuid.uuid4()}"
        self.check_rejected("POST", f"{path}/fail")
        self.check_rejected(
            "POST", f"{path}/cancel", {"cancelMode": "GRACEFUL"}
        )

    def test_packages_subscriptions_and_vims(self) -> None:
        packages = "/vnfpkgm/v1/vnf_packages"
        path = f"{packages}/{uuid.uuid4()}"
        self.check_rejected("POST", packages, {})
        self.check_rejected("DELETE", path)
        self.check_rejected("PATCH", path, {"operationalState": "DISABLED"})
        self.check_rejected(
            "POST", "/vnflcm/v2/subscriptions", {"callbackUri": "http://x"}
        )
        self.check_rejected("DELETE", f"/v1.0/vims/{uuid.uuid4()}")
