"""Overrides of an operation by its grant."""

from collections.abc import Mapping
from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import grant_overrides, grant_plan
from tacker_cnf.lcm.change import Change, State
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.lcm.operations.instantiate import Instantiate
from tacker_cnf.lcm.operations.scale import Scale
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    VimConnectionInfo,
    VnfExtCpConfig,
    VnfExtCpData,
)
from tacker_cnf.sol.grant import (
    Grant,
    GrantRequest,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tacker_cnf.sol.lcm_request import (
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
)
from tests.factories import (
    a_flavour,
    a_state,
    an_instance,
    an_op_occ,
    operation_of,
)

SCALE = ScaleVnfRequest(
    type=ScaleType.SCALE_OUT,
    aspect_id="web_aspect",
    additional_params={"a": 1, "b": 2},
)
LINK = ExtVirtualLinkData(
    id="outside",
    resource_id="net",
    ext_cps=(
        VnfExtCpData(
            cpd_id="cp", cp_config={"c": VnfExtCpConfig(link_port_id="p")}
        ),
    ),
)
MANAGED = ExtManagedVirtualLinkData(
    id="m", vnf_virtual_link_desc_id="inner", resource_id="net"
)


def a_vim(**fields: Any) -> VimConnectionInfo:
    return VimConnectionInfo(**{"vim_type": "fake"} | fields)


def a_grant(**fields: Any) -> Grant:
    links = {
        name: {"href": "x"} for name in ("self", "vnfLcmOpOcc", "vnfInstance")
    }
    usual = {"id": "g", "vnfInstanceId": "i", "vnfLcmOpOccId": "o"}
    grant = msgspec.convert(usual | {"_links": links}, Grant)
    return msgspec.structs.replace(grant, **fields)


def instantiate(**vims: VimConnectionInfo) -> InstantiateVnfRequest:
    return InstantiateVnfRequest(
        flavour_id="simple",
        vim_connection_info=vims,
        additional_params={"a": 1, "b": 2},
    )


HERE, THERE = a_vim(vim_id="here"), a_vim(vim_id="there")
SECRET = {"password": "x"}
#: request, chosen connections, granted connections, expected connections
VIMS: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (instantiate(v=HERE), {"v": HERE}, {}, {"v": HERE}),
    (instantiate(), {}, {"n": THERE}, {"n": THERE}),
    (instantiate(), {"default": HERE}, {}, {"default": HERE}),
    (instantiate(), {"default": HERE}, {"n": THERE}, {"n": THERE}),
    (
        instantiate(default=HERE),
        {"default": HERE},
        {"n": THERE},
        {"default": HERE, "n": THERE},
    ),
    (instantiate(v=HERE), {"v": HERE}, {"v": THERE}, {"v": THERE}),
    (
        instantiate(v=HERE),
        {"v": a_vim(vim_id="here", access_info=SECRET)},
        {"v": a_vim(vim_id="here", extra={"more": 1})},
        {"v": a_vim(vim_id="here", access_info=SECRET, extra={"more": 1})},
    ),
    # a running instance keeps its VIM
    (
        SCALE,
        {"v": HERE},
        {"v": a_vim(extra={"a": 1})},
        {"v": a_vim(vim_id="here", extra={"a": 1})},
    ),
    (SCALE, {"default": HERE}, {"n": THERE}, {"default": HERE, "n": THERE}),
]


def vim_connections(
    request: SolType,
    chosen: Mapping[str, VimConnectionInfo],
    grant: Grant | None,
) -> Mapping[str, VimConnectionInfo]:
    return grant_overrides.vim_connections(
        operation_of(request), request, chosen, grant
    )


class TestVims(testtools.TestCase):
    def test_granted_connections_override_chosen_ones(self) -> None:
        for request, chosen, granted_vims, expected in VIMS:
            grant = a_grant(vim_connection_info=granted_vims)
            found = vim_connections(request, chosen, grant)
            self.assertEqual(expected, found, f"{chosen} {granted_vims}")

    def test_credentials_are_not_sent_to_a_granted_address(self) -> None:
        here = {"endpoint": "here"}
        chosen = {"v": a_vim(interface_info=here, access_info=SECRET)}
        interface_info = {"endpoint": "there"}
        for request in (instantiate(**chosen), SCALE):
            for moved in (
                a_vim(interface_info=interface_info),
                a_vim(vim_id="there"),
                VimConnectionInfo(vim_type="other"),
            ):
                error = self.assertRaises(
                    errors.InvalidVimConnection,
                    vim_connections,
                    request,
                    chosen,
                    a_grant(vim_connection_info={"v": moved}),
                )
                self.assertIn("include accessInfo, too", str(error))
            own = a_vim(
                interface_info=interface_info, access_info={"token": "t"}
            )
            grant = a_grant(vim_connection_info={"v": own})
            found = vim_connections(request, chosen, grant)
            self.assertEqual({"v": own}, found)
            # a conductor that takes over applies the grant again
            again = vim_connections(request, found, grant)
            self.assertEqual({"v": own}, again)

    def test_without_a_grant_chosen_connections_are_used(self) -> None:
        chosen = {"v": HERE}
        found = vim_connections(instantiate(), chosen, None)
        self.assertEqual(chosen, found)


def granted_change(
    operation: Operation[Any],
    desired: State | None,
    grant: Grant | None,
    **parameters: Any,
) -> Change:
    requested = Change(current=None, desired=desired, parameters=parameters)
    return grant_overrides.change(operation, requested, grant)


