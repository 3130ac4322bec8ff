from collections.abc import Mapping
from typing import Any

import msgspec
import testtools

from tacker_cnf.drivers.openstack import addresses, inventory
from tacker_cnf.drivers.openstack.addresses import Port
from tacker_cnf.drivers.openstack.inventory import StackLocation
from tacker_cnf.drivers.openstack.stacks import Tree
from tacker_cnf.lcm import connectivity
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
)
from tests.factories import a_state
from tests.unit.drivers.openstack import stack_resources
from tests.unit.drivers.openstack.stack_resources import PORT, SERVER, Listing

LOCATION = StackLocation("vim1", "a-project")
DYNAMIC = {
    "layerProtocol": "IP_OVER_ETHERNET",
    "ipOverEthernet": {
        "ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]
    },
}
FIXED = {
    "layerProtocol": "IP_OVER_ETHERNET",
    "ipOverEthernet": {
        "ipAddresses": [{"type": "IPV4", "fixedAddresses": ["192.0.2.7"]}]
    },
}


def ext_link(**configs: Any) -> ExtVirtualLinkData:
    """Build a link: connection point -> its configurations."""
    return msgspec.convert(
        {
            "id": "outside",
            "resourceId": "net-1",
            "extCps": [
                {"cpdId": cpd, "cpConfig": config}
                for cpd, config in configs.items()
            ],
            "extLinkPorts": [
                {
                    "id": "p1",
                    "resourceHandle": {"resourceId": "port-of-theirs"},
                }
            ],
        },
        ExtVirtualLinkData,
    )


def read(
    tree: Tree, nfv: Any = None, ports: Mapping[str, Port] = {}, **state: Any
) -> Observed:
    return inventory.build_result(
        stack_resources.a_stack(**nfv or {}),
        tree,
        a_state(**state),
        stack_resources.a_flavour(),
        LOCATION,
        ports,
    )


