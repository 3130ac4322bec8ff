"""Requests of version 1 become requests of version 2."""

import json
from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.api.v1 import requests
from tacker_cnf.sol import strict
from tacker_cnf.sol.base import encode
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.v1.lcm_request import (
    ChangeExtVnfConnectivityRequestV1,
    CreateVnfRequestV1,
    HealVnfRequestV1,
    InstantiateVnfRequestV1,
    ScaleVnfRequestV1,
    TerminateVnfRequestV1,
    VnfInfoModificationRequestV1,
)
from tacker_cnf.sol.v1.subscription import LccnSubscriptionRequestV1
from tests.factories import a_running_instance, a_vnfc, an_instance

ADDRESS = {"layerProtocol": "IP_OVER_ETHERNET"}


def parse(kind: type, **body: Any) -> Any:
    return strict.decode(json.dumps(body).encode(), kind)


def as_json(value: Any) -> Any:
    return msgspec.json.decode(encode(value))


def link(**config: Any) -> dict[str, Any]:
    points = [{"cpdId": "CP1", "cpConfig": [config]}]
    return {"id": "net", "resourceId": "net-id", "extCps": points}


def protocol(**addresses: Any) -> dict[str, Any]:
    ip = {"type": "IPV4", **addresses}
    return ADDRESS | {"ipOverEthernet": {"ipAddresses": [ip]}}


class TestCreate(testtools.TestCase):
    def test_an_empty_name_is_none(self) -> None:
        for name in ("", None):
            request = parse(
                CreateVnfRequestV1, vnfdId="d", vnfInstanceName=name
            )
            self.assertIsNone(requests.create(request).vnf_instance_name)


class TestVims(testtools.TestCase):
    def vims(self, *vims: Any) -> Any:
        request = parse(
            InstantiateVnfRequestV1,
            flavourId="simple",
            vimConnectionInfo=list(vims),
        )
        converted = requests.instantiate(request)
        return as_json(converted).get("vimConnectionInfo", {})

    def test_a_registered_vim_is_named_by_its_id(self) -> None:
        self.assertEqual(
            {"a": {"vimId": "v"}},
            self.vims(
                {
                    "id": "a",
                    "vimId": "v",
                    "vimType": "openstack",
                    "interfaceInfo": {"endpoint": "http://x"},
                    "accessInfo": {"password": "p"},
                }
            ),
        )

    def test_the_region_of_a_registered_vim_stays(self) -> None:
        access = {"region": "two", "tenant": "t"}
        self.assertEqual(
            {"a": {"vimId": "v", "accessInfo": {"region": "two"}}},
            self.vims(
                {
                    "id": "a",
                    "vimId": "v",
                    "vimType": "openstack",
                    "accessInfo": access,
                }
            ),
        )

    def test_an_address_gets_the_type_of_version_2(self) -> None:
        address = {"interfaceInfo": {"endpoint": "http://x"}}
        for kind, expected in (
            ("openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_3"),
            ("ETSINFV.OPENSTACK_KEYSTONE.V_3",) * 2,
            ("kubernetes", "ETSINFV.KUBERNETES.V_1"),
            ("other", "other"),
        ):
            self.assertEqual(
                {"a": {"vimType": expected} | address},
                self.vims({"id": "a", "vimType": kind} | address),
            )

    def test_keystone_version_2_has_one_domain(self) -> None:
        (vim,) = self.vims(
            {
                "id": "a",
                "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_2",
                "interfaceInfo": {"endpoint": "http://x"},
                "accessInfo": {"tenant": "nfv", "username": "u"},
            }
        ).values()
        self.assertEqual("ETSINFV.OPENSTACK_KEYSTONE.V_3", vim["vimType"])
        self.assertEqual(
            {
                "userDomain": "Default",
                "projectDomain": "Default",
                "project": "nfv",
                "username": "u",
            },
            vim["accessInfo"],
        )

    def test_an_entry_without_address_is_the_default_vim(self) -> None:
        self.assertEqual({}, self.vims({"id": "a", "vimType": "kubernetes"}))

    def test_a_vnf_is_on_one_vim(self) -> None:
        one = {"id": "a", "vimType": "kubernetes"}
        error = self.assertRaises(msgspec.ValidationError, self.vims, one, one)
        self.assertIn("$.vimConnectionInfo", str(error))


