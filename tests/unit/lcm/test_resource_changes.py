import msgspec
import testtools

from tacker_cnf.lcm import resource_changes
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.virtual_link import (
    ExtLinkPortInfo,
    ExtVirtualLinkInfo,
    VnfLinkPortInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import (
    VirtualStorageResourceInfo,
    VnfcResourceInfo,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedExtLinkPort,
    AffectedVirtualLink,
    AffectedVirtualStorage,
    AffectedVnfc,
    ChangeType,
    ExtLinkPortChangeType,
    ResourceChanges,
    VirtualLinkChangeType,
)
from tests.factories import a_vnfc, an_info

ONE = a_vnfc("web-1", uid="1")
TWO = a_vnfc("web-2", uid="2")
ONE_REPLACED = a_vnfc("web-1", uid="3")


class TestBetween(testtools.TestCase):
    def test_removed_and_added_vnfcs(self) -> None:
        # before, after, removed, added
        cases = [
            ((), (), (), ()),
            ((), (ONE, TWO), (), (ONE, TWO)),
            ((ONE, TWO), (), (ONE, TWO), ()),
            ((ONE,), (ONE, TWO), (), (TWO,)),
            ((ONE, TWO), (TWO,), (ONE,), ()),
            ((ONE, TWO), (TWO, ONE), (), ()),
            ((ONE,), (TWO,), (ONE,), (TWO,)),
            # a StatefulSet gives a new pod the old name
            ((ONE,), (ONE_REPLACED,), (ONE,), (ONE_REPLACED,)),
        ]
        for before, after, removed, added in cases:
            found = resource_changes.between(
                an_info(*before), Observed(vnfc_resource_info=after)
            ).affected_vnfcs
            self.assertEqual(
                [
                    *((v, ChangeType.REMOVED) for v in removed),
                    *((v, ChangeType.ADDED) for v in added),
                ],
                [
                    (
                        a_vnfc(a.id, a.vdu_id, a.metadata["uid"]),
                        a.change_type,
                    )
                    for a in found
                ],
            )

    def test_vnfcs_without_immutable_ids_are_compared_by_name(self) -> None:
        before_info = an_info(a_vnfc("web-1"))
        after = Observed(vnfc_resource_info=(a_vnfc("web-1"),))
        self.assertEqual(
            ResourceChanges(), resource_changes.between(before_info, after)
        )

    def test_a_vnfc_changed_in_place_is_modified(self) -> None:
        before_info = an_info(a_vnfc("web-1"))
        other = msgspec.structs.replace(
            a_vnfc("web-1"), metadata={"flavor": "large"}
        )
        (change,) = resource_changes.between(
            before_info, Observed(vnfc_resource_info=(other,))
        ).affected_vnfcs
        self.assertEqual(ChangeType.MODIFIED, change.change_type)

    def test_added_and_removed_storages_of_vnfcs(self) -> None:
        def vnfc(name: str, *storages: str) -> VnfcResourceInfo:
            return msgspec.structs.replace(
                a_vnfc(name), storage_resource_ids=storages
            )

        after = vnfc("same", "b", "c"), vnfc("less", "f"), vnfc("new", "d")
        found = resource_changes.between(
            an_info(
                vnfc("same", "a", "b"), vnfc("less", "g"), vnfc("old", "e")
            ),
            Observed(vnfc_resource_info=after),
        ).affected_vnfcs
        kind = ChangeType
        self.assertEqual(
            {
                "old": (kind.REMOVED, (), ("e",)),
                "same": (kind.MODIFIED, ("c",), ("a",)),
                "less": (kind.MODIFIED, ("f",), ("g",)),
                "new": (kind.ADDED, ("d",), ()),
            },
            {
                affected.id: (
                    affected.change_type,
                    affected.added_storage_resource_ids,
                    affected.removed_storage_resource_ids,
                )
                for affected in found
            },
        )

    def test_removed_and_added_storages(self) -> None:
        def storage(name: str) -> VirtualStorageResourceInfo:
            return VirtualStorageResourceInfo(
                id=name,
                virtual_storage_desc_id="disk",
                storage_resource=ResourceHandle(resource_id=name),
            )

        found = resource_changes.between(
            an_info(virtual_storage_resource_info=(storage("a"),)),
            Observed(virtual_storage_resource_info=(storage("b"),)),
        ).affected_virtual_storages
        self.assertEqual(
            [("a", "REMOVED"), ("b", "ADDED")],
            [(affected.id, affected.change_type) for affected in found],
        )

    def test_removed_and_added_links_and_ports(self) -> None:
        def link(name: str, *ports: str) -> VnfVirtualLinkResourceInfo:
            return VnfVirtualLinkResourceInfo(
                id=name,
                vnf_virtual_link_desc_id="inside",
                network_resource=ResourceHandle(resource_id=name),
                vnf_link_ports=tuple(
                    VnfLinkPortInfo(
                        id=port,
                        resource_handle=ResourceHandle(resource_id=port),
                    )
                    for port in ports
                ),
            )

        before = (link("stays", "p1", "p2"), link("removed", "p3"))
        after = (link("stays", "p2", "p4"), link("added", "p5"))
        found = resource_changes.between(
            an_info(vnf_virtual_link_resource_info=before),
            Observed(vnf_virtual_link_resource_info=after),
        ).affected_virtual_links
        self.assertEqual(
            [
                ("stays", "LINK_PORT_REMOVED", ("p1",)),
                ("removed", "REMOVED", ("p3",)),
                ("stays", "LINK_PORT_ADDED", ("p4",)),
                ("added", "ADDED", ("p5",)),
            ],
            [(x.id, x.change_type, x.vnf_link_port_ids) for x in found],
        )

    def test_removed_and_added_external_ports(self) -> None:
        def link(port: str) -> ExtVirtualLinkInfo:
            return ExtVirtualLinkInfo(
                id="outside",
                resource_handle=ResourceHandle(resource_id="net"),
                ext_link_ports=(
                    ExtLinkPortInfo(
                        id=port,
                        resource_handle=ResourceHandle(resource_id=port),
                        cp_instance_id=f"cp-{port}",
                    ),
                ),
                current_vnf_ext_cp_data=(),
            )

        found = resource_changes.between(
            an_info(ext_virtual_link_info=(link("a"),)),
            Observed(ext_virtual_link_info=(link("b"),)),
        ).affected_ext_link_ports
        self.assertEqual(
            [("a", "REMOVED", "cp-a"), ("b", "ADDED", "cp-b")],
            [(x.id, x.change_type, x.ext_cp_instance_id) for x in found],
        )

    def test_no_info_before_and_no_resources_after(self) -> None:
        self.assertEqual(
            ResourceChanges(), resource_changes.between(None, None)
        )

    def test_attributes_of_a_vnfc(self) -> None:
        (change,) = resource_changes.between(
            None, Observed(vnfc_resource_info=(ONE,))
        ).affected_vnfcs
        self.assertEqual("web-1", change.id)
        self.assertEqual("web", change.vdu_id)
        self.assertEqual(ONE.compute_resource, change.compute_resource)
        self.assertEqual({"uid": "1"}, change.metadata)

    def test_a_lost_vnfc_is_removed(self) -> None:
        lost = msgspec.structs.replace(ONE, metadata={"lost": True})
        (change,) = resource_changes.between(
            an_info(ONE), Observed(vnfc_resource_info=(lost,))
        ).affected_vnfcs
        self.assertEqual(ChangeType.REMOVED, change.change_type)
        self.assertEqual(
            ResourceChanges(), resource_changes.between(an_info(lost), None)
        )

    def test_unused_external_ports_are_left_out(self) -> None:
        port = ExtLinkPortInfo(
            id="p", resource_handle=ResourceHandle(resource_id="p")
        )
        link = ExtVirtualLinkInfo(
            id="outside",
            resource_handle=ResourceHandle(resource_id="net"),
            ext_link_ports=(port,),
            current_vnf_ext_cp_data=(),
        )
        found = Observed(ext_virtual_link_info=(link,))
        self.assertEqual(
            ResourceChanges(), resource_changes.between(None, found)
        )

    def test_all_attributes(self) -> None:
        handle = ResourceHandle(resource_id="r", vim_connection_id="v")
        vnfc = msgspec.structs.replace(
            ONE,
            zone_id="z",
            vnfc_cp_info=(VnfcCpInfo(id="cp-1", cpd_id="cp"),),
            storage_resource_ids=("d",),
        )
        link = VnfVirtualLinkResourceInfo(
            id="l",
            vnf_virtual_link_desc_id="inside",
            network_resource=handle,
            zone_id="z",
            metadata={"a": 1},
            vnf_link_ports=(VnfLinkPortInfo(id="p", resource_handle=handle),),
        )
        ext_link = ExtVirtualLinkInfo(
            id="outside",
            resource_handle=handle,
            ext_link_ports=(
                ExtLinkPortInfo(
                    id="e", resource_handle=handle, cp_instance_id="cp-1"
                ),
            ),
            current_vnf_ext_cp_data=(),
        )
        storage = VirtualStorageResourceInfo(
            id="d",
            virtual_storage_desc_id="disk",
            storage_resource=handle,
            zone_id="z",
            metadata={"b": 2},
        )
        found = Observed(
            vnfc_resource_info=(vnfc,),
            vnf_virtual_link_resource_info=(link,),
            ext_virtual_link_info=(ext_link,),
            virtual_storage_resource_info=(storage,),
        )
        self.assertEqual(
            ResourceChanges(
                affected_vnfcs=(
                    AffectedVnfc(
                        id="web-1",
                        vdu_id="web",
                        change_type=ChangeType.ADDED,
                        compute_resource=ONE.compute_resource,
                        zone_id="z",
                        metadata={"uid": "1"},
                        affected_vnfc_cp_ids=("cp-1",),
                        added_storage_resource_ids=("d",),
                    ),
                ),
                affected_virtual_links=(
                    AffectedVirtualLink(
                        id="l",
                        vnf_virtual_link_desc_id="inside",
                        change_type=VirtualLinkChangeType.ADDED,
                        network_resource=handle,
                        vnf_link_port_ids=("p",),
                        zone_id="z",
                        metadata={"a": 1},
                    ),
                ),
                affected_ext_link_ports=(
                    AffectedExtLinkPort(
                        id="e",
                        change_type=ExtLinkPortChangeType.ADDED,
                        ext_cp_instance_id="cp-1",
                        resource_handle=handle,
                    ),
                ),
                affected_virtual_storages=(
                    AffectedVirtualStorage(
                        id="d",
                        virtual_storage_desc_id="disk",
                        change_type=ChangeType.ADDED,
                        storage_resource=handle,
                        zone_id="z",
                        metadata={"b": 2},
                    ),
                ),
            ),
            resource_changes.between(None, found),
        )
