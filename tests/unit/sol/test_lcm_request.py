"""The requests for lifecycle operations: rules and defaults."""

from typing import Any

import msgspec

from tacker_cnf.sol import lcm_request
from tacker_cnf.sol.base import SolType, decode, encode
from tests.unit.sol import base
from tests.unit.sol.test_common import (
    EXT_MANAGED_VIRTUAL_LINK,
    EXT_VIRTUAL_LINK,
    VIM_CONNECTION,
)

CONNECTIVITY = {
    "extVirtualLinks": [EXT_VIRTUAL_LINK],
    "extManagedVirtualLinks": [EXT_MANAGED_VIRTUAL_LINK],
    "vimConnectionInfo": {"vim1": VIM_CONNECTION},
    "additionalParams": {
        "lcm-kubernetes-def-files": ["Files/kubernetes/deployment.yaml"],
        "namespace": "default",
    },
    "extensions": {"key": "value"},
    "vnfConfigurableProperties": {"key": "value"},
}


class TestRoundTrips(base.TestCase):
    CASES = (
        (
            lcm_request.CreateVnfRequest,
            {
                "vnfdId": "b1bb0ce7-ebca-4fa7-95ed-4840d7000000",
                "vnfInstanceName": "helloworld3",
                "vnfInstanceDescription": "Sample",
                "metadata": {"key": "value"},
            },
        ),
        (
            lcm_request.InstantiateVnfRequest,
            {
                "flavourId": "simple",
                "instantiationLevelId": "instantiation_level_1",
                "localizationLanguage": "en",
                **CONNECTIVITY,
            },
        ),
        (
            lcm_request.ScaleVnfRequest,
            {
                "type": "SCALE_OUT",
                "aspectId": "vdu1_aspect",
                "numberOfSteps": 2,
                "additionalParams": {"a": 1},
            },
        ),
        (
            lcm_request.ScaleVnfToLevelRequest,
            {"instantiationLevelId": "large", "additionalParams": {"a": 1}},
        ),
        (
            lcm_request.ScaleVnfToLevelRequest,
            {"scaleInfo": [{"aspectId": "web_aspect", "scaleLevel": 2}]},
        ),
        (
            lcm_request.OperateVnfRequest,
            {
                "changeStateTo": "STOPPED",
                "stopType": "GRACEFUL",
                "gracefulStopTimeout": 30,
                "additionalParams": {"a": 1},
            },
        ),
        (lcm_request.OperateVnfRequest, {"changeStateTo": "STARTED"}),
        (
            lcm_request.TerminateVnfRequest,
            {
                "terminationType": "GRACEFUL",
                "gracefulTerminationTimeout": 30,
                "additionalParams": {"a": 1},
            },
        ),
        (
            lcm_request.HealVnfRequest,
            {
                "cause": "pod is stuck",
                "vnfcInstanceId": ["VDU1-vdu1-7c86d6b8f8-w5m2x"],
                "healScript": "Scripts/heal.sh",
                "additionalParams": {"all": True},
            },
        ),
        (
            lcm_request.ChangeExtVnfConnectivityRequest,
            {
                "extVirtualLinks": [EXT_VIRTUAL_LINK],
                "vimConnectionInfo": {"vim1": VIM_CONNECTION},
                "additionalParams": {"a": 1},
            },
        ),
        (
            lcm_request.ChangeCurrentVnfPkgRequest,
            {"vnfdId": "b1bb0ce7-5555-0001-95ed-4840d70a1209", **CONNECTIVITY},
        ),
        (
            lcm_request.ChangeVnfFlavourRequest,
            {
                "newFlavourId": "small",
                "instantiationLevelId": "quiet",
                **CONNECTIVITY,
            },
        ),
        (
            lcm_request.VnfInfoModifications,
            {
                "vnfInstanceName": "new",
                "vnfInstanceDescription": "new",
                "vnfConfigurableProperties": {"a": 1},
                "metadata": {"a": 1},
                "extensions": {"a": 1},
                "vimConnectionInfo": {"vim1": VIM_CONNECTION},
                "vnfdId": "vnfd2",
                "vnfProvider": "Company",
                "vnfProductName": "Sample VNF",
                "vnfSoftwareVersion": "1.1",
                "vnfdVersion": "1.1",
                "vnfcInfoModifications": [
                    {"id": "v1", "vnfcConfigurableProperties": {"a": 1}}
                ],
            },
        ),
    )

    def test_round_trips_preserve_json(self) -> None:
        for kind, body in self.CASES:
            with self.subTest(kind.__name__):
                self.assert_same(kind, body)

    def test_heal_requires_no_attribute(self) -> None:
        self.assert_same(lcm_request.HealVnfRequest, {})

    def test_one_step_is_the_default(self) -> None:
        request = decode(
            b'{"type":"SCALE_IN","aspectId":"a"}', lcm_request.ScaleVnfRequest
        )
        self.assertEqual(
            b'{"type":"SCALE_IN","aspectId":"a","numberOfSteps":1}',
            encode(request),
        )


Refusal = tuple[type[SolType], dict[str, Any], str]


LEVEL_OR_SCALE_INFO = (
    "Either instantiationLevelId or scaleInfo is required, and not both"
)
TIMEOUT_IF_GRACEFUL = (
    "gracefulStopTimeout is required if stopType is GRACEFUL, and not allowed "
    "otherwise"
)