class TestLinks(testtools.TestCase):
    def points(self, **config: Any) -> Any:
        request = parse(
            ChangeExtVnfConnectivityRequestV1, extVirtualLinks=[link(**config)]
        )
        converted = requests.change_ext_conn(request)
        (links,) = as_json(converted)["extVirtualLinks"]
        return links["extCps"]

    def test_the_entry_gets_the_id_of_its_connection_point(self) -> None:
        for config, key in (({}, "CP1"), ({"cpInstanceId": "cp"}, "cp")):
            self.assertEqual(
                [{"cpdId": "CP1", "cpConfig": {key: {"linkPortId": "p"}}}],
                self.points(linkPortId="p", **config),
            )

    def test_a_number_of_addresses_may_be_text(self) -> None:
        for number in (2, "2"):
            data = [protocol(numDynamicAddresses=number)]
            (point,) = self.points(cpProtocolData=data)
            (config,) = point["cpConfig"].values()
            self.assertEqual(
                [protocol(numDynamicAddresses=2)], config["cpProtocolData"]
            )

    def test_addresses_that_are_not_valid(self) -> None:
        for data in (
            {},
            protocol(),
            protocol(numDynamicAddresses="x"),
            protocol(numDynamicAddresses=0),
            protocol(numDynamicAddresses=1, fixedAddresses=["10.0.0.1"]),
            protocol(fixedAddresses=["::1"]),
            ADDRESS,
        ):
            error = self.assertRaises(
                msgspec.ValidationError, self.points, cpProtocolData=[data]
            )
            self.assertIn("cpProtocolData", str(error))
        self.assertRaises(msgspec.ValidationError, self.points)


class TestHeal(testtools.TestCase):
    vnf = a_running_instance(a_vnfc("web-1"), a_vnfc("web-2"))

    def heal(self, storage: Any = True, **body: Any) -> Any:  # noqa: FBT002
        request = parse(HealVnfRequestV1, **body)
        return as_json(requests.heal(request, self.vnf, heals_storage=storage))

    def test_the_whole_vnf(self) -> None:
        for body in ({}, {"vnfcInstanceId": None}):
            self.assertEqual(
                {"additionalParams": {"all": True}}, self.heal(**body)
            )
            self.assertEqual({}, self.heal(storage=False, **body))

    def test_all_of_a_client_is_ignored(self) -> None:
        body = {"additionalParams": {"all": False}}
        self.assertTrue(self.heal(**body)["additionalParams"]["all"])
        self.assertEqual({}, self.heal(storage=False, **body))

    def test_one_id_or_several(self) -> None:
        one = vnfc_id(self.vnf.id, "web-1")
        for ids in (one, [one], "web-1", ["web-1"]):
            found = self.heal(vnfcInstanceId=ids, cause="c", storage=False)
            self.assertEqual(
                {"vnfcInstanceId": ["web-1"], "cause": "c"}, found
            )
        # that of vnfcInfo
        other = vnfc_id(self.vnf.id, "web-web-2")
        self.assertEqual(
            ["web-1", "web-web-2"],
            self.heal(vnfcInstanceId=[one, other])["vnfcInstanceId"],
        )

    def test_unknown_ids_stay(self) -> None:
        self.assertEqual(
            ["x"], self.heal(vnfcInstanceId="x")["vnfcInstanceId"]
        )

    def test_no_ids_are_an_error(self) -> None:
        self.assertRaises(
            msgspec.ValidationError, self.heal, vnfcInstanceId=[]
        )

    def test_volumes_of_vnfcs(self) -> None:
        for params, expected in (
            ({}, True),
            ({requests.INCLUDE_STORAGE: True}, True),
            ({requests.INCLUDE_STORAGE: False}, False),
        ):
            body = {"vnfcInstanceId": "web-1", "additionalParams": params}
            found = self.heal(**body)["additionalParams"]
            self.assertEqual({"all": expected}, found)
            self.assertNotIn(
                "additionalParams", self.heal(storage=False, **body)
            )
        error = self.assertRaises(
            errors.InvalidParameters,
            self.heal,
            additionalParams={requests.INCLUDE_STORAGE: "yes"},
        )
        self.assertIn("use true or false", str(error))


