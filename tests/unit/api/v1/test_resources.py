"""Resources of version 2 become resources of version 1."""

import json
import uuid
from typing import Any

import msgspec
import testtools

from tacker_cnf.api.v1 import operation_params, resources
from tacker_cnf.services.vnf_instances import InstanceDetails
from tacker_cnf.sol.base import encode
from tacker_cnf.sol.common import IpType, LayerProtocol, VimConnectionInfo
from tacker_cnf.sol.connection_point import (
    CpProtocolInfo,
    IpAddressesInfo,
    IpOverEthernetAddressInfo,
    VnfcCpInfo,
    VnfExtCpInfo,
)
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LcmOpOccNotificationVerbosityType,
)
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc
from tests.factories import (
    a_running_instance,
    a_vnfc,
    an_info,
    an_instance,
    an_op_occ,
)

BASE = "https://vnfm.example:9890"
INSTANCE = f"{BASE}/vnflcm/v1/vnf_instances/an-instance"
OP_OCC = f"{BASE}/vnflcm/v1/vnf_lcm_op_occs/an-op-occ"


def shown(
    instance: VnfInstance, package: str | None = "a-package", **params: Any
) -> Any:
    details = InstanceDetails(instance, package, params)
    return json.loads(encode(resources.instance(details, BASE)))


def shown_op_occ(op_occ: VnfLcmOpOcc) -> Any:
    return json.loads(encode(resources.op_occ(op_occ, BASE)))


def links(where: str, *names: str) -> dict[str, Any]:
    found = {"self": {"href": where}}
    for name in names:
        task = {"changeExtConn": "change_ext_conn"}.get(name, name)
        found[name] = {"href": f"{where}/{task}"}
    return found


class TestInstance(testtools.TestCase):
    def test_one_that_is_not_instantiated(self) -> None:
        instance = an_instance(
            extensions={"a": 1},
            vnf_configurable_properties={"b": 2},
            vim_connection_info={"c": VimConnectionInfo(vim_id="v")},
            instantiated_vnf_info=an_info(),
        )
        self.assertEqual(
            {
                "id": "an-instance",
                "vnfInstanceName": "vnf-an-instance",
                "vnfdId": "a-vnfd",
                "vnfProvider": "a vendor",
                "vnfProductName": "a product",
                "vnfSoftwareVersion": "1.0",
                "vnfdVersion": "2.0",
                "vnfPkgId": "a-package",
                "instantiationState": "NOT_INSTANTIATED",
                "_links": links(INSTANCE, "instantiate"),
            },
            shown(instance),
        )

    def test_without_a_package_there_is_no_id(self) -> None:
        self.assertNotIn("vnfPkgId", shown(an_instance(), None))

    def test_its_own_name_and_description(self) -> None:
        found = shown(
            an_instance(vnf_instance_name="n", vnf_instance_description="d")
        )
        self.assertEqual("n", found["vnfInstanceName"])
        self.assertEqual("d", found["vnfInstanceDescription"])

    def test_one_that_is_instantiated(self) -> None:
        vnfc = a_vnfc(uid="x")
        info = an_info(
            vnfc,
            levels={"web": 1},
            metadata={"tenant": "t", "namespace": "n", "nfv": {}},
            localization_language="fr",
        )
        instance = a_running_instance(
            info=info,
            metadata={"owner": "ops"},
            vim_connection_info={
                "vim1": VimConnectionInfo(vim_id="v", vim_type="k")
            },
        )
        found = shown(instance, namespace="n")
        self.assertEqual(
            {"owner": "ops", "tenant": "t", "namespace": "n"},
            found["metadata"],
        )
        self.assertEqual(
            [
                {
                    "id": "vim1",
                    "vimId": "v",
                    "vimType": "k",
                    "interfaceInfo": {},
                    "accessInfo": {},
                    "extra": {},
                }
            ],
            found["vimConnectionInfo"],
        )
        self.assertEqual(
            {
                "flavourId": "simple",
                "vnfState": "STARTED",
                "scaleStatus": [{"aspectId": "web", "scaleLevel": 1}],
                "extCpInfo": [],
                "vnfcResourceInfo": [
                    {
                        "id": vnfc_id("an-instance", "web-1"),
                        "vduId": "web",
                        "computeResource": {
                            "vimConnectionId": None,
                            "resourceId": "web-1",
                            "vimLevelResourceType": None,
                        },
                        "storageResourceIds": [],
                    }
                ],
                "vnfcInfo": [
                    {
                        "id": vnfc_id("an-instance", "web-web-1"),
                        "vduId": "web",
                        "vnfcState": "STARTED",
                    }
                ],
                "additionalParams": {"namespace": "n"},
            },
            found["instantiatedVnfInfo"],
        )
        tasks = ("terminate", "scale", "heal", "changeExtConn")
        self.assertEqual(links(INSTANCE, *tasks), found["_links"])

    def test_connection_points(self) -> None:
        protocol = CpProtocolInfo(
            layer_protocol=LayerProtocol.IP_OVER_ETHERNET,
            ip_over_ethernet=IpOverEthernetAddressInfo(
                segmentation_id="7",
                ip_addresses=(
                    IpAddressesInfo(
                        type=IpType.IPV4,
                        addresses=("10.0.0.1",),
                        is_dynamic=False,
                    ),
                ),
            ),
        )
        point = VnfcCpInfo(id="c", cpd_id="CP", cp_protocol_info=(protocol,))
        external = VnfExtCpInfo(
            id="e", cpd_id="CP", cp_config_id="x", cp_protocol_info=()
        )
        vnfc = msgspec.structs.replace(a_vnfc(), vnfc_cp_info=(point,))
        info = an_info(vnfc, ext_cp_info=(external,))
        found = shown(a_running_instance(info=info))["instantiatedVnfInfo"]
        self.assertEqual(
            [
                {
                    "id": "e",
                    "cpdId": "CP",
                    "extLinkPortId": None,
                    "associatedVnfcCpId": None,
                    "cpProtocolInfo": [],
                }
            ],
            found["extCpInfo"],
        )
        (shown_point,) = found["vnfcResourceInfo"][0]["vnfcCpInfo"]
        self.assertEqual(
            {
                "layerProtocol": "IP_OVER_ETHERNET",
                "ipOverEthernet": {
                    "macAddress": None,
                    "ipAddresses": [
                        {
                            "type": "IPV4",
                            "subnetId": None,
                            "isDynamic": False,
                            "addresses": ["10.0.0.1"],
                        }
                    ],
                },
            },
            shown_point["cpProtocolInfo"][0],
        )


