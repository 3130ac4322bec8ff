"""The ids of the VNFCs of an instance."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import modification, vnfc_ids
from tacker_cnf.sol import base
from tacker_cnf.sol.lcm_request import VnfInfoModificationRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tests.factories import a_running_instance, a_vnfc, an_info, an_instance

MAPPING = {vnfc_ids.VNFC_ID_MAPPING: {"web": ["first", "second"]}}


def indexed_vnfc(name: str, number: int) -> VnfcResourceInfo:
    return msgspec.structs.replace(
        a_vnfc(name), metadata={vnfc_ids.VDU_INDEX: number}
    )


def patched(instance: VnfInstance, **metadata: Any) -> VnfInstance:
    request = base.decode(
        msgspec.json.encode({"metadata": metadata}),
        VnfInfoModificationRequest,
    )
    return modification.modified(instance, request, {})


class TestIds(testtools.TestCase):
    def test_metadata_set_the_id_of_an_indexed_vnfc(self) -> None:
        for vnfc, name in (
            (indexed_vnfc("a", 0), "first"),
            (indexed_vnfc("b", 1), "second"),
            (indexed_vnfc("c", 2), "web-c"),
            (a_vnfc("d"), "web-d"),
        ):
            self.assertEqual(name, vnfc_ids.vnfc_id(vnfc, MAPPING))
        self.assertEqual("web-a", vnfc_ids.vnfc_id(indexed_vnfc("a", 0)))

    def test_a_healed_vnfc_keeps_its_id_and_properties(self) -> None:
        (before,) = vnfc_ids.build_vnfc_info(
            [indexed_vnfc("a", 0)], (), MAPPING
        )
        before = msgspec.structs.replace(
            before, vnfc_configurable_properties={"colour": "red"}
        )
        (after,) = vnfc_ids.build_vnfc_info(
            [indexed_vnfc("b", 0)], [before], MAPPING
        )
        self.assertEqual(
            ("first", "b"), (after.id, after.vnfc_resource_info_id)
        )
        self.assertEqual({"colour": "red"}, after.vnfc_configurable_properties)


class TestPatch(testtools.TestCase):
    def test_ids_follow_the_metadata(self) -> None:
        vnfcs = indexed_vnfc("b", 1), indexed_vnfc("a", 0)
        running = a_running_instance(info=an_info(*vnfcs))
        after = patched(running, **MAPPING)
        info = after.instantiated_vnf_info
        assert info
        self.assertEqual(
            {"first": "a", "second": "b"},
            {v.id: v.vnfc_resource_info_id for v in info.vnfc_info},
        )
        self.assertEqual(
            running, patched(after, **{vnfc_ids.VNFC_ID_MAPPING: None})
        )

    def test_an_invalid_mapping_is_rejected(self) -> None:
        for mapping, message in (
            (["first"], "Expected `object`, got `array`"),
            ({"web": "first"}, "Expected `array`"),
            ({"web": [1]}, "Expected `str`"),
            ({"web": ["a"], "agent": ["a"]}, "'a' is used twice"),
            ({"web": [""]}, "'' is not a valid id"),
        ):
            error = self.assertRaises(
                errors.InvalidParameters,
                patched,
                an_instance(),
                **{vnfc_ids.VNFC_ID_MAPPING: mapping},
            )
            self.assertIn(message, str(error))