class TestChange(testtools.TestCase):
    def test_parameters_are_kept_at_instantiation(self) -> None:
        grant = a_grant(additional_params={"a": 3, "c": 4})
        desired = a_state(parameters={"a": 1, "b": 2})
        found = granted_change(Instantiate(), desired, grant).desired
        assert found
        self.assertEqual({"a": 3, "b": 2, "c": 4}, found.parameters)

    def test_later_parameters_apply_to_their_operation_only(self) -> None:
        grant = a_grant(additional_params={"a": 3})
        desired = a_state(parameters={"kept": True})
        found = granted_change(Scale(), desired, grant, a=1, b=2)
        assert found.desired
        self.assertEqual({"kept": True}, found.desired.parameters)
        self.assertEqual({"a": 3, "b": 2}, found.parameters)
        ungranted = granted_change(Scale(), desired, None, a=1, b=2)
        self.assertEqual({"a": 1, "b": 2}, ungranted.parameters)

    def test_granted_networks_override_requested_ones(self) -> None:
        desired = a_state(
            ext_virtual_links=(LINK,), ext_managed_virtual_links=(MANAGED,)
        )
        found = granted_change(Instantiate(), desired, a_grant()).desired
        self.assertEqual(desired, found)
        other = msgspec.structs.replace(LINK, resource_id="other")
        managed = msgspec.structs.replace(MANAGED, resource_id="other")
        grant = a_grant(
            ext_virtual_links=(other,), ext_managed_virtual_links=(managed,)
        )
        found = granted_change(Instantiate(), desired, grant).desired
        assert found
        self.assertEqual((other,), found.ext_virtual_links)
        self.assertEqual((managed,), found.ext_managed_virtual_links)

    def test_nothing_is_left_after_terminate(self) -> None:
        self.assertIsNone(granted_change(Scale(), None, a_grant()).desired)


class TestHasOverrides(testtools.TestCase):
    def test_each_attribute_that_a_driver_uses_counts(self) -> None:
        for fields in (
            {"vim_connection_info": {"v": HERE}},
            {"additional_params": {"a": 1}},
            {"ext_virtual_links": (LINK,)},
            {"ext_managed_virtual_links": (MANAGED,)},
        ):
            self.assertTrue(grant_overrides.has_overrides(a_grant(**fields)))
        self.assertFalse(grant_overrides.has_overrides(a_grant()))
        self.assertFalse(grant_overrides.has_overrides(None))


class TestZones(testtools.TestCase):
    """The zones and the VIMs of added VNFCs."""

    def request(self) -> GrantRequest:
        return grant_plan.build(
            an_op_occ(),
            instantiate(),
            an_instance(),
            None,
            a_state(counts={"web": 3, "agent": 1}),
            a_flavour(),
        )

    def zones(self, *zone_ids: str | None, **more: Any) -> Any:
        """Grant each resource in a zone, and return the driver's zones."""
        request = self.request()
        infos = [
            {"resourceDefinitionId": resource.id}
            | ({"zoneId": zone} if zone else {})
            for resource, zone in zip(
                request.add_resources, zone_ids, strict=True
            )
        ]
        grant_dict = (
            msgspec.to_builtins(a_grant()) | {"addResources": infos} | more
        )
        return grant_overrides.zones(
            request, msgspec.convert(grant_dict, Grant)
        )

    def test_each_vnfc_has_its_zone(self) -> None:
        zones = [
            {"id": "here", "zoneId": "nova-1"},
            {"id": "there", "zoneId": "nova-2"},
        ]
        self.assertEqual(
            {"web": ("nova-1", "nova-2"), "agent": ("nova-2",)},
            self.zones("here", "there", None, "there", zones=zones),
        )

    def test_an_undescribed_zone_is_a_vim_zone(self) -> None:
        found = self.zones("nova", None, None, None)
        self.assertEqual({"web": ("nova",)}, found)

    def test_no_zones(self) -> None:
        self.assertEqual({}, self.zones(None, None, None, None))
        self.assertEqual({}, grant_overrides.zones(None, None))
        self.assertEqual({}, grant_overrides.zones(self.request(), None))

    def mixed(self, *infos: dict[str, str]) -> tuple[GrantRequest, Grant]:
        """Grant a network, a VNFC of no VDU and two web servers."""
        kind = ResourceDefinitionType
        resources = tuple(
            ResourceDefinition(
                id=str(number),
                type=type_,
                vdu_id=vdu,
                resource_template_id="x",
            )
            for number, (type_, vdu) in enumerate(
                [
                    (kind.LINKPORT, "web"),
                    (kind.COMPUTE, None),
                    (kind.COMPUTE, "web"),
                    (kind.COMPUTE, "web"),
                ]
            )
        )
        request = msgspec.structs.replace(
            self.request(), add_resources=resources
        )
        granted = [
            {"resourceDefinitionId": str(number)} | info
            for number, info in enumerate(infos)
        ]
        grant = msgspec.to_builtins(a_grant()) | {"addResources": granted}
        return request, msgspec.convert(grant, Grant)

    def test_only_vnfcs_have_zones(self) -> None:
        request, grant = self.mixed(*({"zoneId": n} for n in "abcd"))
        self.assertEqual(
            {"web": ("c", "d")}, grant_overrides.zones(request, grant)
        )

    def test_the_vims_of_each_vdu(self) -> None:
        ids = ({"vimConnectionId": name} for name in "abcd")
        request, grant = self.mixed(*ids)
        by_vdu = grant_overrides.vim_connections_by_vdu
        self.assertEqual({"web": {"c", "d"}}, by_vdu(request, grant))
        request, grant = self.mixed({}, {}, {}, {"vimConnectionId": "d"})
        self.assertEqual({"web": {"d"}}, by_vdu(request, grant))
        self.assertEqual({}, by_vdu(*self.mixed({}, {}, {}, {})))
        self.assertEqual({}, by_vdu(*self.mixed()))
        self.assertEqual({}, by_vdu(request, None))
        self.assertEqual({}, by_vdu(None, grant))
