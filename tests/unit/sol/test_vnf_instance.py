"""VNF instances and their resources."""

import copy
from typing import Any

from tacker_cnf.sol import connection_point, virtual_link
from tacker_cnf.sol.base import encode
from tacker_cnf.sol.common import Link, ResourceHandle
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    ScaleInfo,
    VnfcInfo,
    VnfcResourceInfo,
    VnfInstance,
    VnfInstanceLinks,
    VnfOperationalState,
)
from tests.unit.sol import base
from tests.unit.sol.test_common import VIM_CONNECTION

ID = "7a1b2a4e-1d61-4f0f-9e0e-5fa1f7e0b5ff"
HREF = {"href": f"https://vnfm.example/vnflcm/v2/vnf_instances/{ID}"}
CNF: dict[str, Any] = {
    "id": ID,
    "vnfInstanceName": "helloworld3",
    "vnfInstanceDescription": "Sample CNF",
    "vnfdId": "b1bb0ce7-ebca-4fa7-95ed-4840d7000000",
    "vnfProvider": "Company",
    "vnfProductName": "Sample VNF",
    "vnfSoftwareVersion": "1.0",
    "vnfdVersion": "1.0",
    "vnfConfigurableProperties": {"isAutohealEnabled": True},
    "vimConnectionInfo": {
        "vim1": {
            "vimId": "a6b9c1d2-3b94-4e59-8c26-5d0f5d3f0c4b",
            "vimType": "ETSINFV.KUBERNETES.V_1",
            "interfaceInfo": {"endpoint": "https://127.0.0.1:6443"},
        }
    },
    "instantiationState": "INSTANTIATED",
    "instantiatedVnfInfo": {
        "flavourId": "simple",
        "vnfState": "STARTED",
        "scaleStatus": [{"aspectId": "vdu1_aspect", "scaleLevel": 0}],
        "maxScaleLevels": [{"aspectId": "vdu1_aspect", "scaleLevel": 2}],
        "localizationLanguage": "en",
        "vnfcResourceInfo": [
            {
                "id": "vdu1-7c86d6b8f8-w5m2x",
                "vduId": "VDU1",
                "computeResource": {
                    "vimConnectionId": "vim1",
                    "resourceId": "vdu1-7c86d6b8f8-w5m2x",
                    "vimLevelResourceType": "Deployment",
                },
            }
        ],
        "vnfcInfo": [
            {
                "id": "VDU1-vdu1-7c86d6b8f8-w5m2x",
                "vduId": "VDU1",
                "vnfcResourceInfoId": "vdu1-7c86d6b8f8-w5m2x",
                "vnfcState": "STARTED",
                "vnfcConfigurableProperties": {"key": "value"},
            }
        ],
        "metadata": {"namespace": "default"},
    },
    "metadata": {"key": "value"},
    "extensions": {"key": {"deep": [1, None, "x"]}},
    "_links": {
        "self": HREF,
        "terminate": {"href": HREF["href"] + "/terminate"},
        "scale": {"href": HREF["href"] + "/scale"},
        "heal": {"href": HREF["href"] + "/heal"},
        "changeExtConn": {"href": HREF["href"] + "/change_ext_conn"},
        "changeVnfPkg": {"href": HREF["href"] + "/change_vnfpkg"},
    },
}
CP_PROTOCOL = {
    "layerProtocol": "IP_OVER_ETHERNET",
    "ipOverEthernet": {
        "macAddress": "fa:16:3e:fa:22:75",
        "ipAddresses": [
            {
                "type": "IPV4",
                "addresses": ["100.100.100.11"],
                "isDynamic": False,
                "subnetId": "subnet-v4",
            },
            {
                "type": "IPV6",
                "addressRange": {
                    "minAddress": "2001:db8::10",
                    "maxAddress": "2001:db8::ff",
                },
            },
        ],
    },
}
LINK_PORT = {
    "id": "lp1",
    "resourceHandle": {"resourceId": "port-1"},
    "cpInstanceId": "cp1",
    "cpInstanceType": "VNFC_CP",
}
VM_INFO: dict[str, Any] = {
    "flavourId": "simple",
    "vnfState": "STOPPED",
    "extCpInfo": [
        {
            "id": "extcp1",
            "cpdId": "VDU1_CP1",
            "cpConfigId": "VDU1_CP1_1",
            "cpProtocolInfo": [CP_PROTOCOL],
            "extLinkPortId": "req-1",
            "associatedVnfcCpId": "cp1",
        }
    ],
    "extVirtualLinkInfo": [
        {
            "id": "net0",
            "resourceHandle": {"resourceId": "net-0"},
            "extLinkPorts": [
                {
                    "id": "req-1",
                    "resourceHandle": {"resourceId": "port-0"},
                    "cpInstanceId": "extcp1",
                }
            ],
            "currentVnfExtCpData": [
                {"cpdId": "CP1", "cpConfig": {"a": {"linkPortId": "p1"}}}
            ],
        }
    ],
    "extManagedVirtualLinkInfo": [
        {
            "id": "extMngVLnk1",
            "vnfVirtualLinkDescId": "internalVL1",
            "vnfdId": "vnfd1",
            "networkResource": {"resourceId": "net-1"},
            "vnfLinkPorts": [LINK_PORT],
            "extManagedMultisiteVirtualLinkId": "multi1",
        }
    ],
    "monitoringParameters": [
        {
            "id": "mp1",
            "vnfdId": "vnfd1",
            "name": "cpu",
            "performanceMetric": "VCpuUsageMeanVnf",
        }
    ],
    "vnfcResourceInfo": [
        {
            "id": "res1",
            "vduId": "VDU1",
            "vnfdId": "vnfd1",
            "computeResource": {"resourceId": "server-1"},
            "zoneId": "nova",
            "storageResourceIds": ["sto1"],
            "reservationId": "rsv1",
            "vnfcCpInfo": [
                {
                    "id": "cp1",
                    "cpdId": "VDU1_CP1",
                    "vnfExtCpId": "extcp1",
                    "cpProtocolInfo": [CP_PROTOCOL],
                    "vnfLinkPortId": "lp1",
                    "metadata": {"a": 1},
                }
            ],
            "metadata": {"stack_id": "s1"},
        }
    ],
    "vnfVirtualLinkResourceInfo": [
        {
            "id": "vl1",
            "vnfVirtualLinkDescId": "internalVL2",
            "vnfdId": "vnfd1",
            "networkResource": {"resourceId": "net-2"},
            "zoneId": "nova",
            "reservationId": "rsv2",
            "vnfLinkPorts": [LINK_PORT],
            "metadata": {"a": 1},
        }
    ],
    "virtualStorageResourceInfo": [
        {
            "id": "sto1",
            "virtualStorageDescId": "VirtualStorage",
            "vnfdId": "vnfd1",
            "storageResource": {"resourceId": "volume-1"},
            "zoneId": "nova",
            "reservationId": "rsv3",
            "metadata": {"a": 1},
        }
    ],
}


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in names}


