"""A change of package of a VNF on a real Heat."""

import json
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tests.fixtures.openstack import NEXT_IMAGE
from tests.fixtures.openstack_vnf import (
    OUT,
    SINGLE,
    VnfService,
    a_link,
    a_point,
)
from tests.fixtures.vnfm import Csar
from tests.functional.test_cnf_coordination import (
    NEW,
    OLD,
    RECORDING_SCRIPT,
    SCRIPT,
)

IMAGE = "name: cirros\n          version: '0.6'"
#: definitions of the flavours, which have the same VDUs
SOURCES = [
    f"Definitions/front_and_store_df_{name}.yaml"
    for name in ("simple", "single")
]


def next_package(**more: str) -> Csar:
    """Build a package with other images.

    :param more: path -> text of additional files
    """
    texts = {name: (Csar.source("vnf") / name).read_text() for name in SOURCES}
    files = {
        name: text.replace(IMAGE, IMAGE.replace("cirros", NEXT_IMAGE))
        for name, text in texts.items()
    }
    assert texts != files
    return Csar("vnf", files={**files, **more})


class TestSingle(testtools.TestCase):
    """Each VNFC is a separate resource."""

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.vnf.start(flavourId="single", additionalParams=SINGLE)

    def another(self) -> str:
        """Onboard a package with other images; return its VNFD's id."""
        return self.vnf.onboard(self.useFixture(next_package()))

    def request(self, vdu: str) -> dict[str, Any]:
        parameters = {
            "upgrade_type": "RollingUpdate",
            "vdu_params": [{"vdu_id": vdu}],
            **SINGLE,
        }
        return {"vnfdId": self.another(), "additionalParams": parameters}

    def events(self) -> list[tuple[str, str]]:
        """Return (resource, status) of the stack's events, oldest first."""
        vnf = self.vnf
        path = f"/stacks/{vnf.stack}/{vnf.stack_id}/events?sort_dir=asc"
        return [
            (event["resource_name"], event["resource_status"])
            for event in vnf.project.heat("GET", path)["events"]
        ]

    def images(self) -> dict[str, str]:
        vdus = self.vnf.info["metadata"]["nfv"]["VDU"]
        return {
            name: vdu["vcImageId"]
            for name, vdu in vdus.items()
            if "vcImageId" in vdu
        }

    def test_a_failed_change_is_rolled_back(self) -> None:
        vnf = self.vnf
        old_images, store = self.images(), vnf.ids("store")
        body = self.request("front")
        vnf.project.fail("front", "No room.")
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        vnf.project.repair("front")
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(old_images, self.images())
        self.assertEqual(store, vnf.ids("store"))
        vnf.run_operation("change_vnfpkg", body)
        image = vnf.project.image(NEXT_IMAGE)
        self.assertEqual({**old_images, "front-0": image}, self.images())

    def test_only_the_requested_vdu_is_updated(self) -> None:
        vnf = self.vnf
        vnf.run_operation("scale", {**OUT, "additionalParams": SINGLE})
        old_images = self.images()
        (store,) = vnf.ids("store")
        event_count = len(self.events())
        vnf.run_operation("change_vnfpkg", self.request("front"))
        image = vnf.project.image(NEXT_IMAGE)
        self.assertEqual(
            {**old_images, "front-0": image, "front-1": image}, self.images()
        )
        self.assertEqual({store}, vnf.ids("store"))
        self.assertEqual(vnf.servers(), vnf.ids())
        new_events = self.events()[event_count:]
        self.assertLess(
            new_events.index(("front-0", "UPDATE_COMPLETE")),
            new_events.index(("front-1", "UPDATE_IN_PROGRESS")),
        )
        # the dependencies are removed: the first can be replaced alone
        first = vnf.vnfcs("front")[1]
        vnf.run_operation(
            "heal",
            {"vnfcInstanceId": [first["id"]], "additionalParams": SINGLE},
        )
        self.assertEqual(vnf.servers(), vnf.ids())

    def test_networks_change_with_the_package(self) -> None:
        vnf = self.vnf
        other = vnf.project.network()
        links = [a_link(other, a_point("store_cp"))]
        body = {**self.request("store"), "extVirtualLinks": links}
        vnf.run_operation("change_vnfpkg", body)
        points = vnf.info["metadata"]["nfv"]["CP"]
        self.assertEqual(other, points["store_cp-0"]["network"])
        self.assertEqual(vnf.network, points["front_cp-0"]["network"])
        self.assertEqual(
            {vnf.network, other},
            {
                link["resourceHandle"]["resourceId"]
                for link in vnf.info["extVirtualLinkInfo"]
            },
        )


