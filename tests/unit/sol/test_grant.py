"""Grants and grant requests."""

from tacker_cnf.sol import grant
from tests.unit.sol import base
from tests.unit.sol.test_common import (
    EXT_MANAGED_VIRTUAL_LINK,
    EXT_VIRTUAL_LINK,
    VIM_CONNECTION,
)

LINKS = {
    "vnfLcmOpOcc": {"href": "https://vnfm/vnflcm/v2/vnf_lcm_op_occs/1"},
    "vnfInstance": {"href": "https://vnfm/vnflcm/v2/vnf_instances/1"},
}
IN_VIM = {"vimConnectionId": "vim1", "resourceProviderId": "Company"}
REQUEST = {
    "vnfInstanceId": "inst1",
    "vnfLcmOpOccId": "occ1",
    "vnfdId": "vnfd1",
    "dstVnfdId": "vnfd2",
    "flavourId": "simple",
    "operation": "CHANGE_VNFPKG",
    "isAutomaticInvocation": False,
    "instantiationLevelId": "l1",
    "addResources": [
        {
            "id": "def1",
            "type": "COMPUTE",
            "vduId": "VDU1",
            "vnfdId": "vnfd1",
            "resourceTemplateId": "VDU1",
            "snapshotResDef": {
                "vnfSnapshotId": "s1",
                "vnfcSnapshotId": "s2",
                "storageSnapshotId": "s3",
                "snapshotResource": {"resourceId": "s4"},
            },
        }
    ],
    "tempResources": [
        {"id": "def2", "type": "VL", "resourceTemplateId": "VL1"}
    ],
    "removeResources": [
        {
            "id": "def3",
            "type": "STORAGE",
            "resourceTemplateId": "VirtualStorage",
            "resource": {"resourceId": "volume-1"},
        }
    ],
    "updateResources": [
        {"id": "def4", "type": "LINKPORT", "resourceTemplateId": "CP1"}
    ],
    "placementConstraints": [
        {
            "affinityOrAntiAffinity": "ANTI_AFFINITY",
            "scope": "ZONE",
            "resource": [
                {"idType": "GRANT", "resourceId": "def1"},
                {"idType": "RES_MGMT", "resourceId": "server-1", **IN_VIM},
            ],
            "fallbackBestEffort": True,
        }
    ],
    "vimConstraints": [
        {
            "sameResourceGroup": True,
            "resource": [{"idType": "GRANT", "resourceId": "def1"}],
        }
    ],
    "additionalParams": {"a": 1},
    "_links": LINKS,
}
GRANT = {
    "id": "grant1",
    "vnfInstanceId": "inst1",
    "vnfLcmOpOccId": "occ1",
    "vimConnectionInfo": {"vim1": VIM_CONNECTION},
    "zones": [{"id": "zone1", "zoneId": "nova", **IN_VIM}],
    "zoneGroups": [{"zoneId": ["zone1"]}],
    "addResources": [
        {
            "resourceDefinitionId": "def1",
            "reservationId": "rsv1",
            **IN_VIM,
            "zoneId": "zone1",
            "resourceGroupId": "group1",
        }
    ],
    "tempResources": [{"resourceDefinitionId": "def2"}],
    "removeResources": [{"resourceDefinitionId": "def3"}],
    "updateResources": [{"resourceDefinitionId": "def4"}],
    "vimAssets": {
        "computeResourceFlavours": [
            {
                **IN_VIM,
                "vnfdVirtualComputeDescId": "VDU1",
                "vimFlavourId": "m1.tiny",
            }
        ],
        "softwareImages": [
            {
                **IN_VIM,
                "vnfdSoftwareImageId": "VDU1",
                "vimSoftwareImageId": "image-1",
            }
        ],
        "snapshotResources": [
            {
                **IN_VIM,
                "vnfSnapshotId": "s1",
                "vnfcSnapshotId": "s2",
                "storageSnapshotId": "s3",
                "vimSnapshotResourceId": "s4",
            }
        ],
    },
    "extVirtualLinks": [EXT_VIRTUAL_LINK],
    "extManagedVirtualLinks": [EXT_MANAGED_VIRTUAL_LINK],
    "additionalParams": {"a": 1},
    "_links": {"self": {"href": "https://nfvo/grant/v1/grants/1"}, **LINKS},
}


class TestGrants(base.TestCase):
    def test_round_trips_preserve_json(self) -> None:
        self.assert_same(grant.GrantRequest, REQUEST)
        self.assert_same(grant.Grant, GRANT)

    def test_all_operations_except_modify_need_grants(self) -> None:
        operations = (
            "INSTANTIATE SCALE SCALE_TO_LEVEL CHANGE_FLAVOUR TERMINATE HEAL"
            " OPERATE CHANGE_EXT_CONN CHANGE_VNFPKG CREATE_SNAPSHOT"
            " REVERT_TO_SNAPSHOT"
        )
        self.assertEqual(
            operations.split(), list(grant.GrantedLcmOperationType)
        )

    WRONG = (
        (
            grant.GrantRequest,
            {**REQUEST, "operation": "MODIFY_INFO"},
            "Invalid enum value 'MODIFY_INFO' - at `$.operation`",
        ),
        (
            grant.ConstraintResourceRef,
            {"idType": "GRANT", "resourceId": "r", "vimConnectionId": "v"},
            "vimConnectionId and resourceProviderId require idType RES_MGMT",
        ),
        (
            grant.ConstraintResourceRef,
            {"idType": "GRANT", "resourceId": "r", "resourceProviderId": "p"},
            "vimConnectionId and resourceProviderId require idType RES_MGMT",
        ),
        (
            grant.Grant,
            {**GRANT, "zoneGroups": [{"zoneId": []}]},
            "Expected `array` of length >= 1 - at `$.zoneGroups[0].zoneId`",
        ),
        (
            grant.Grant,
            {**GRANT, "vimAssets": {"softwareImages": [{}]}},
            (
                "Object missing required field `vnfdSoftwareImageId`"
                " - at `$.vimAssets.softwareImages[0]`"
            ),
        ),
    )

    def test_each_error_has_its_path(self) -> None:
        for kind, body, message in self.WRONG:
            with self.subTest(message):
                self.assert_rejected(kind, body, message)
