"""Shared types: connections to a VIM, resources, addresses, links."""

import testtools

from tacker_cnf.sol import common
from tests.unit.sol import base

EXT_VIRTUAL_LINK = {
    "id": "net0",
    "vimConnectionId": "vim1",
    "resourceProviderId": "Company",
    "resourceId": "4529333f-d1cc-4b93-9b7b-04c2e1a5c1a0",
    "extCps": [
        {
            "cpdId": "VDU1_CP1",
            "cpConfig": {
                "VDU1_CP1": {
                    "linkPortId": "413f4e46-21cf-41b1-be0f-de8d23f76cfe",
                    "cpProtocolData": [
                        {
                            "layerProtocol": "IP_OVER_ETHERNET",
                            "ipOverEthernet": {
                                "macAddress": "fa:16:3e:11:11:11",
                                "segmentationId": "100",
                                "ipAddresses": [
                                    {
                                        "type": "IPV4",
                                        "fixedAddresses": ["192.168.3.104"],
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
                    ],
                },
                "VDU1_CP1_2": {
                    "parentCpConfigId": "VDU1_CP1",
                    "cpProtocolData": [
                        {
                            "layerProtocol": "IP_OVER_ETHERNET",
                            "ipOverEthernet": {
                                "ipAddresses": [
                                    {"type": "IPV4", "numDynamicAddresses": 2}
                                ]
                            },
                        }
                    ],
                },
                "VDU1_CP1_3": None,
            },
        },
        {
            "cpdId": "VDU2_CP1",
            "cpConfig": {"VDU2_CP1": {"netAttDefResourceId": ["nad1"]}},
        },
    ],
    "extLinkPorts": [
        {
            "id": "413f4e46-21cf-41b1-be0f-de8d23f76cfe",
            "resourceHandle": {
                "vimConnectionId": "vim1",
                "resourceId": "port-1",
                "vimLevelResourceType": "OS::Neutron::Port",
            },
        }
    ],
    "extNetAttDefResourceData": [
        {
            "netAttDefResourceId": "nad1",
            "resourceHandle": {"resourceId": "default/macvlan-conf"},
        }
    ],
}
EXT_MANAGED_VIRTUAL_LINK = {
    "id": "extMngVLnk1",
    "vnfVirtualLinkDescId": "internalVL1",
    "vimConnectionId": "vim1",
    "resourceId": "net-internal-1",
    "vnfLinkPort": [
        {"vnfLinkPortId": "p1", "resourceHandle": {"resourceId": "port-9"}}
    ],
    "extManagedMultisiteVirtualLinkId": "multisite1",
}
VIM_CONNECTION = {
    "vimId": "0c1e7f3a-7f0a-4a06-9e6c-7b1b6b0f7b3e",
    "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
    "interfaceInfo": {"endpoint": "https://127.0.0.1:5000/v3"},
    "accessInfo": {"username": "nfv_user", "region": "RegionOne"},
    "extra": {"tls": {"verify": True}},
}


class TestRoundTrips(base.TestCase):
    CASES = (
        (common.ExtVirtualLinkData, EXT_VIRTUAL_LINK),
        (common.ExtManagedVirtualLinkData, EXT_MANAGED_VIRTUAL_LINK),
        (common.VimConnectionInfo, VIM_CONNECTION),
        (
            common.Checksum,
            {"algorithm": "SHA-256", "hash": "9f86d081884c7d65"},
        ),
        (
            common.ApiVersionInformation,
            {
                "uriPrefix": "/vnflcm/v2",
                "apiVersions": [
                    {"version": "2.0.0", "isDeprecated": False},
                    {
                        "version": "1.3.0",
                        "isDeprecated": True,
                        "retirementDate": "2027-01-01T00:00:00Z",
                    },
                ],
            },
        ),
    )

    def test_round_trips_preserve_json(self) -> None:
        for kind, body in self.CASES:
            with self.subTest(kind.__name__):
                self.assert_same(kind, body)


class TestVimConnectionInfo(base.TestCase):
    def test_a_type_or_a_vim_id_is_sufficient(self) -> None:
        self.assert_same(common.VimConnectionInfo, {"vimId": "vim1"})
        self.assert_same(
            common.VimConnectionInfo, {"vimType": "ETSINFV.KUBERNETES.V_1"}
        )

    def test_a_type_or_a_vim_id_is_required(self) -> None:
        self.assert_rejected(
            dict[str, common.VimConnectionInfo],
            {"vim1": {"extra": {}}},
            "vimType, or the vimId of a registered VIM, is required - at `$[...]`",
        )


ADDRESS_RANGE = {"minAddress": "10.0.0.1", "maxAddress": "10.0.0.9"}


class TestIpAddresses(base.TestCase):
    ONE_WAY = (
        "exactly one of fixedAddresses, numDynamicAddresses and"
        " addressRange is required"
    )
    RIGHT = (
        {"type": "IPV4", "fixedAddresses": ["10.0.0.1", "10.0.0.2"]},
        {"type": "IPV6", "fixedAddresses": ["fe80::1"]},
        {"type": "IPV6", "numDynamicAddresses": 1},
        {"type": "IPV4", "addressRange": ADDRESS_RANGE, "subnetId": "s1"},
    )
    WRONG = (
        ({"type": "IPV4"}, ONE_WAY),
        ({"type": "IPV4", "fixedAddresses": []}, ONE_WAY),
        (
            {
                "type": "IPV4",
                "fixedAddresses": ["10.0.0.1"],
                "numDynamicAddresses": 1,
            },
            ONE_WAY,
        ),
        (
            {
                "type": "IPV4",
                "numDynamicAddresses": 1,
                "addressRange": ADDRESS_RANGE,
            },
            ONE_WAY,
        ),
        (
            {
                "type": "IPV4",
                "fixedAddresses": ["10.0.0.1"],
                "addressRange": ADDRESS_RANGE,
            },
            ONE_WAY,
        ),
        (
            {"type": "IPV4", "numDynamicAddresses": 0},
            "Expected `int` >= 1 - at `$.numDynamicAddresses`",
        ),
        (
            {"type": "IPV6", "fixedAddresses": ["10.0.0.1"]},
            "'10.0.0.1' is not an IPV6 address",
        ),
        (
            {"type": "IPV4", "fixedAddresses": ["10.0.0.1", "fe80::1"]},
            "'fe80::1' is not an IPV4 address",
        ),
        (
            {"type": "IPV4", "fixedAddresses": ["10.0.0.256"]},
            "'10.0.0.256' is not an IPV4 address",
        ),
        (
            {"type": "IPV6", "addressRange": ADDRESS_RANGE},
            "'10.0.0.1' is not an IPV6 address",
        ),
        (
            {"type": "IPV4", "addressRange": {"minAddress": "10.0.0.1"}},
            "Object missing required field `maxAddress` - at `$.addressRange`",
        ),
        (
            {"type": "IPX", "numDynamicAddresses": 1},
            "Invalid enum value 'IPX' - at `$.type`",
        ),
    )

    def test_each_attribute_with_addresses(self) -> None:
        for body in self.RIGHT:
            with self.subTest(str(body)):
                self.assert_same(common.IpAddresses, body)

    def test_other_combinations_are_rejected(self) -> None:
        for body, message in self.WRONG:
            with self.subTest(str(body)):
                self.assert_rejected(common.IpAddresses, body, message)


class TestConnectionPointRules(base.TestCase):
    WRONG = (
        (
            common.IpOverEthernetAddressData,
            {"segmentationId": "1"},
            "macAddress, ipAddresses or both are required",
        ),
        (
            common.IpOverEthernetAddressData,
            {"macAddress": "fa:16:3e:11:11"},
            (
                "Expected `str` matching regex"
                " '^([0-9A-Fa-f]{2}[-:]){5}[0-9A-Fa-f]{2}$' - at `$.macAddress`"
            ),
        ),
        (
            common.CpProtocolData,
            {"layerProtocol": "IP_OVER_ETHERNET"},
            "layerProtocol IP_OVER_ETHERNET requires ipOverEthernet",
        ),
        (
            common.VnfExtCpConfig,
            {"parentCpConfigId": "cp1"},
            (
                "at least one of linkPortId, netAttDefResourceId and "
                "cpProtocolData is required"
            ),
        ),
        (
            common.VnfExtCpConfig,
            {"linkPortId": "p1", "netAttDefResourceId": ["nad1"]},
            "linkPortId and netAttDefResourceId exclude each other",
        ),
        (
            common.VnfExtCpData,
            {"cpdId": "CP1", "cpConfig": {}},
            "Expected `object` of length >= 1 - at `$.cpConfig`",
        ),
        (
            common.ExtVirtualLinkData,
            {"id": "net0", "resourceId": "r", "extCps": []},
            "Expected `array` of length >= 1 - at `$.extCps`",
        ),
    )

    def test_each_rule_has_its_message(self) -> None:
        for kind, body, message in self.WRONG:
            with self.subTest(message):
                self.assert_rejected(kind, body, message)

    def test_a_nested_error_has_its_path(self) -> None:
        self.assert_rejected(
            common.ExtVirtualLinkData,
            {
                "id": "net0",
                "resourceId": "r",
                "extCps": [
                    {
                        "cpdId": "CP1",
                        "cpConfig": {
                            "a": {
                                "cpProtocolData": [
                                    {
                                        "layerProtocol": "IP_OVER_ETHERNET",
                                        "ipOverEthernet": {"macAddress": 1},
                                    }
                                ]
                            }
                        },
                    }
                ],
            },
            "Expected `str | null`, got `int` - at `$.extCps[0].cpConfig[...]"
            ".cpProtocolData[0].ipOverEthernet.macAddress`",
        )


class TestConstructor(testtools.TestCase):
    def test_an_invalid_value_cannot_be_constructed(self) -> None:
        self.assertRaises(ValueError, common.VimConnectionInfo)
        self.assertRaises(
            ValueError, common.IpAddresses, type=common.IpType.IPV4
        )
