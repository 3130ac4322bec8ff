from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import modification
from tacker_cnf.lcm.change import STOPPED_COUNTS
from tacker_cnf.lcm.operations.modify import Modify
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    VnfInfoModificationRequest,
    VnfInfoModifications,
)
from tacker_cnf.sol.virtual_link import VnfVirtualLinkResourceInfo
from tacker_cnf.sol.vnf_instance import (
    VirtualStorageResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
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
    patched_connections = modification.connections(instance, request)
    return modification.modified(instance, request, patched_connections)


class TestPlainAttributes(testtools.TestCase):
    def test_replaced_attributes(self) -> None:
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

    def test_maps_are_merged(self) -> None:
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

    def patched_connections(self, patch: Any) -> dict[str, VimConnectionInfo]:
        request = a_patch(vimConnectionInfo=patch)
        return modification.connections(self.instance, request)

    def assert_rejected(self, patch: Any, message: str) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection, self.patched_connections, patch
        )
        self.assertIn(message, str(error))

    def test_an_entry_is_merged(self) -> None:
        found = self.patched_connections(
            {"one": {"accessInfo": {"token": "new"}}}
        )
        self.assertEqual({"token": "new"}, found["one"].access_info)
        self.assertEqual({"endpoint": "x"}, found["one"].interface_info)
        self.assertEqual(VIM, found["two"])

    def test_an_entry_is_added_and_one_removed(self) -> None:
        found = self.patched_connections(
            {"two": None, "three": {"vimId": "v"}}
        )
        self.assertEqual({"one", "three"}, set(found))

    def test_connections_stay_without_a_patch(self) -> None:
        request = a_patch(metadata={"a": 1})
        found = modification.connections(self.instance, request)
        self.assertEqual({"one": VIM, "two": VIM}, found)

    def test_a_connection_in_use_cannot_be_removed(self) -> None:
        self.assert_rejected({"one": None}, "the connection one")
        self.assert_rejected(None, "the connection one")
        self.instance = a_running_instance(
            a_vnfc(connection="two"),
            vim_connection_info={"one": VIM, "two": VIM},
        )
        self.assert_rejected({"two": None}, "the connection two")
        self.assertEqual({"two": VIM}, self.patched_connections({"one": None}))

    def test_all_resources_use_connections(self) -> None:
        handle = ResourceHandle(resource_id="r", vim_connection_id="two")
        storage = VirtualStorageResourceInfo(
            id="d", virtual_storage_desc_id="disk", storage_resource=handle
        )
        link = VnfVirtualLinkResourceInfo(
            id="l", vnf_virtual_link_desc_id="in", network_resource=handle
        )
        cases: list[dict[str, Any]] = [
            {"virtual_storage_resource_info": (storage,)},
            {"vnf_virtual_link_resource_info": (link,)},
        ]
        for more in cases:
            self.instance = a_running_instance(
                info=an_info(**more),
                vim_connection_info={"one": VIM, "two": VIM},
            )
            self.assert_rejected({"two": None}, "the connection two")

    def test_the_vims_that_the_instance_provides_are_not_its_own(self) -> None:
        request = a_patch(vimConnectionInfo={"b": None, "a": None, "two": {}})
        error = self.assertRaises(
            errors.InvalidVimConnection,
            modification.connections,
            self.instance,
            request,
            ["c", "b", "a"],
        )
        self.assertIn("vimConnectionInfo.a: VNF instance an-", str(error))
        request = a_patch(vimConnectionInfo={"two": None})
        found = modification.connections(self.instance, request, ["a"])
        self.assertEqual({"one": VIM}, found)
        no_patch = a_patch(metadata={})
        modification.connections(self.instance, no_patch, ["two"])

    def test_an_incomplete_entry_is_rejected(self) -> None:
        self.assert_rejected(
            {"one": {"vimType": None}}, "vimType, or the vimId"
        )
        self.assert_rejected({"three": {}}, "vimType, or the vimId")

    def test_credentials_are_not_sent_to_another_address(self) -> None:
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
            self.assert_rejected({"one": change}, "include accessInfo, too")
            own: dict[str, Any]
            for own in ({"accessInfo": {"token": "n"}}, {"accessInfo": None}):
                found = self.patched_connections({"one": change | own})["one"]
                expected = own["accessInfo"] or {}
                self.assertEqual(expected, found.access_info, str(change))

    def test_shown_access_info_is_no_credential(self) -> None:
        access = {"username": "u", "password": "p"}
        vim = msgspec.structs.replace(VIM, access_info=access)
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": vim}
        )
        shown = {"accessInfo": {"username": "u"}}
        self.assertEqual(vim, self.patched_connections({"one": shown})["one"])
        for own in ({}, {"username": "u"}):
            moved = {
                "interfaceInfo": {"endpoint": "elsewhere"},
                "accessInfo": own,
            }
            self.assert_rejected({"one": moved}, "include accessInfo, too")

    def test_another_ca_certificate_requires_credentials(self) -> None:
        ca = {"ssl_ca_cert": "another"}
        self.assert_rejected(
            {"one": {"accessInfo": ca}}, "include accessInfo, too"
        )
        own = ca | {"password": "own"}
        found = self.patched_connections({"one": {"accessInfo": own}})["one"]
        self.assertEqual(own, found.access_info)

    def test_the_same_address_is_no_change(self) -> None:
        same = {"vimType": "K", "interfaceInfo": {"endpoint": "x"}}
        self.assertEqual(VIM, self.patched_connections({"one": same})["one"])

    def test_a_connection_without_credentials_can_change_its_address(
        self,
    ) -> None:
        bare = VimConnectionInfo(vim_type="K", vim_id="v")
        self.instance = a_running_instance(
            a_vnfc(), vim_connection_info={"one": bare}
        )
        found = self.patched_connections({"one": {"vimId": "w"}})["one"]
        self.assertEqual(VimConnectionInfo(vim_type="K", vim_id="w"), found)

    def test_an_instance_that_is_not_instantiated_has_no_connections(
        self,
    ) -> None:
        self.instance = an_instance()
        self.assert_rejected({"one": {"vimId": "v"}}, "is not instantiated")
        self.assert_rejected({}, "is not instantiated")
        request = a_patch(vnfInstanceName="a")
        self.assertEqual({}, modification.connections(self.instance, request))