class TestCoordination(testtools.TestCase):
    """Coordination scripts run for each VNFC of the requested VDUs."""

    def start(self, *, fails: bool = False, **more: Any) -> VnfService:
        self.seen = Path(self.useFixture(fixtures.TempDir()).path) / "seen"
        text = RECORDING_SCRIPT.format(seen=str(self.seen), fails=fails)
        files = {SCRIPT: text}
        vnf = VnfService(self)
        vnf.files = files
        self.useFixture(vnf)
        vnf.start(**more)
        self.vnfd_id = vnf.onboard(self.useFixture(next_package(**files)))
        return vnf

    def request(self, *vdus: str, **more: Any) -> dict[str, Any]:
        def vnfc_param(vdu: str) -> dict[str, Any]:
            return {"cp_name": f"{vdu}_cp", "password": "very-secret"}

        vdu_params = [
            {
                "vdu_id": vdu,
                "new_vnfc_param": vnfc_param(vdu),
                "old_vnfc_param": vnfc_param(vdu),
            }
            for vdu in vdus
        ]
        parameters = {
            "upgrade_type": "RollingUpdate",
            "vdu_params": vdu_params,
            NEW: SCRIPT,
            OLD: SCRIPT,
            **more,
        }
        return {"vnfdId": self.vnfd_id, "additionalParams": parameters}

    def inputs(self) -> list[Any]:
        """Return the input of each run of the script."""
        return [json.loads(line) for line in self.seen.open()]

    def addresses(self, vnf: VnfService, vdu: str) -> set[str]:
        ports = [
            point["cpProtocolInfo"]
            for vnfc in vnf.vnfcs(vdu)
            for point in vnfc["vnfcCpInfo"]
        ]
        return {
            address
            for (info,) in ports
            for one in info["ipOverEthernet"]["ipAddresses"]
            for address in one["addresses"]
        }

    def test_each_vnfc_of_a_group(self) -> None:
        vnf = self.start()
        vnf.run_operation("scale", OUT)
        vnf.run_operation("change_vnfpkg", self.request("front", "store"))
        runs = self.inputs()
        ids = {vnfc["id"] for vnfc in vnf.info["vnfcInfo"]}
        self.assertEqual(ids, {run["vnfc_info_id"] for run in runs})
        self.assertEqual(len(ids), len(runs))
        old_addresses = self.addresses(vnf, "front") | self.addresses(
            vnf, "store"
        )
        used = {run["ssh_ip"] for run in runs}
        self.assertEqual(len(ids), len(used))
        self.assertEqual(set(), used - old_addresses)

    def test_only_vnfcs_of_the_requested_vdu(self) -> None:
        vnf = self.start(flavourId="single", additionalParams=SINGLE)
        vnf.run_operation("change_vnfpkg", self.request("store", **SINGLE))
        (run,) = self.inputs()
        self.assertEqual(vnf.vnfc("store")["id"], run["vnfc_info_id"])
        self.assertIn(run["ssh_ip"], self.addresses(vnf, "store"))
        self.assertFalse(run["is_rollback"])
        self.assertNotIn(vnf.project.password, json.dumps(run))

    def test_a_failed_script_and_the_rollback(self) -> None:
        vnf = self.start(fails=True)
        body = self.request("store")
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        detail = failed["error"]["detail"]
        self.assertIn(f"Script {SCRIPT} ({NEW})", detail)
        self.assertIn("the peer said ABORT", detail)
        self.assertNotIn("very-secret", json.dumps(failed))
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")
        last = self.inputs()[-1]
        self.assertTrue(last["is_rollback"])
        self.assertEqual(vnf.vnfc("store")["id"], last["vnfc_info_id"])

    def test_an_unknown_cp_name_is_an_error(self) -> None:
        vnf = self.start()
        body = self.request("store")
        (vdu_params_entry,) = body["additionalParams"]["vdu_params"]
        vdu_params_entry["new_vnfc_param"]["cp_name"] = "moon"
        failed = vnf.run_operation("change_vnfpkg", body, "FAILED_TEMP")
        # the VNFD does not declare vdu_params
        self.assertIn("has no resource '***'", failed["error"]["detail"])
        self.assertFalse(self.seen.exists())
        vnf.run_decision(failed, "rollback", "ROLLED_BACK")

    def test_a_missing_script_is_rejected(self) -> None:
        vnf = self.start()
        for name in (NEW, OLD):
            body = self.request("store", **{name: "Scripts/moon.py"})
            response = vnf.task(vnf.id, "change_vnfpkg", body)
            self.assertEqual(400, response.status)
            self.assertIn(f"{name}: the VNF package", response.detail)