class TestVnfcs(testtools.TestCase):
    def test_vnfcs_are_listed_by_vdu_the_last_created_first(self) -> None:
        found = read(stack_resources.grouped("first", "second").tree())
        self.assertEqual(
            [
                ("web@second", "web"),
                ("web@first", "web"),
                ("store@root", "store"),
            ],
            [(v.id, v.vdu_id) for v in found.vnfc_resource_info],
        )
        web = found.vnfc_resource_info[0]
        self.assertEqual("web@second", web.compute_resource.resource_id)
        self.assertEqual("vim1", web.compute_resource.vim_connection_id)

    def test_members_of_a_resource_group_are_sorted_by_index(self) -> None:
        # a heal has replaced the first
        listing = stack_resources.grouped(
            "2", "10", "0", group="OS::Heat::ResourceGroup"
        )
        found = read(listing.tree()).vnfc_resource_info
        self.assertEqual(
            ["web@10", "web@2", "web@0", "store@root"], [v.id for v in found]
        )

    def test_metadata_of_a_group_member_names_its_group(self) -> None:
        found = read(stack_resources.grouped("first").tree())
        web, store = found.vnfc_resource_info
        self.assertEqual("vnf-1-web-first/first", web.metadata["stack_id"])
        self.assertEqual("vnf-1-web/web", web.metadata["parent_stack_id"])
        self.assertEqual("first", web.metadata["parent_resource_name"])
        self.assertEqual("vnf-1/root", store.metadata["stack_id"])
        self.assertNotIn("parent_stack_id", store.metadata)

    def test_a_group_may_be_nested_deeper_than_two_levels(self) -> None:
        listing = Listing()
        listing.add("outer", "outer.yaml", nested="o/o")
        listing.add("group", stack_resources.GROUP, "o/o", nested="g/g")
        listing.add("m1", "member.yaml", "g/g", nested="m/m")
        listing.add("inner", "inner.yaml", "m/m", nested="i/i")
        listing.add("web", SERVER, "i/i")
        (web,) = read(listing.tree()).vnfc_resource_info
        self.assertEqual("i/i", web.metadata["stack_id"])
        self.assertEqual("g/g", web.metadata["parent_stack_id"])
        self.assertEqual("m1", web.metadata["parent_resource_name"])

    def test_the_index_of_a_vnfc_is_read_from_its_parent(self) -> None:
        listing = Listing()
        for number in (0, 1):
            stack = f"n{number}/n{number}"
            listing.add(f"web-{number}", "web.yaml", nested=stack)
            listing.add("web", SERVER, stack)
        nfv = {"VDU": {"web-1": {"locationConstraints": "az1"}}}
        last, first = read(listing.tree(), nfv).vnfc_resource_info
        self.assertEqual(1, last.metadata["vdu_idx"])
        self.assertEqual("az1", last.zone_id)
        self.assertEqual(0, first.metadata["vdu_idx"])
        self.assertIsNone(first.zone_id)

    def test_numbered_servers_of_one_stack_have_their_own_ports(self) -> None:
        listing = Listing()
        for number in (0, 1):
            server = f"web-{number}"
            listing.add(server, SERVER)
            listing.add(f"web_in-{number}", PORT, needed_by=server)
        found = read(listing.tree()).vnfc_resource_info
        self.assertEqual(
            {
                "web-0@root": ["web_in-0@root"],
                "web-1@root": ["web_in-1@root"],
            },
            {
                v.id: [p.vnf_link_port_id for p in v.vnfc_cp_info]
                for v in found
            },
        )

    def test_servers_not_created_or_being_deleted_are_no_vnfcs(self) -> None:
        listing = Listing()
        listing.add("web", SERVER, physical="", status="INIT_COMPLETE")
        listing.add("store", SERVER, status="DELETE_FAILED")
        listing.add("other", SERVER)
        self.assertEqual((), read(listing.tree()).vnfc_resource_info)

    def test_flavour_images_and_zone_are_read_from_parameters(self) -> None:
        nfv = {
            "VDU": {
                "store": {
                    "computeFlavourId": "m1.tiny",
                    "locationConstraints": "nova",
                },
                "disk": {"vcImageId": "cirros"},
            }
        }
        found = read(stack_resources.grouped("first").tree(), nfv)
        store = found.vnfc_resource_info[-1]
        self.assertEqual("m1.tiny", store.metadata["flavor"])
        self.assertEqual("cirros", store.metadata["image-disk"])
        self.assertEqual("nova", store.zone_id)
        self.assertEqual(nfv, found.metadata["nfv"])
        self.assertEqual("root", found.metadata["stack_id"])
        self.assertEqual("a-project", found.metadata["tenant"])


class TestStorage(testtools.TestCase):
    def test_a_volume_belongs_to_its_server(self) -> None:
        found = read(stack_resources.grouped("first").tree())
        (disk,) = found.virtual_storage_resource_info
        self.assertEqual("disk", disk.virtual_storage_desc_id)
        self.assertEqual("disk@root", disk.storage_resource.resource_id)
        store = found.vnfc_resource_info[-1]
        self.assertEqual((disk.id,), store.storage_resource_ids)