class TestRoundTrips(base.TestCase):
    def test_a_containerised_vnf(self) -> None:
        instance = self.assert_same(VnfInstance, CNF)
        info = instance.instantiated_vnf_info
        self.assertIs(
            InstantiationState.INSTANTIATED, instance.instantiation_state
        )
        self.assertEqual(
            (ScaleInfo(aspect_id="vdu1_aspect", scale_level=2),),
            info and info.max_scale_levels,
        )

    def test_a_vnf_of_virtual_machines(self) -> None:
        self.assert_same(InstantiatedVnfInfo, VM_INFO)
        body = {
            **CNF,
            "vimConnectionInfo": {"vim1": VIM_CONNECTION},
            "instantiatedVnfInfo": VM_INFO,
        }
        self.assert_same(VnfInstance, body)

    def test_every_task_has_a_link(self) -> None:
        tasks = (
            "self indicators instantiate terminate scale scaleToLevel"
            " changeFlavour heal operate changeExtConn changeVnfPkg"
            " createSnapshot revertToSnapshot"
        )
        body = {
            task: {"href": "https://vnfm/" + task} for task in tasks.split()
        }
        self.assert_same(VnfInstanceLinks, body)


class TestVnfInstance(base.TestCase):
    def test_a_new_instance_has_no_optional_attributes(self) -> None:
        instance = VnfInstance(
            id=ID,
            vnfd_id="vnfd1",
            vnf_provider="Company",
            vnf_product_name="Sample VNF",
            vnf_software_version="1.0",
            vnfd_version="1.0",
            instantiation_state=InstantiationState.NOT_INSTANTIATED,
            links=VnfInstanceLinks(self_=Link(href="x")),
        )
        self.assertEqual(
            b'{"id":"' + ID.encode() + b'","vnfdId":"vnfd1",'
            b'"vnfProvider":"Company","vnfProductName":"Sample VNF",'
            b'"vnfSoftwareVersion":"1.0","vnfdVersion":"1.0",'
            b'"instantiationState":"NOT_INSTANTIATED",'
            b'"_links":{"self":{"href":"x"}}}',
            encode(instance),
        )

    def test_vnfcs_have_names(self) -> None:
        vnfc = VnfcResourceInfo(
            id="pod1",
            vdu_id="VDU1",
            compute_resource=ResourceHandle(resource_id="pod1"),
        )
        info = VnfcInfo(
            id="VDU1-pod1",
            vdu_id="VDU1",
            vnfc_resource_info_id=vnfc.id,
            vnfc_state=VnfOperationalState.STARTED,
        )
        self.assertEqual(
            b'{"id":"VDU1-pod1","vduId":"VDU1","vnfcResourceInfoId":"pod1",'
            b'"vnfcState":"STARTED"}',
            encode(info),
        )

    def test_a_wrong_nested_type_has_its_path(self) -> None:
        body = copy.deepcopy(CNF)
        info = body["instantiatedVnfInfo"]
        info["vnfcResourceInfo"][0]["computeResource"]["resourceId"] = 5
        self.assert_rejected(
            VnfInstance,
            body,
            "Expected `str`, got `int` - at `$.instantiatedVnfInfo"
            ".vnfcResourceInfo[0].computeResource.resourceId`",
        )

    def test_an_unknown_state_is_reported(self) -> None:
        self.assert_rejected(
            VnfInstance,
            {**CNF, "instantiationState": "TERMINATED"},
            "Invalid enum value 'TERMINATED' - at `$.instantiationState`",
        )

    def test_a_level_is_not_negative(self) -> None:
        self.assert_rejected(
            ScaleInfo,
            {"aspectId": "a", "scaleLevel": -1},
            "Expected `int` >= 0 - at `$.scaleLevel`",
        )


