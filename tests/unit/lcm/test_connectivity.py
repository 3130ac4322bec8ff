from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import connectivity
from tacker_cnf.sol.common import (
    ExtLinkPortData,
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    ResourceHandle,
    VnfLinkPortData,
)
from tacker_cnf.sol.virtual_link import (
    ExtLinkPortInfo,
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfLinkPortInfo,
)
from tacker_cnf.vnfd.model import ConnectionPoint
from tests.factories import a_flavour

DYNAMIC = {
    "cpProtocolData": [
        {
            "layerProtocol": "IP_OVER_ETHERNET",
            "ipOverEthernet": {
                "ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]
            },
        }
    ]
}


def a_link(link_id: str, **points: Any) -> ExtVirtualLinkData:
    """Build a link; points: connection point -> key -> configuration."""
    return msgspec.convert(
        {
            "id": link_id,
            "resourceId": f"network of {link_id}",
            "extCps": [
                {"cpdId": name, "cpConfig": configs}
                for name, configs in points.items()
            ],
        },
        ExtVirtualLinkData,
    )


def keys_by_link(links: tuple[ExtVirtualLinkData, ...]) -> dict[str, Any]:
    """Return link -> connection point -> its keys."""
    return {
        link.id: {cp.cpd_id: list(cp.cp_config) for cp in link.ext_cps}
        for link in links
    }


class TestLimited(testtools.TestCase):
    def test_connection_points_of_another_flavour(self) -> None:
        links = (
            a_link("one", web_cp={"a": DYNAMIC}, old_cp={"a": DYNAMIC}),
            a_link("two", old_cp={"a": DYNAMIC}),
        )
        point = ConnectionPoint(id="web_cp", external=True)
        flavour = a_flavour(connection_points={"web_cp": point})
        self.assertEqual(
            (a_link("one", web_cp={"a": DYNAMIC}),),
            connectivity.limited(links, flavour),
        )


class TestChanged(testtools.TestCase):
    def test_a_connection_point_moves_and_the_others_stay(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC}, store={"b": DYNAMIC}),)
        requested = (a_link("two", web={"a": DYNAMIC}),)
        self.assertEqual(
            {"one": {"store": ["b"]}, "two": {"web": ["a"]}},
            keys_by_link(connectivity.changed(current, requested)),
        )

    def test_a_link_without_connection_points_is_removed(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC}),)
        requested = (a_link("two", web={"a": DYNAMIC}),)
        self.assertEqual(
            {"two": {"web": ["a"]}},
            keys_by_link(connectivity.changed(current, requested)),
        )

    def test_the_network_of_a_link_changes(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC}, store={"b": DYNAMIC}),)
        requested = (
            msgspec.structs.replace(
                a_link("one", web={"a": DYNAMIC}), resource_id="another"
            ),
        )
        (link,) = connectivity.changed(current, requested)
        self.assertEqual("another", link.resource_id)
        self.assertEqual({"web", "store"}, {c.cpd_id for c in link.ext_cps})

    def test_configurations_are_a_merge_patch(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC, "b": DYNAMIC}),)
        requested = (a_link("one", web={"b": None, "c": DYNAMIC}),)
        self.assertEqual(
            {"one": {"web": ["c", "a"]}},
            keys_by_link(connectivity.changed(current, requested)),
        )

    def test_an_empty_request_changes_nothing(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC}),)
        self.assertEqual(current, connectivity.changed(current, ()))

    def test_current_links_can_be_requested_again(self) -> None:
        link = a_link("one", web={"a": DYNAMIC})
        handle = ResourceHandle(resource_id="theirs")
        info = ExtVirtualLinkInfo(
            id="one",
            resource_handle=ResourceHandle(
                vim_connection_id="vim1",
                resource_provider_id="provider",
                resource_id=link.resource_id,
            ),
            ext_link_ports=(
                ExtLinkPortInfo(id="req-p1", resource_handle=handle),
                ExtLinkPortInfo(
                    id="of-heat",
                    resource_handle=ResourceHandle(resource_id="x"),
                ),
            ),
            current_vnf_ext_cp_data=link.ext_cps,
        )
        self.assertEqual(
            msgspec.structs.replace(
                link,
                vim_connection_id="vim1",
                resource_provider_id="provider",
                ext_link_ports=(
                    ExtLinkPortData(id="p1", resource_handle=handle),
                ),
            ),
            connectivity.of_external(info),
        )

    def test_current_managed_links_can_be_requested_again(self) -> None:
        handle = ResourceHandle(resource_id="theirs")
        info = ExtManagedVirtualLinkInfo(
            id="one",
            vnf_virtual_link_desc_id="inner",
            network_resource=ResourceHandle(
                vim_connection_id="vim1",
                resource_provider_id="provider",
                resource_id="net",
            ),
            vnf_link_ports=(
                VnfLinkPortInfo(id="req-p1", resource_handle=handle),
                VnfLinkPortInfo(
                    id="of-heat",
                    resource_handle=ResourceHandle(resource_id="x"),
                ),
            ),
            ext_managed_multisite_virtual_link_id="multi",
        )
        self.assertEqual(
            ExtManagedVirtualLinkData(
                id="one",
                vnf_virtual_link_desc_id="inner",
                vim_connection_id="vim1",
                resource_provider_id="provider",
                resource_id="net",
                vnf_link_port=(
                    VnfLinkPortData(
                        vnf_link_port_id="p1", resource_handle=handle
                    ),
                ),
                ext_managed_multisite_virtual_link_id="multi",
            ),
            connectivity.of_managed(info),
        )

    def test_ports_of_a_link_are_merged(self) -> None:
        def link(**ports: str) -> ExtVirtualLinkData:
            return msgspec.structs.replace(
                a_link("one", web={"a": {"linkPortId": "p1"}}),
                ext_link_ports=tuple(
                    ExtLinkPortData(
                        id=port,
                        resource_handle=ResourceHandle(resource_id=resource),
                    )
                    for port, resource in ports.items()
                ),
            )

        current, requested = link(p1="old", p2="old"), link(p2="new", p3="new")
        (found,) = connectivity.changed((current,), (requested,))
        self.assertEqual(
            link(p1="old", p2="new", p3="new").ext_link_ports,
            found.ext_link_ports,
        )

    def test_a_point_without_configurations_is_removed(self) -> None:
        current = (a_link("one", web={"a": DYNAMIC}, store={"b": DYNAMIC}),)
        requested = (a_link("one", web={"a": None}),)
        self.assertEqual(
            {"one": {"store": ["b"]}},
            keys_by_link(connectivity.changed(current, requested)),
        )


class TestCheck(testtools.TestCase):
    def test_an_unknown_connection_point_is_rejected(self) -> None:
        flavour = a_flavour(
            connection_points={
                "web_cp": ConnectionPoint(id="web_cp", external=True),
                "inner_cp": ConnectionPoint(id="inner_cp"),
            }
        )
        current = (a_link("one", web_cp={"a": DYNAMIC}),)
        connectivity.check(current, flavour)
        error = self.assertRaises(
            errors.InvalidParameters,
            connectivity.check,
            (a_link("one", web={"a": DYNAMIC}),),
            flavour,
        )
        self.assertIn(
            "flavour simple has no connection point 'web', only web_cp.",
            str(error),
        )
        error = self.assertRaises(
            errors.InvalidParameters, connectivity.check, current, a_flavour()
        )
        self.assertIn("no connection point 'web_cp', only none.", str(error))