class TestScale(testtools.TestCase):
    def scale(self, *, newest: bool = True, **params: Any) -> Any:
        request = parse(
            ScaleVnfRequestV1,
            type="SCALE_IN",
            aspectId="a",
            additionalParams=params,
        )
        converted = requests.scale(request, removes_newest=newest)
        return converted.additional_params

    def test_parameters_of_version_1_are_dropped(self) -> None:
        found = self.scale(is_reverse="True", is_auto="False", mine=1)
        self.assertEqual({"mine": 1}, found)
        found = self.scale(is_reverse="False", newest=False)
        self.assertEqual({}, found)

    def test_a_vim_that_chooses_by_itself(self) -> None:
        error = self.assertRaises(
            errors.InvalidParameters,
            self.scale,
            is_reverse="True",
            newest=False,
        )
        self.assertIn("leave the parameter out", str(error))

    def test_parameters_that_are_not_valid(self) -> None:
        for name in ("is_reverse", "is_auto"):
            error = self.assertRaises(
                errors.InvalidParameters, self.scale, **{name: True}
            )
            self.assertIn(name, str(error))

    def test_one_step_is_the_default(self) -> None:
        request = parse(ScaleVnfRequestV1, type="SCALE_OUT", aspectId="a")
        converted = requests.scale(request, removes_newest=True)
        self.assertEqual(1, converted.number_of_steps)


class TestTerminate(testtools.TestCase):
    def test_a_timeout_of_zero_does_not_wait(self) -> None:
        for kind, timeout, expected in (
            ("GRACEFUL", 0, ("FORCEFUL", None)),
            ("GRACEFUL", 5, ("GRACEFUL", 5)),
            ("GRACEFUL", None, ("GRACEFUL", None)),
            ("FORCEFUL", 5, ("FORCEFUL", 5)),
            ("FORCEFUL", 0, ("FORCEFUL", None)),
        ):
            request = requests.terminate(
                parse(
                    TerminateVnfRequestV1,
                    terminationType=kind,
                    gracefulTerminationTimeout=timeout,
                )
            )
            found = (
                request.termination_type,
                request.graceful_termination_timeout,
            )
            self.assertEqual(expected, found)


class TestModify(testtools.TestCase):
    def modify(self, vnfd_id: Any = None, **body: Any) -> Any:
        request = parse(VnfInfoModificationRequestV1, **body)
        return as_json(requests.modify(request, vnfd_id))

    def test_empty_attributes_stay(self) -> None:
        for value in (None, ""):
            body: dict[str, Any] = {
                "vnfInstanceName": value,
                "vnfInstanceDescription": value,
                "metadata": {},
                "vimConnectionInfo": [],
            }
            self.assertEqual({}, self.modify(**body))

    def test_metadata_are_a_merge_patch(self) -> None:
        patch = {"metadata": {"a": None, "b": ["c"]}}
        self.assertEqual(patch, self.modify(**patch))

    def test_another_vnfd(self) -> None:
        self.assertEqual({"vnfdId": "d"}, self.modify("d"))

    def test_vims_are_named_by_their_ids(self) -> None:
        vim = {"id": "a", "accessInfo": {"tenant": "t", "password": None}}
        self.assertEqual(
            {
                "vimConnectionInfo": {
                    "a": {"accessInfo": {"project": "t", "password": None}}
                }
            },
            self.modify(vimConnectionInfo=[vim]),
        )
        self.assertEqual(
            {"vimConnectionInfo": {"a": {"vimId": "v"}}},
            self.modify(
                vimConnectionInfo=[
                    {"id": "a", "vimId": "v", "vimType": "openstack"}
                ]
            ),
        )
        error = self.assertRaises(
            errors.BadRequest, self.modify, vimConnectionInfo=[vim, vim]
        )
        self.assertIn("the same id", str(error))


class TestSubscribe(testtools.TestCase):
    def test_notifications_are_complete(self) -> None:
        request = parse(
            LccnSubscriptionRequestV1, callbackUri="http://example.com"
        )
        self.assertEqual("FULL", requests.subscribe(request).verbosity)


class TestNotInstantiated(testtools.TestCase):
    def test_a_heal_has_no_known_vnfcs(self) -> None:
        request = parse(HealVnfRequestV1, vnfcInstanceId="x")
        converted = requests.heal(request, an_instance(), heals_storage=False)
        self.assertEqual(("x",), converted.vnfc_instance_id)