class TestRules(base.TestCase):
    FIXED = CP_PROTOCOL["ipOverEthernet"]["ipAddresses"][0]  # type: ignore[index]
    EXT_CP = VM_INFO["extCpInfo"][0]
    WRONG = (
        (
            connection_point.IpAddressesInfo,
            {"type": "IPV4"},
            "exactly one of addresses and addressRange is required",
        ),
        (
            connection_point.IpAddressesInfo,
            {
                **FIXED,
                "addressRange": {
                    "minAddress": "10.0.0.1",
                    "maxAddress": "10.0.0.2",
                },
            },
            "exactly one of addresses and addressRange is required",
        ),
        (
            connection_point.IpAddressesInfo,
            without(FIXED, "isDynamic"),
            "addresses requires isDynamic, and vice versa",
        ),
        (
            connection_point.IpAddressesInfo,
            {
                "type": "IPV4",
                "isDynamic": True,
                "addressRange": {
                    "minAddress": "10.0.0.1",
                    "maxAddress": "10.0.0.2",
                },
            },
            "addresses requires isDynamic, and vice versa",
        ),
        (
            connection_point.IpOverEthernetAddressInfo,
            {"segmentationId": "1"},
            "macAddress, ipAddresses or both are required",
        ),
        (
            connection_point.CpProtocolInfo,
            {"layerProtocol": "IP_OVER_ETHERNET"},
            "layerProtocol IP_OVER_ETHERNET requires ipOverEthernet",
        ),
        (
            connection_point.VnfExtCpInfo,
            {**EXT_CP, "associatedVnfVirtualLinkId": "vl1"},
            (
                "associatedVnfcCpId and associatedVnfVirtualLinkId exclude each"
                " other"
            ),
        ),
        (
            virtual_link.VnfLinkPortInfo,
            without(LINK_PORT, "cpInstanceType"),
            "cpInstanceId and cpInstanceType require each other",
        ),
        (
            virtual_link.VnfLinkPortInfo,
            without(LINK_PORT, "cpInstanceId"),
            "cpInstanceId and cpInstanceType require each other",
        ),
    )

    def test_each_rule_has_its_message(self) -> None:
        for kind, body, message in self.WRONG:
            with self.subTest(str(body)):
                self.assert_rejected(kind, body, message)

    def test_a_connection_point_may_refer_to_a_virtual_link(self) -> None:
        body = {
            **without(self.EXT_CP, "associatedVnfcCpId"),
            "associatedVnfVirtualLinkId": "vl1",
        }
        self.assert_same(connection_point.VnfExtCpInfo, body)

    def test_a_port_may_be_without_a_connection_point(self) -> None:
        body = without(LINK_PORT, "cpInstanceId", "cpInstanceType")
        self.assert_same(virtual_link.VnfLinkPortInfo, body)