class TestVnfcs(testtools.TestCase):
    def test_vnfc_properties_are_merged(self) -> None:
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

    def test_an_unknown_vnfc_is_rejected(self) -> None:
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

    def with_new_vnfd(
        self, instance: VnfInstance, **patch: Any
    ) -> VnfInstance:
        request = a_patch(vnfdId="new-vnfd", **patch)
        return modification.modified(
            instance, request, instance.vim_connection_info, self.vnfd
        )

    def test_attributes_of_the_new_vnfd_are_set(self) -> None:
        found = self.with_new_vnfd(an_instance())
        self.assertEqual("new-vnfd", found.vnfd_id)
        self.assertEqual("2", found.vnf_software_version)
        self.assertEqual("a vendor", found.vnf_provider)

    def test_its_defaults_apply_to_unset_values(self) -> None:
        before = an_instance(
            vnf_configurable_properties={"a": 5}, metadata={"n": 1}
        )
        found = self.with_new_vnfd(before, metadata={"m": None, "o": 2})
        self.assertEqual(
            {"a": 5, "b": {"c": 2}}, found.vnf_configurable_properties
        )
        self.assertEqual({"n": 1, "o": 2}, found.metadata)

    def test_a_compatible_vnfd(self) -> None:
        vnfc = a_vnfc()
        before = a_running_instance(
            info=an_info(vnfc, levels={"web_aspect": 1})
        )
        info = self.with_new_vnfd(before).instantiated_vnf_info
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

    def test_an_incompatible_vnfd_is_rejected(self) -> None:
        for info, message in (
            (an_info(flavour_id="huge"), "has no flavour 'huge'"),
            (an_info(a_vnfc(vdu="moon")), "has no VDU moon"),
            (
                an_info(
                    vnf_state=VnfOperationalState.STOPPED,
                    metadata={STOPPED_COUNTS: {"moon": 1, "sun": 0}},
                ),
                "has no VDU moon in",
            ),
            (an_info(levels={"moon": 0}), "has no aspect moon"),
            (an_info(levels={"web_aspect": 99}), "the VNF is at level 99"),
        ):
            error = self.assertRaises(
                errors.IncompatibleVnfd,
                self.with_new_vnfd,
                a_running_instance(info=info),
            )
            self.assertIn(message, str(error))

    def test_a_terminated_instance_accepts_any_vnfd(self) -> None:
        info = an_info(flavour_id="huge")
        found = self.with_new_vnfd(an_instance(instantiated_vnf_info=info))
        self.assertEqual("new-vnfd", found.vnfd_id)

    def test_the_current_vnfd_is_no_change(self) -> None:
        instance = an_instance(vnfd_id="new-vnfd")
        request = a_patch(vnfdId="new-vnfd")
        self.assertIsNone(Modify().next_vnfd_id(request, instance))
        other = an_instance()
        self.assertEqual("new-vnfd", Modify().next_vnfd_id(request, other))
        self.assertIsNone(Modify().next_vnfd_id(a_patch(), other))


class TestChanged(testtools.TestCase):
    def test_only_changes_are_returned(self) -> None:
        before = a_running_instance(
            a_vnfc("web-1"),
            a_vnfc("web-2"),
            vnf_instance_name="a",
            vnf_instance_description="same",
            metadata={"kept": 1, "other": {"x": 1}, "removed": 2},
            extensions={"same": 1},
            vim_connection_info={"one": VIM, "two": VIM},
        )
        change = {"id": "web-web-2", "vnfcConfigurableProperties": {"p": 1}}
        after = patched(
            before,
            vnfInstanceName="b",
            vnfInstanceDescription="same",
            metadata={"other": {"y": 2}, "removed": None, "kept": 1},
            extensions={"same": 1},
            vimConnectionInfo={"two": {"extra": {"e": 1}}},
            vnfcInfoModifications=[change],
        )
        expected = {
            "vnfInstanceName": "b",
            "metadata": {"other": {"x": 1, "y": 2}, "removed": None},
            "vimConnectionInfo": {
                "two": msgspec.to_builtins(VIM) | {"extra": {"e": 1}}
            },
            "vnfcInfoModifications": [change],
        }
        self.assertEqual(
            msgspec.convert(expected, VnfInfoModifications),
            modification.changed(before, after),
        )

    def test_no_change(self) -> None:
        before = a_running_instance(a_vnfc(), vnf_instance_name="a")
        for patch in ({}, {"vnfInstanceName": "a"}, {"metadata": {"b": None}}):
            after = patched(before, **patch)
            self.assertIsNone(modification.changed(before, after))

    def test_replaced_vnfcs_are_left_out(self) -> None:
        before = a_running_instance(a_vnfc("web-1"), a_vnfc("web-2"))
        change = {"id": "web-web-2", "vnfcConfigurableProperties": {"p": 1}}
        new = a_running_instance(a_vnfc("web-9"), a_vnfc("web-2"))
        after = patched(new, vnfcInfoModifications=[change])
        self.assertEqual(
            msgspec.convert(
                {"vnfcInfoModifications": [change]}, VnfInfoModifications
            ),
            modification.changed(before, after),
        )