class TestConnectivity(testtools.TestCase):
    def test_ports_created_by_heat_are_internal_link_ports(self) -> None:
        found = read(stack_resources.grouped("first").tree())
        (link,) = found.vnf_virtual_link_resource_info
        self.assertEqual("inside", link.vnf_virtual_link_desc_id)
        self.assertEqual("inside@root", link.network_resource.resource_id)
        self.assertEqual(
            {
                "web_in@first": "web_in-web@first",
                "store_in@root": "store_in-store@root",
            },
            {p.id: p.cp_instance_id for p in link.vnf_link_ports},
        )

    def test_ports_created_by_heat_are_external_connection_points(
        self,
    ) -> None:
        link = ext_link(web_cp={"a": {"cpProtocolData": [FIXED]}})
        found = read(
            stack_resources.grouped("first").tree(), ext_virtual_links=(link,)
        )
        (ext_cp,) = found.ext_cp_info
        self.assertEqual("cp-web_cp@first", ext_cp.id)
        self.assertEqual("a", ext_cp.cp_config_id)
        (protocol,) = ext_cp.cp_protocol_info
        assert protocol.ip_over_ethernet
        (address,) = protocol.ip_over_ethernet.ip_addresses
        self.assertEqual(("192.0.2.7",), address.addresses)
        (link_info,) = found.ext_virtual_link_info
        self.assertEqual("net-1", link_info.resource_handle.resource_id)
        self.assertEqual(
            ["web_cp@first"], [p.id for p in link_info.ext_link_ports]
        )
        self.assertEqual(link.ext_cps, link_info.current_vnf_ext_cp_data)
        point = found.vnfc_resource_info[0].vnfc_cp_info[0]
        self.assertEqual("web_cp-web@first", point.id)
        self.assertEqual(ext_cp.id, point.vnf_ext_cp_id)

    def test_each_vnfc_gets_its_own_configuration(self) -> None:
        configs = {
            "a": {"cpProtocolData": [DYNAMIC]},
            "b": {"cpProtocolData": [FIXED]},
        }
        found = read(
            stack_resources.grouped("first", "second", "third").tree(),
            ext_virtual_links=(ext_link(web_cp=configs),),
        )
        self.assertEqual(
            {
                "cp-web_cp@first": "a",
                "cp-web_cp@second": "b",
                "cp-web_cp@third": "b",
            },
            {cp.id: cp.cp_config_id for cp in found.ext_cp_info},
        )

    def test_the_index_of_a_vnfc_selects_its_configuration(self) -> None:
        listing = Listing()
        # the one between them is deleted
        for number in (0, 2):
            listing.add(f"web-{number}", SERVER)
            point = f"web_cp-{number}"
            listing.add(point, PORT, needed_by=f"web-{number}")
        configs = {key: {"cpProtocolData": [DYNAMIC]} for key in "abc"}
        found = read(
            listing.tree(), ext_virtual_links=(ext_link(web_cp=configs),)
        )
        self.assertEqual(
            {"cp-web_cp-0@root": "a", "cp-web_cp-2@root": "c"},
            {cp.id: cp.cp_config_id for cp in found.ext_cp_info},
        )

    def test_a_port_provided_by_the_request(self) -> None:
        link = ext_link(store_cp={"a": {"linkPortId": "p1"}})
        found = read(
            stack_resources.grouped("first").tree(), ext_virtual_links=(link,)
        )
        (ext_cp,) = found.ext_cp_info
        self.assertEqual("cp-req-p1", ext_cp.id)
        self.assertEqual("req-p1", ext_cp.ext_link_port_id)
        (link_info,) = found.ext_virtual_link_info
        (port,) = link_info.ext_link_ports
        self.assertEqual("port-of-theirs", port.resource_handle.resource_id)

    def test_a_provided_port_without_a_vnfc_is_kept(self) -> None:
        configs = {"a": {"linkPortId": "p0"}, "b": {"linkPortId": "p1"}}
        outside = ext_link(store_cp=configs)
        inside = msgspec.convert(
            {
                "id": "theirs",
                "vnfVirtualLinkDescId": "inside",
                "resourceId": "net-9",
                "vnfLinkPort": [
                    {
                        "vnfLinkPortId": "p2",
                        "resourceHandle": {"resourceId": "port-2"},
                    }
                ],
            },
            ExtManagedVirtualLinkData,
        )
        found = read(
            Listing().tree(),
            ext_virtual_links=(outside,),
            ext_managed_virtual_links=(inside,),
        )
        (link_info,) = found.ext_virtual_link_info
        self.assertEqual(["req-p1"], [p.id for p in link_info.ext_link_ports])
        kept = connectivity.of_external(link_info)
        self.assertEqual(outside.ext_link_ports, kept.ext_link_ports)
        (managed_info,) = found.ext_managed_virtual_link_info
        kept_inside = connectivity.of_managed(managed_info)
        self.assertEqual(inside.vnf_link_port, kept_inside.vnf_link_port)

    def test_a_provided_port_without_a_configuration_is_dropped(self) -> None:
        link = ext_link(store_cp={"a": {"cpProtocolData": [DYNAMIC]}})
        found = read(
            stack_resources.grouped().tree(), ext_virtual_links=(link,)
        )
        (link_info,) = found.ext_virtual_link_info
        self.assertEqual((), link_info.ext_link_ports)

    def test_internal_ports_are_on_the_externally_managed_link(self) -> None:
        managed = ExtManagedVirtualLinkData(
            id="theirs", vnf_virtual_link_desc_id="inside", resource_id="net-9"
        )
        found = read(
            stack_resources.grouped("first").tree(),
            ext_managed_virtual_links=(managed,),
        )
        self.assertEqual((), found.vnf_virtual_link_resource_info)
        (link_info,) = found.ext_managed_virtual_link_info
        self.assertEqual("net-9", link_info.network_resource.resource_id)
        self.assertEqual(
            {"web_in@first", "store_in@root"},
            {p.id for p in link_info.vnf_link_ports},
        )


