from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import modification
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    VnfInfoModificationRequest,
    VnfInfoModifications,
)
from tacker_cnf.sol.vnf_instance import VnfInstance
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
)

VIM = VimConnectionInfo(
    vim_type="K", interface_info={"endpoint": "x"}, access_info={"token": "t"}
)


def a_patch(**patch: Any) -> VnfInfoModificationRequest:
    return msgspec.convert(patch, VnfInfoModificationRequest)


def patched(instance: VnfInstance, **patch: Any) -> VnfInstance:
    request = a_patch(**patch)
    reached_by = modification.connections(instance, request)
    return modification.modified(instance, request, reached_by)


class TestPlainAttributes(testtools.TestCase):
    def test_what_a_patch_makes_of_each(self) -> None:
        for before, patch, after in (
            ("a", {}, "a"),
            ("a", {"vnfInstanceName": "b"}, "b"),
            (None, {"vnfInstanceName": "b"}, "b"),
            ("a", {"vnfInstanceName": None}, None),
            ("a", {"vnfInstanceName": ""}, ""),
        ):
            instance = an_instance(vnf_instance_name=before)
            found = patched(instance, **patch).vnf_instance_name
            self.assertEqual(after, found, str((before, patch)))

    def test_the_description_is_replaced_too(self) -> None:
        found = patched(an_instance(), vnfInstanceDescription="new")
        self.assertEqual("new", found.vnf_instance_description)


class TestMaps(testtools.TestCase):
    """RFC 7396, in each of the attributes that are maps."""

    cases: tuple[tuple[Any, Any, Any], ...] = (
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": 1}, None, {}),
        ({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    )

    def test_merged(self) -> None:
        for name, key in (
            ("metadata", "metadata"),
            ("extensions", "extensions"),
            ("vnf_configurable_properties", "vnfConfigurableProperties"),
        ):
            for before, patch, after in self.cases:
                instance = an_instance(**{name: before})
                found = getattr(patched(instance, **{key: patch}), name)
                self.assertEqual(after, found, str((name, before, patch)))


class TestVimConnections(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": VIM, "two": VIM}
        )

    def reached_by(self, patch: Any) -> dict[str, VimConnectionInfo]:
        request = a_patch(vimConnectionInfo=patch)
        return modification.connections(self.instance, request)

    def refused(self, patch: Any, message: str) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection, self.reached_by, patch
        )
        self.assertIn(message, str(error))

    def test_an_entry_is_merged(self) -> None:
        found = self.reached_by({"one": {"accessInfo": {"token": "new"}}})
        self.assertEqual({"token": "new"}, found["one"].access_info)
        self.assertEqual({"endpoint": "x"}, found["one"].interface_info)
        self.assertEqual(VIM, found["two"])

    def test_an_entry_is_added_and_one_taken_away(self) -> None:
        found = self.reached_by({"two": None, "three": {"vimId": "v"}})
        self.assertEqual({"one", "three"}, set(found))

    def test_what_is_not_patched_stays(self) -> None:
        request = a_patch(metadata={"a": 1})
        found = modification.connections(self.instance, request)
        self.assertEqual({"one": VIM, "two": VIM}, found)

    def test_what_the_vnf_is_reached_by_stays(self) -> None:
        self.refused({"one": None}, "reached by one")
        self.refused(None, "reached by one")
        self.instance = a_running_instance(
            a_vnfc(connection="two"),
            vim_connection_info={"one": VIM, "two": VIM},
        )
        self.refused({"two": None}, "reached by two")
        self.assertEqual({"two": VIM}, self.reached_by({"one": None}))

    def test_an_entry_that_says_too_little(self) -> None:
        self.refused({"one": {"vimType": None}}, "give vimType")
        self.refused({"three": {}}, "give vimType")

    def test_credentials_go_to_no_other_address(self) -> None:
        registered = msgspec.structs.replace(VIM, vim_id="v")
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": registered}
        )
        for change in (
            {"interfaceInfo": {"endpoint": "elsewhere"}},
            {"interfaceInfo": {"ssl_ca_cert": "another"}},
            {"interfaceInfo": {"skipCertificateVerification": True}},
            {"interfaceInfo": None},
            {"vimId": "w"},
            {"vimId": None},
            {"vimType": "L"},
        ):
            self.refused({"one": change}, "give accessInfo, too")
            own: dict[str, Any]
            for own in ({"accessInfo": {"token": "n"}}, {"accessInfo": None}):
                found = self.reached_by({"one": change | own})["one"]
                expected = own["accessInfo"] or {}
                self.assertEqual(expected, found.access_info, str(change))

    def test_what_was_shown_of_them_is_no_credential(self) -> None:
        access = {"username": "u", "password": "p"}
        vim = msgspec.structs.replace(VIM, access_info=access)
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": vim}
        )
        shown = {"accessInfo": {"username": "u"}}
        self.assertEqual(vim, self.reached_by({"one": shown})["one"])
        for own in ({}, {"username": "u"}):
            moved = {
                "interfaceInfo": {"endpoint": "elsewhere"},
                "accessInfo": own,
            }
            self.refused({"one": moved}, "give accessInfo, too")

    def test_nor_with_another_authentication(self) -> None:
        ca = {"ssl_ca_cert": "another"}
        self.refused({"one": {"accessInfo": ca}}, "give accessInfo, too")
        own = ca | {"password": "own"}
        found = self.reached_by({"one": {"accessInfo": own}})["one"]
        self.assertEqual(own, found.access_info)

    def test_the_same_address_again_moves_nothing(self) -> None:
        same = {"vimType": "K", "interfaceInfo": {"endpoint": "x"}}
        self.assertEqual(VIM, self.reached_by({"one": same})["one"])

    def test_a_connection_without_credentials_may_move(self) -> None:
        bare = VimConnectionInfo(vim_type="K", vim_id="v")
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": bare}
        )
        found = self.reached_by({"one": {"vimId": "w"}})["one"]
        self.assertEqual(VimConnectionInfo(vim_type="K", vim_id="w"), found)

    def test_an_instance_on_no_vim_has_none(self) -> None:
        self.instance = an_instance()
        self.refused({"one": {"vimId": "v"}}, "is on no VIM")
        self.refused({}, "is on no VIM")
        request = a_patch(vnfInstanceName="a")
        self.assertEqual({}, modification.connections(self.instance, request))