class TestErrors(base.TestCase):
    CASES: tuple[Refusal, ...] = (
        (
            lcm_request.ScaleVnfRequest,
            {"type": "SCALE_UP", "aspectId": "a"},
            "Invalid enum value 'SCALE_UP' - at `$.type`",
        ),
        (
            lcm_request.ScaleVnfRequest,
            {"type": "SCALE_OUT", "aspectId": "a", "numberOfSteps": 0},
            "Expected `int` >= 1 - at `$.numberOfSteps`",
        ),
        (
            lcm_request.ScaleVnfRequest,
            {"type": "SCALE_OUT", "aspectId": "a", "numberOfSteps": "1"},
            "Expected `int`, got `str` - at `$.numberOfSteps`",
        ),
        (
            lcm_request.ScaleVnfToLevelRequest,
            {},
            LEVEL_OR_SCALE_INFO,
        ),
        (
            lcm_request.ScaleVnfToLevelRequest,
            {
                "instantiationLevelId": "large",
                "scaleInfo": [{"aspectId": "a", "scaleLevel": 2}],
            },
            LEVEL_OR_SCALE_INFO,
        ),
        (
            lcm_request.ScaleVnfToLevelRequest,
            {"scaleInfo": [{"aspectId": "a", "scaleLevel": 2}] * 2},
            "scaleInfo names an aspect twice",
        ),
        (
            lcm_request.OperateVnfRequest,
            {"changeStateTo": "STARTED", "stopType": "FORCEFUL"},
            "stopType is valid only for STOPPED",
        ),
        (
            lcm_request.OperateVnfRequest,
            {"changeStateTo": "STOPPED", "stopType": "GRACEFUL"},
            TIMEOUT_IF_GRACEFUL,
        ),
        (
            lcm_request.OperateVnfRequest,
            {"changeStateTo": "STOPPED", "gracefulStopTimeout": 3},
            TIMEOUT_IF_GRACEFUL,
        ),
        (
            lcm_request.TerminateVnfRequest,
            {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 0},
            "Expected `int` >= 1 - at `$.gracefulTerminationTimeout`",
        ),
        (
            lcm_request.HealVnfRequest,
            {"vnfcInstanceId": "VDU1-pod1"},
            "Expected `array`, got `str` - at `$.vnfcInstanceId`",
        ),
        (
            lcm_request.ChangeExtVnfConnectivityRequest,
            {"extVirtualLinks": []},
            "Expected `array` of length >= 1 - at `$.extVirtualLinks`",
        ),
        (
            lcm_request.InstantiateVnfRequest,
            {"flavourId": "simple", "vimConnectionInfo": {"vim1": {}}},
            (
                "vimType, or the vimId of a registered VIM, is required"
                " - at `$.vimConnectionInfo[...]`"
            ),
        ),
        (
            lcm_request.InstantiateVnfRequest,
            {"flavourId": "simple", "vimConnectionInfo": []},
            "Expected `object`, got `array` - at `$.vimConnectionInfo`",
        ),
        (
            lcm_request.VnfInfoModificationRequest,
            {"vnfdId": None},
            "Expected `str`, got `null` - at `$.vnfdId`",
        ),
        (
            lcm_request.VnfInfoModificationRequest,
            {"vnfcInfoModifications": [{"id": "v1"}]},
            (
                "Object missing required field `vnfcConfigurableProperties`"
                " - at `$.vnfcInfoModifications[0]`"
            ),
        ),
    )

    def test_each_error_has_its_path(self) -> None:
        for kind, body, message in self.CASES:
            with self.subTest(message):
                self.assert_rejected(kind, body, message)


class TestVnfInfoModificationRequest(base.TestCase):
    KIND = lcm_request.VnfInfoModificationRequest
    PATCHES: tuple[dict[str, Any], ...] = (
        {},
        {"vnfInstanceName": "new"},
        {"vnfInstanceName": None, "vnfInstanceDescription": None},
        {"metadata": {}},
        {"metadata": None},
        {"metadata": {"removed": None, "deep": {"removed": None, "new": 1}}},
        {"vnfConfigurableProperties": {}, "extensions": None},
        {"vimConnectionInfo": {}},
        {"vimConnectionInfo": None},
        {"vimConnectionInfo": {"vim1": None}},
        {"vimConnectionInfo": {"vim1": {"accessInfo": {"password": None}}}},
        {"vimConnectionInfo": {"vim1": VIM_CONNECTION}},
        {"vnfcInfoModifications": []},
        {
            "vnfdId": "vnfd2",
            "vnfcInfoModifications": [
                {"id": "v1", "vnfcConfigurableProperties": {"removed": None}}
            ],
        },
    )

    def test_absent_empty_and_null_differ_in_a_patch(self) -> None:
        for patch in self.PATCHES:
            with self.subTest(str(patch)):
                request = self.assert_same(self.KIND, patch)
                again = msgspec.convert(
                    msgspec.to_builtins(request), self.KIND
                )
                self.assertEqual(request, again)

    def test_absent_attributes_are_unset(self) -> None:
        request = self.KIND()
        self.assertEqual(
            {msgspec.UNSET},
            {getattr(request, name) for name in self.KIND.__struct_fields__},
        )
        self.assertEqual(b"{}", encode(request))
