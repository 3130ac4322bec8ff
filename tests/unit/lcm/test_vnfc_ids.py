"""By which ids the VNFCs of an instance are known."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import modification, vnfc_ids
from tacker_cnf.sol import base
from tacker_cnf.sol.lcm_request import VnfInfoModificationRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tests.factories import a_running_instance, a_vnfc, an_info, an_instance

NAMES = {vnfc_ids.VNFC_ID_MAPPING: {"web": ["first", "second"]}}


def numbered(name: str, number: int) -> VnfcResourceInfo:
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
    def test_a_vnfc_that_has_a_number_may_have_an_id_for_it(self) -> None:
        for vnfc, name in (
            (numbered("a", 0), "first"),
            (numbered("b", 1), "second"),
            (numbered("c", 2), "web-c"),
            (a_vnfc("d"), "web-d"),
        ):
            self.assertEqual(name, vnfc_ids.vnfc_id(vnfc, NAMES))
        self.assertEqual("web-a", vnfc_ids.vnfc_id(numbered("a", 0)))

    def test_it_keeps_its_id_and_what_was_set_when_it_is_healed(self) -> None:
        (before,) = vnfc_ids.build_vnfc_info([numbered("a", 0)], (), NAMES)
        before = msgspec.structs.replace(
            before, vnfc_configurable_properties={"colour": "red"}
        )
        (after,) = vnfc_ids.build_vnfc_info(
            [numbered("b", 0)], [before], NAMES
        )
        self.assertEqual(
            ("first", "b"), (after.id, after.vnfc_resource_info_id)
        )
        self.assertEqual({"colour": "red"}, after.vnfc_configurable_properties)


class TestPatch(testtools.TestCase):
    def test_ids_follow_the_metadata(self) -> None:
        vnfcs = numbered("b", 1), numbered("a", 0)
        running = a_running_instance(info=an_info(*vnfcs))
        after = patched(running, **NAMES)
        info = after.instantiated_vnf_info
        assert info
        self.assertEqual(
            {"first": "a", "second": "b"},
            {v.id: v.vnfc_resource_info_id for v in info.vnfc_info},
        )
        self.assertEqual(
            running, patched(after, **{vnfc_ids.VNFC_ID_MAPPING: None})
        )

    def test_what_gives_no_ids_is_refused(self) -> None:
        for mapping, says in (
            (["first"], "Expected `object`, got `array`"),
            ({"web": "first"}, "Expected `array`"),
            ({"web": [1]}, "Expected `str`"),
            ({"web": ["a"], "agent": ["a"]}, "'a' is there twice"),
            ({"web": [""]}, "'' is no id"),
        ):
            error = self.assertRaises(
                errors.InvalidParameters,
                patched,
                an_instance(),
                **{vnfc_ids.VNFC_ID_MAPPING: mapping},
            )
            self.assertIn(says, str(error))