class TestAddresses(testtools.TestCase):
    def port(self, mac: Any, *fixed: tuple[str, str]) -> Port:
        ips = [{"ip_address": ip, "subnet_id": subnet} for ip, subnet in fixed]
        return addresses.parse_port(
            {"mac_address": mac, "fixed_ips": ips, "name": "a port"}
        )

    def test_assigned_and_requested_addresses_are_distinguished(self) -> None:
        port = self.port(
            "fa:16:3e:00:00:01",
            ("192.0.2.7", "v4"),
            ("192.0.2.9", "v4"),
            ("2001:db8::1", "v6"),
        )
        link = ext_link(web_cp={"a": {"cpProtocolData": [FIXED]}})
        found = read(
            stack_resources.grouped("first").tree(),
            ports={"web_cp@first": port},
            ext_virtual_links=(link,),
        )
        (ext_cp,) = found.ext_cp_info
        point = found.vnfc_resource_info[0].vnfc_cp_info[0]
        self.assertEqual(ext_cp.cp_protocol_info, point.cp_protocol_info)
        (protocol,) = ext_cp.cp_protocol_info
        ethernet = protocol.ip_over_ethernet
        assert ethernet
        self.assertEqual("fa:16:3e:00:00:01", ethernet.mac_address)
        self.assertEqual(
            [
                ("IPV4", ("192.0.2.7",), False, "v4"),
                ("IPV4", ("192.0.2.9",), True, "v4"),
                ("IPV6", ("2001:db8::1",), True, "v6"),
            ],
            [
                (str(a.type), a.addresses, a.is_dynamic, a.subnet_id)
                for a in ethernet.ip_addresses
            ],
        )

    def test_internal_connection_points_have_addresses(self) -> None:
        port = self.port("fa:16:3e:00:00:02", ("192.168.3.4", "in"))
        found = read(
            stack_resources.grouped("first").tree(),
            ports={"web_in@first": port},
        )
        points = {
            point.cpd_id: point.cp_protocol_info
            for point in found.vnfc_resource_info[0].vnfc_cp_info
        }
        (protocol,) = points["web_in"]
        assert protocol.ip_over_ethernet
        (address,) = protocol.ip_over_ethernet.ip_addresses
        self.assertEqual(("192.168.3.4",), address.addresses)

    def test_attributes_that_are_not_valid_are_ignored(self) -> None:
        for attributes in (
            None,
            {},
            {"fixed_ips": None},
            {"fixed_ips": [{"ip_address": "none"}]},
            {"mac_address": "none"},
        ):
            port = addresses.parse_port(attributes)
            self.assertEqual(Port(), port)
            self.assertEqual((), addresses.protocol_info(port, None))