class TestVnfcs(testtools.TestCase):
    def test_their_properties_are_merged(self) -> None:
        one, two = a_vnfc("web-1"), a_vnfc("web-2")
        before = a_running_instance(one, two)
        for patch, after in (
            ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 2}}),
            ({"a": {"b": None}, "d": 3}, {"a": {"c": 2}, "d": 3}),
        ):
            change = {"id": "web-web-2", "vnfcConfigurableProperties": patch}
            before = patched(before, vnfcInfoModifications=[change])
            info = before.instantiated_vnf_info
            assert info is not None
            found = {
                vnfc.id: vnfc.vnfc_configurable_properties
                for vnfc in info.vnfc_info
            }
            self.assertEqual({"web-web-1": {}, "web-web-2": after}, found)

    def test_one_that_is_not_there(self) -> None:
        change = {"id": "moon", "vnfcConfigurableProperties": {}}
        for instance in (an_instance(), a_running_instance(a_vnfc())):
            error = self.assertRaises(
                errors.UnknownVnfc,
                patched,
                instance,
                vnfcInfoModifications=[change],
            )
            self.assertIn("no VNFC instance moon", str(error))


class TestVnfd(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfd = msgspec.structs.replace(
            a_vnfd(a_flavour()),
            id="new-vnfd",
            software_version="2",
            configurable_properties={"a": 1, "b": {"c": 2}},
            metadata={"m": "default"},
        )

    def taken_to(self, instance: VnfInstance, **patch: Any) -> VnfInstance:
        request = a_patch(vnfdId="new-vnfd", **patch)
        return modification.modified(
            instance, request, instance.vim_connection_info, self.vnfd
        )

    def test_what_the_vnfd_says_of_the_vnf(self) -> None:
        found = self.taken_to(an_instance())
        self.assertEqual("new-vnfd", found.vnfd_id)
        self.assertEqual("2", found.vnf_software_version)
        self.assertEqual("a vendor", found.vnf_provider)

    def test_its_defaults_apply_to_unset_values(self) -> None:
        before = an_instance(
            vnf_configurable_properties={"a": 5}, metadata={"n": 1}
        )
        found = self.taken_to(before, metadata={"m": None, "o": 2})
        self.assertEqual(
            {"a": 5, "b": {"c": 2}}, found.vnf_configurable_properties
        )
        self.assertEqual({"n": 1, "o": 2}, found.metadata)

    def test_a_vnf_that_fits(self) -> None:
        vnfc = a_vnfc()
        before = a_running_instance(
            info=an_info(vnfc, levels={"web_aspect": 1})
        )
        info = self.taken_to(before).instantiated_vnf_info
        assert info is not None
        self.assertEqual((vnfc,), info.vnfc_resource_info)
        self.assertEqual(
            [
                (
                    "web_aspect",
                    a_flavour().aspects["web_aspect"].max_scale_level,
                )
            ],
            [(s.aspect_id, s.scale_level) for s in info.max_scale_levels],
        )

    def test_a_vnf_that_does_not_fit(self) -> None:
        for info, message in (
            (an_info(flavour_id="huge"), "has no flavour 'huge'"),
            (an_info(a_vnfc(vdu="moon")), "has no VDU moon"),
            (an_info(levels={"moon": 0}), "has no aspect moon"),
            (an_info(levels={"web_aspect": 99}), "the VNF is at level 99"),
        ):
            error = self.assertRaises(
                errors.IncompatibleVnfd,
                self.taken_to,
                a_running_instance(info=info),
            )
            self.assertIn(message, str(error))

    def test_one_that_has_been_down_fits_any(self) -> None:
        info = an_info(flavour_id="huge")
        found = self.taken_to(an_instance(instantiated_vnf_info=info))
        self.assertEqual("new-vnfd", found.vnfd_id)

    def test_its_own_is_no_other(self) -> None:
        instance = an_instance(vnfd_id="new-vnfd")
        request = a_patch(vnfdId="new-vnfd")
        self.assertIsNone(modification.next_vnfd_id(instance, request))
        other = an_instance()
        self.assertEqual("new-vnfd", modification.next_vnfd_id(other, request))
        self.assertIsNone(modification.next_vnfd_id(other, a_patch()))


class TestChanged(testtools.TestCase):
    def test_only_what_changed(self) -> None:
        before = a_running_instance(
            a_vnfc("web-1"),
            a_vnfc("web-2"),
            vnf_instance_name="a",
            vnf_instance_description="same",
            metadata={"kept": 1, "other": {"x": 1}, "gone": 2},
            extensions={"same": 1},
            vim_connection_info={"one": VIM, "two": VIM},
        )
        change = {"id": "web-web-2", "vnfcConfigurableProperties": {"p": 1}}
        after = patched(
            before,
            vnfInstanceName="b",
            vnfInstanceDescription="same",
            metadata={"other": {"y": 2}, "gone": None, "kept": 1},
            extensions={"same": 1},
            vimConnectionInfo={"two": {"extra": {"e": 1}}},
            vnfcInfoModifications=[change],
        )
        expected = {
            "vnfInstanceName": "b",
            "metadata": {"other": {"x": 1, "y": 2}, "gone": None},
            "vimConnectionInfo": {
                "two": msgspec.to_builtins(VIM) | {"extra": {"e": 1}}
            },
            "vnfcInfoModifications": [change],
        }
        self.assertEqual(
            msgspec.convert(expected, VnfInfoModifications),
            modification.changed(before, after),
        )

    def test_nothing(self) -> None:
        before = a_running_instance(a_vnfc(), vnf_instance_name="a")
        for patch in ({}, {"vnfInstanceName": "a"}, {"metadata": {"b": None}}):
            after = patched(before, **patch)
            self.assertIsNone(modification.changed(before, after))