class TestVnfcIds(testtools.TestCase):
    def test_they_are_uuids_that_stay(self) -> None:
        found = vnfc_id("an-instance", "web-1")
        self.assertEqual("80cc272e-d4c5-5dfb-8d06-44f8252306bc", found)
        self.assertEqual(5, uuid.UUID(found).version)

    def test_they_differ(self) -> None:
        ids = {vnfc_id(i, n) for i in ("a", "b") for n in ("x", "y")}
        self.assertEqual(4, len(ids))


class TestOpOcc(testtools.TestCase):
    def test_attributes_of_version_1(self) -> None:
        op_occ = an_op_occ(
            Op.MODIFY_INFO,
            operation_state=S.COMPLETED,
            progress="p",
            script_log="secret",
            changed_info=VnfInfoModifications(
                vnf_instance_name="n",
                vim_connection_info={"a": VimConnectionInfo(vim_id="v")},
            ),
        )
        found = shown_op_occ(op_occ)
        self.assertEqual(
            {
                "id",
                "operationState",
                "stateEnteredTime",
                "startTime",
                "vnfInstanceId",
                "operation",
                "isAutomaticInvocation",
                "operationParams",
                "isCancelPending",
                "changedInfo",
                "_links",
            },
            set(found),
        )
        self.assertEqual("2026-11-20T12:00:00Z", found["startTime"])
        self.assertEqual("n", found["changedInfo"]["vnfInstanceName"])
        (vim,) = found["changedInfo"]["vimConnectionInfo"]
        self.assertEqual(("a", "v"), (vim["id"], vim["vimId"]))
        self.assertEqual(
            {
                "self": {"href": OP_OCC},
                "vnfInstance": {"href": INSTANCE},
            },
            found["_links"],
        )

    def test_tasks_that_are_possible_are_linked(self) -> None:
        found = shown_op_occ(an_op_occ(operation_state=S.FAILED_TEMP))
        self.assertEqual(
            {"self", "vnfInstance", "retry", "rollback", "fail"},
            set(found["_links"]),
        )
        self.assertEqual({"href": f"{OP_OCC}/retry"}, found["_links"]["retry"])


class TestOperationParams(testtools.TestCase):
    def params(self, op: Op, params: Any) -> Any:
        return operation_params.convert(an_op_occ(op, operation_params=params))

    def test_a_vim_becomes_an_entry_of_an_array(self) -> None:
        vims = {"a": {"vimId": "v"}, "b": {"vimType": "k"}}
        self.assertEqual(
            {
                "flavourId": "f",
                "vimConnectionInfo": [
                    {"id": "a", "vimId": "v"},
                    {"id": "b", "vimType": "k"},
                ],
            },
            self.params(
                Op.INSTANTIATE, {"flavourId": "f", "vimConnectionInfo": vims}
            ),
        )

    def test_connection_points(self) -> None:
        config = {"CP1": {"linkPortId": "p"}, "other": None}
        points = [{"cpdId": "CP1", "cpConfig": config}]
        found = self.params(
            Op.CHANGE_EXT_CONN, {"extVirtualLinks": [{"extCps": points}]}
        )
        (link,) = found["extVirtualLinks"]
        self.assertEqual(
            [{"linkPortId": "p"}, {"cpInstanceId": "other"}],
            link["extCps"][0]["cpConfig"],
        )

    def test_a_heal(self) -> None:
        ids = {"vnfcInstanceId": ["web-1"]}
        converted = {"vnfcInstanceId": [vnfc_id("an-instance", "web-1")]}
        kept = "tacker_extension_heal_include_block_storage"
        for params, expected in (
            ({"additionalParams": {"all": True}}, {}),
            ({"additionalParams": {"all": False}}, {}),
            (ids | {"additionalParams": {"all": True}}, converted),
            (
                ids | {"additionalParams": {"all": False, "x": "***"}},
                converted | {"additionalParams": {"x": "***", kept: False}},
            ),
        ):
            self.assertEqual(expected, self.params(Op.HEAL, params))

    def test_an_operation_without_them(self) -> None:
        self.assertIsNone(self.params(Op.HEAL, None))


class TestSubscription(testtools.TestCase):
    def test_it_has_no_verbosity(self) -> None:
        subscription = LccnSubscription(
            id="s",
            callback_uri="http://x",
            verbosity=LcmOpOccNotificationVerbosityType.SHORT,
            project_id="p",
        )
        url = f"{BASE}/vnflcm/v1/subscriptions/s"
        found = json.loads(encode(resources.subscription(subscription, url)))
        self.assertEqual(
            {
                "id": "s",
                "callbackUri": "http://x",
                "_links": links(url),
            },
            found,
        )
