"""The contents of a GrantRequest by SOL003 9.5.2.2, for each operation."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import grant_plan
from tacker_cnf.lcm.change import current_state
from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    ResourceHandle,
    VnfExtCpConfig,
    VnfExtCpData,
)
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.grant import (
    ConstraintResourceIdType,
    ConstraintResourceRef,
    GrantedLcmOperationType,
    GrantInfo,
    GrantRequest,
    ResourceDefinition,
    ResourceDefinitionType,
)
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeExtVnfConnectivityRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.virtual_link import (
    ExtLinkPortInfo,
    ExtVirtualLinkInfo,
    VnfLinkPortInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import (
    VirtualStorageResourceInfo,
    VnfInstance,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.vnfd.model import (
    AffinityRule,
    ConnectionPoint,
    PublicNames,
    VirtualLink,
    VirtualStorage,
)
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_state,
    a_vdu,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
    an_op_occ,
    desired_state,
)
from tests.unit.lcm.test_granted import a_grant

RUNNING = a_running_instance(
    info=an_info(
        a_vnfc("web-1"),
        a_vnfc("web-2"),
        a_vnfc("agent-1", "agent"),
        levels={"web_aspect": 1},
    )
)
ALL = ["agent agent-1", "web web-1", "web web-2"]
PARAMETERS: dict[str, Any] = {"additional_params": {"colour": "red"}}


def build(
    op: Op, request: SolType, instance: VnfInstance, **flavour: Any
) -> GrantRequest:
    current = current_state(instance)
    simple = a_flavour(**flavour)
    desired = desired_state(request, current, a_vnfd(simple))
    return grant_plan.build(
        an_op_occ(op),
        request,
        instance,
        current,
        desired,
        simple,
        names=ShownNames(vnfd=PublicNames(parameters=("colour",))),
    )


def summaries(resources: tuple[ResourceDefinition, ...]) -> list[str]:
    """Format each resource as its VDU, and its id if it exists."""
    return sorted(
        f"{r.vdu_id} {r.resource.resource_id}" if r.resource else str(r.vdu_id)
        for r in resources
    )


def a_scale(kind: ScaleType, steps: int) -> ScaleVnfRequest:
    return ScaleVnfRequest(
        type=kind, aspect_id="web_aspect", number_of_steps=steps, **PARAMETERS
    )


TERMINATE = TerminateVnfRequest(
    termination_type=TerminationType.FORCEFUL, **PARAMETERS
)
INSTANTIATE = InstantiateVnfRequest(
    flavour_id="simple", instantiation_level_id="busy", **PARAMETERS
)
#: operation, request, instance, added resources, removed resources
CASES: list[tuple[Op, Any, VnfInstance, list[str], list[str]]] = [
    (
        Op.INSTANTIATE,
        INSTANTIATE,
        an_instance(),
        ["agent", "web", "web", "web"],
        [],
    ),
    (
        Op.SCALE,
        a_scale(ScaleType.SCALE_OUT, 2),
        RUNNING,
        ["web", "web"],
        [],
    ),
    (Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), RUNNING, [], ["web web-1"]),
    (
        Op.HEAL,
        HealVnfRequest(vnfc_instance_id=("web-web-2",), **PARAMETERS),
        RUNNING,
        ["web"],
        ["web web-2"],
    ),
    (
        Op.HEAL,
        HealVnfRequest(**PARAMETERS),
        RUNNING,
        ["agent", "web", "web"],
        ALL,
    ),
    (Op.TERMINATE, TERMINATE, RUNNING, [], ALL),
]


class TestBuild(testtools.TestCase):
    def test_added_and_removed_resources(self) -> None:
        for op, request, instance, added, removed in CASES:
            grant = build(op, request, instance)
            self.assertEqual(added, summaries(grant.add_resources), op)
            self.assertEqual(removed, summaries(grant.remove_resources), op)

    def test_attributes_of_each_operation(self) -> None:
        for op, request, instance, *_ in CASES:
            grant = build(op, request, instance)
            self.assertEqual(GrantedLcmOperationType(op), grant.operation)
            self.assertEqual("an-instance", grant.vnf_instance_id)
            self.assertEqual("an-op-occ", grant.vnf_lcm_op_occ_id)
            self.assertEqual("a-vnfd", grant.vnfd_id)
            self.assertEqual("simple", grant.flavour_id)
            self.assertEqual({"colour": "red"}, grant.additional_params)
            self.assertFalse(grant.is_automatic_invocation)
            self.assertEqual(
                "/vnflcm/v2/vnf_lcm_op_occs/an-op-occ",
                grant.links.vnf_lcm_op_occ.href,
            )
            self.assertEqual(
                "/vnflcm/v2/vnf_instances/an-instance",
                grant.links.vnf_instance.href,
            )

    def test_resource_ids_are_unique(self) -> None:
        for op, request, instance, *_ in CASES:
            grant = build(op, request, instance)
            resources = (*grant.add_resources, *grant.remove_resources)
            self.assertEqual(len(resources), len({r.id for r in resources}))
            for resource in resources:
                self.assertEqual(ResourceDefinitionType.COMPUTE, resource.type)
                self.assertEqual(
                    resource.vdu_id, resource.resource_template_id
                )

    def test_only_instantiation_has_a_level(self) -> None:
        levels = {
            op: build(op, request, instance).instantiation_level_id
            for op, request, instance, *_ in CASES
        }
        self.assertEqual("busy", levels.pop(Op.INSTANTIATE))
        self.assertEqual({None}, set(levels.values()))

    def test_a_repeated_grant_request_is_identical(self) -> None:
        for op, request, instance, *_ in CASES:
            self.assertEqual(
                build(op, request, instance), build(op, request, instance)
            )

    def test_parameters_that_are_not_shown_are_left_out(self) -> None:
        parameters = {
            "colour": "red",
            "ki": {"user": "me", "password": "x"},
        }
        request = InstantiateVnfRequest(
            flavour_id="simple", additional_params=parameters
        )
        grant = build(Op.INSTANTIATE, request, an_instance())
        self.assertEqual({"colour": "red"}, grant.additional_params)

    def test_an_instance_that_was_terminated(self) -> None:
        terminated = an_instance(instantiated_vnf_info=an_info())
        self.assertEqual(
            build(Op.INSTANTIATE, INSTANTIATE, an_instance()),
            build(Op.INSTANTIATE, INSTANTIATE, terminated),
        )

    def test_vdus_that_the_desired_state_does_not_have(self) -> None:
        grant = grant_plan.build(
            an_op_occ(Op.SCALE),
            a_scale(ScaleType.SCALE_IN, 1),
            RUNNING,
            current_state(RUNNING),
            a_state(counts={"agent": 1}),
            a_flavour(),
        )
        self.assertEqual(
            ["web web-1", "web web-2"], summaries(grant.remove_resources)
        )
        self.assertEqual((), grant.add_resources)

    def test_a_vdu_with_fewer_vnfcs_than_counted(self) -> None:
        info = an_info(a_vnfc("web-1"), levels={"web_aspect": 1})
        instance = a_running_instance(info=info)
        grant = build(Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), instance)
        self.assertEqual(["web web-1"], summaries(grant.remove_resources))


#: a flavour whose web servers have a disk and a port each
FULL_FLAVOUR: dict[str, Any] = {
    "vdus": {
        "web": msgspec.structs.replace(a_vdu("web"), storages=("disk",)),
        "agent": a_vdu("agent"),
    },
    "storages": {"disk": VirtualStorage(id="disk", kind="BLOCK")},
    "virtual_links": {"inner": VirtualLink(id="inner")},
    "connection_points": {
        "port": ConnectionPoint(id="port", vdu="web", virtual_link="inner")
    },
}
HANDLES = {name: ResourceHandle(resource_id=name) for name in ("p", "d", "n")}
WEB = msgspec.structs.replace(
    a_vnfc("web-1"),
    storage_resource_ids=("disk-1",),
    vnfc_cp_info=(
        VnfcCpInfo(id="cp-1", cpd_id="port", vnf_link_port_id="port-1"),
        VnfcCpInfo(id="cp-2", cpd_id="outside"),
    ),
)
FULL_INFO = an_info(
    WEB,
    a_vnfc("agent-1", "agent"),
    levels={"web_aspect": 1},
    virtual_storage_resource_info=(
        VirtualStorageResourceInfo(
            id="disk-1",
            virtual_storage_desc_id="disk",
            storage_resource=HANDLES["d"],
        ),
    ),
    vnf_virtual_link_resource_info=(
        VnfVirtualLinkResourceInfo(
            id="link-1",
            vnf_virtual_link_desc_id="inner",
            network_resource=HANDLES["n"],
            vnf_link_ports=(
                VnfLinkPortInfo(id="port-1", resource_handle=HANDLES["p"]),
            ),
        ),
    ),
)


def describe_resources(resources: tuple[ResourceDefinition, ...]) -> list[str]:
    """Format each resource as its type, template, VDU, and its id if any."""
    return sorted(
        f"{r.type} {r.resource_template_id} {r.vdu_id or '-'}"
        + (f" {r.resource.resource_id}" if r.resource else "")
        for r in resources
    )


class TestResourcesOfVnfcs(testtools.TestCase):
    """Disks, ports and networks of VNFs that have them."""

    def test_instantiate(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        grant = build(Op.INSTANTIATE, request, an_instance(), **FULL_FLAVOUR)
        self.assertEqual(
            [
                "COMPUTE agent agent",
                "COMPUTE web web",
                "LINKPORT port web",
                "STORAGE disk web",
                "VL inner -",
            ],
            describe_resources(grant.add_resources),
        )

    def test_a_provided_network_is_not_created(self) -> None:
        managed = ExtManagedVirtualLinkData(
            id="m", vnf_virtual_link_desc_id="inner", resource_id="net"
        )
        request = InstantiateVnfRequest(
            flavour_id="simple", ext_managed_virtual_links=(managed,)
        )
        grant = build(Op.INSTANTIATE, request, an_instance(), **FULL_FLAVOUR)
        self.assertNotIn("VL", {r.type for r in grant.add_resources})

    def test_scale_out_creates_no_network(self) -> None:
        instance = a_running_instance(info=FULL_INFO)
        grant = build(
            Op.SCALE, a_scale(ScaleType.SCALE_OUT, 1), instance, **FULL_FLAVOUR
        )
        self.assertEqual(
            ["COMPUTE web web", "LINKPORT port web", "STORAGE disk web"],
            describe_resources(grant.add_resources),
        )

    def test_scale_in(self) -> None:
        instance = a_running_instance(info=FULL_INFO)
        grant = build(
            Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), instance, **FULL_FLAVOUR
        )
        self.assertEqual(
            [
                "COMPUTE web web web-1",
                "LINKPORT port web p",
                "STORAGE disk web d",
            ],
            describe_resources(grant.remove_resources),
        )

    def test_terminate(self) -> None:
        instance = a_running_instance(info=FULL_INFO)
        grant = build(Op.TERMINATE, TERMINATE, instance, **FULL_FLAVOUR)
        self.assertEqual(
            [
                "COMPUTE agent agent agent-1",
                "COMPUTE web web web-1",
                "LINKPORT port web p",
                "STORAGE disk web d",
                "VL inner - n",
            ],
            describe_resources(grant.remove_resources),
        )

    def assert_replaced(self, grant: GrantRequest, *vdus: str) -> None:
        self.assertEqual(
            list(vdus), describe_resources(grant.remove_resources)
        )
        created = [" ".join(vdu.split()[:3]) for vdu in vdus]
        self.assertEqual(created, describe_resources(grant.add_resources))

    def heal(self, *vnfcs: str, **parameters: Any) -> GrantRequest:
        request = HealVnfRequest(
            vnfc_instance_id=vnfcs, additional_params=parameters
        )
        return build(Op.HEAL, request, OUTSIDE, **FULL_FLAVOUR)

    def test_heal_of_servers(self) -> None:
        self.assert_replaced(self.heal("web-1"), "COMPUTE web web web-1")
        self.assert_replaced(
            self.heal(all=False),
            "COMPUTE agent agent agent-1",
            "COMPUTE web web web-1",
        )

    def test_heal_of_servers_and_their_storages(self) -> None:
        self.assert_replaced(
            self.heal("web-1", all=True),
            "COMPUTE web web web-1",
            "STORAGE disk web d",
        )

    def test_heal_of_nothing(self) -> None:
        request = HealVnfRequest(additional_params={"all": True})
        grant = build(Op.HEAL, request, an_instance(), **FULL_FLAVOUR)
        self.assertEqual((), grant.remove_resources)

    def test_heal_of_all(self) -> None:
        self.assert_replaced(
            self.heal(all=True),
            "COMPUTE agent agent agent-1",
            "COMPUTE web web web-1",
            "LINKPORT outside web o",
            "LINKPORT port web p",
            "STORAGE disk web d",
            "VL inner - n",
        )

    def test_ports_that_a_request_provided_stay(self) -> None:
        grant = build(Op.TERMINATE, TERMINATE, OUTSIDE, **FULL_FLAVOUR)
        self.assertIn(
            "LINKPORT outside web o",
            describe_resources(grant.remove_resources),
        )
        provided = instance_with_ext_port(f"{REQUEST_PORT_PREFIX}port-2")
        grant = build(Op.TERMINATE, TERMINATE, provided, **FULL_FLAVOUR)
        templates = {r.resource_template_id for r in grant.remove_resources}
        self.assertNotIn("outside", templates)


def instance_with_ext_port(port: str) -> VnfInstance:
    """Build an instance whose web server has this external port."""
    web = msgspec.structs.replace(
        WEB,
        vnfc_cp_info=(
            WEB.vnfc_cp_info[0],
            VnfcCpInfo(id="cp-2", cpd_id="outside", vnf_ext_cp_id="ext"),
        ),
    )
    link = ExtVirtualLinkInfo(
        id="link",
        resource_handle=ResourceHandle(resource_id="net"),
        ext_link_ports=(
            ExtLinkPortInfo(
                id=port,
                resource_handle=ResourceHandle(resource_id="o"),
                cp_instance_id="ext",
            ),
        ),
        current_vnf_ext_cp_data=(
            VnfExtCpData(
                cpd_id="outside",
                cp_config={"a": VnfExtCpConfig(link_port_id="x")},
            ),
        ),
    )
    info = msgspec.structs.replace(
        FULL_INFO,
        vnfc_resource_info=(web, *FULL_INFO.vnfc_resource_info[1:]),
        ext_virtual_link_info=(link,),
    )
    return a_running_instance(info=info)


OUTSIDE = instance_with_ext_port("port-2")


class TestPackageChange(testtools.TestCase):
    """A package that adds a VDU, a storage, a port and a link."""

    def setUp(self) -> None:
        super().setUp()
        former = msgspec.structs.replace(
            a_flavour(**FULL_FLAVOUR),
            connection_points={
                **FULL_FLAVOUR["connection_points"],
                "outside": ConnectionPoint(id="outside", vdu="web"),
            },
        )
        web = msgspec.structs.replace(
            former.vdus["web"], storages=("disk", "log")
        )
        points = {
            "outside": ConnectionPoint(id="outside", vdu="web"),
            "second": ConnectionPoint(id="second", vdu="web"),
            "meter_cp": ConnectionPoint(id="meter_cp", vdu="meter"),
        }
        self.former = former
        self.new_flavour = msgspec.structs.replace(
            former,
            vdus={**former.vdus, "web": web, "meter": a_vdu("meter")},
            storages={
                **former.storages,
                "log": VirtualStorage(id="log", kind="BLOCK"),
            },
            virtual_links={"other": VirtualLink(id="other")},
            connection_points=points,
            initial_deltas={"meter": 2},
        )

    def planned_vdus(self, *vdus: str) -> tuple[list[str], list[str]]:
        """Return the added and the removed resources."""
        additional_params = {"vdu_params": [{"vdu_id": vdu} for vdu in vdus]}
        request = ChangeCurrentVnfPkgRequest(
            vnfd_id="next", additional_params=additional_params if vdus else {}
        )
        current = current_state(OUTSIDE)
        desired = desired_state(
            request, current, a_vnfd(self.new_flavour), a_vnfd(self.former)
        )
        grant = grant_plan.build(
            an_op_occ(Op.CHANGE_VNFPKG),
            request,
            OUTSIDE,
            current,
            desired,
            self.former,
            new_flavour=self.new_flavour,
        )
        self.assertEqual("next", grant.dst_vnfd_id)
        self.assertEqual((), grant.placement_constraints)
        return describe_resources(grant.add_resources), describe_resources(
            grant.remove_resources
        )

    def test_all_vdus(self) -> None:
        added, removed = self.planned_vdus()
        self.assertEqual(
            [
                "COMPUTE agent agent",
                "COMPUTE meter meter",
                "COMPUTE meter meter",
                "COMPUTE web web",
                "LINKPORT meter_cp meter",
                "LINKPORT meter_cp meter",
                "LINKPORT second web",
                "STORAGE disk web",
                "STORAGE log web",
                "VL other -",
            ],
            added,
        )
        self.assertEqual(
            [
                "COMPUTE agent agent agent-1",
                "COMPUTE web web web-1",
                "LINKPORT port web p",
                "STORAGE disk web d",
                "VL inner - n",
            ],
            removed,
        )

    def test_one_vdu(self) -> None:
        added, removed = self.planned_vdus("agent")
        self.assertEqual(
            [
                "COMPUTE agent agent",
                "COMPUTE meter meter",
                "COMPUTE meter meter",
                "LINKPORT meter_cp meter",
                "LINKPORT meter_cp meter",
                "VL other -",
            ],
            added,
        )
        self.assertEqual(
            ["COMPUTE agent agent agent-1", "VL inner - n"], removed
        )


def a_rule(kind: str, scope: str, *targets: str) -> AffinityRule:
    return AffinityRule(id="rule", kind=kind, scope=scope, targets=targets)


def describe_constraints(
    grant: GrantRequest,
) -> list[tuple[str, str, list[str]]]:
    """Return the kind, the scope and the resources of each constraint."""
    vdus = {r.id: f"new {r.resource_template_id}" for r in grant.add_resources}
    return [
        (
            str(constraint.affinity_or_anti_affinity),
            str(constraint.scope),
            [
                vdus.get(r.resource_id, r.resource_id)
                for r in constraint.resource
            ],
        )
        for constraint in grant.placement_constraints
    ]


BUSY = InstantiateVnfRequest(
    flavour_id="simple", instantiation_level_id="busy"
)
OUT = a_scale(ScaleType.SCALE_OUT, 1)
ANTI_AFFINITY = a_rule("ANTI_AFFINITY", "ZONE", "web")
#: operation, request, instance, rule, resources of the constraint
RULES: list[tuple[Op, Any, VnfInstance, AffinityRule, list[str]]] = [
    (Op.INSTANTIATE, BUSY, an_instance(), ANTI_AFFINITY, ["new web"] * 3),
    (
        Op.INSTANTIATE,
        BUSY,
        an_instance(),
        a_rule("AFFINITY", "NFVI_NODE", "group"),
        ["new web", "new web", "new web", "new agent"],
    ),
    (
        Op.INSTANTIATE,
        BUSY,
        an_instance(),
        a_rule("AFFINITY", "NFVI_POP", "agent"),
        [],  # a single resource
    ),
    (
        Op.INSTANTIATE,
        BUSY,
        an_instance(),
        a_rule("AFFINITY", "NETWORK_LINK_AND_NODE", "web"),
        [],  # a scope that SOL003 does not have
    ),
    (Op.SCALE, OUT, RUNNING, ANTI_AFFINITY, ["new web", "web-1", "web-2"]),
    (Op.SCALE, a_scale(ScaleType.SCALE_IN, 1), RUNNING, ANTI_AFFINITY, []),
    (Op.HEAL, HealVnfRequest(), RUNNING, ANTI_AFFINITY, []),
    (Op.TERMINATE, TERMINATE, RUNNING, ANTI_AFFINITY, []),
]


class TestPlacement(testtools.TestCase):
    def test_each_rule_is_applied(self) -> None:
        link_rule = a_rule("AFFINITY", "NFVI_POP", "web", "inner")
        rules = (
            a_rule("AFFINITY", "NETWORK_LINK_AND_NODE", "web"),
            a_rule("AFFINITY", "ZONE", "agent"),
            ANTI_AFFINITY,
            link_rule,
        )
        flavour = {**FULL_FLAVOUR, "affinity_rules": rules}
        grant = build(Op.INSTANTIATE, BUSY, an_instance(), **flavour)
        self.assertEqual(
            {None},
            {c.fallback_best_effort for c in grant.placement_constraints},
        )
        webs = ["new web"] * 3
        self.assertEqual(
            [
                (ANTI_AFFINITY.kind, ANTI_AFFINITY.scope, webs),
                (link_rule.kind, link_rule.scope, [*webs, "new inner"]),
            ],
            describe_constraints(grant),
        )

    def test_affinity_rules_become_constraints(self) -> None:
        for op, request, instance, rule, resources in RULES:
            grant = build(
                op,
                request,
                instance,
                affinity_rules=(rule,),
                placement_groups={"group": ("web", "agent")},
            )
            expected = (
                [(rule.kind, rule.scope, resources)] if resources else []
            )
            self.assertEqual(
                expected, describe_constraints(grant), f"{op} {rule}"
            )

    def test_a_best_effort_constraint_is_marked(self) -> None:
        flavour = a_flavour(affinity_rules=(ANTI_AFFINITY,))
        current = current_state(RUNNING)
        desired = desired_state(OUT, current, a_vnfd(flavour))
        for best_effort, expected in ((True, True), (False, None)):
            grant = grant_plan.build(
                an_op_occ(Op.SCALE),
                OUT,
                RUNNING,
                current,
                desired,
                flavour,
                best_effort=best_effort,
            )
            (rule,) = grant.placement_constraints
            self.assertIs(expected, rule.fallback_best_effort)

    def test_existing_resources_are_named_by_their_vim_id(self) -> None:
        grant = build(Op.SCALE, OUT, RUNNING, affinity_rules=(ANTI_AFFINITY,))
        (constraint,) = grant.placement_constraints
        self.assertEqual(
            ["GRANT", "RES_MGMT", "RES_MGMT"],
            [str(resource.id_type) for resource in constraint.resource],
        )

    def test_existing_resources_have_their_vim(self) -> None:
        handle = ResourceHandle(
            resource_id="r", vim_connection_id="v", resource_provider_id="p"
        )
        web = msgspec.structs.replace(a_vnfc(), compute_resource=handle)
        running = a_running_instance(
            info=an_info(web, levels={"web_aspect": 0})
        )
        grant = build(Op.SCALE, OUT, running, affinity_rules=(ANTI_AFFINITY,))
        (constraint,) = grant.placement_constraints
        self.assertEqual(
            ConstraintResourceRef(
                id_type=ConstraintResourceIdType.RES_MGMT,
                resource_id="r",
                vim_connection_id="v",
                resource_provider_id="p",
            ),
            constraint.resource[1],
        )


class TestCheckGranted(testtools.TestCase):
    """A grant has to have all resources that were requested."""

    def test_missing_resources(self) -> None:
        def resource(id_: str) -> ResourceDefinition:
            return ResourceDefinition(
                id=id_,
                type=ResourceDefinitionType.COMPUTE,
                resource_template_id="web",
            )

        request = msgspec.structs.replace(
            build(Op.TERMINATE, TERMINATE, an_instance()),
            add_resources=(resource("a"), resource("b")),
            remove_resources=(resource("c"),),
            update_resources=(resource("d"),),
        )
        kinds = ("add", "add", "remove", "update")
        for missing in ("", "a", "b", "c", "d", "ad", "abcd"):
            infos: dict[str, Any] = {}
            for kind, id_ in zip(kinds, "abcd", strict=True):
                if id_ not in missing:
                    info = GrantInfo(resource_definition_id=id_)
                    found = infos.setdefault(f"{kind}_resources", [])
                    found.append(info)
            grant = msgspec.structs.replace(a_grant(), **infos)
            if not missing:
                grant_plan.check_granted(request, grant)
                continue
            error = self.assertRaises(
                errors.GrantRejected, grant_plan.check_granted, request, grant
            )
            self.assertEqual(
                f"The NFVO granted {4 - len(missing)} of 4 requested "
                "resources.",
                str(error),
            )


class TestConnectivity(testtools.TestCase):
    def moved(
        self, port_id: str, *provided: str
    ) -> tuple[GrantRequest, ExtLinkPortInfo]:
        """Move a connection point to a requested port; return the grant
        request and the old port.
        """
        point = VnfcCpInfo(
            id="web_cp-web-1", cpd_id="web_cp", vnf_ext_cp_id="cp-p1"
        )
        other = VnfcCpInfo(id="in-web-1", cpd_id="web_in")
        web = msgspec.structs.replace(
            a_vnfc("web-1"), vnfc_cp_info=(point, other)
        )
        link = msgspec.convert(
            {
                "id": "outside",
                "resourceId": "net",
                "extCps": [
                    {"cpdId": "web_cp", "cpConfig": {"a": {"linkPortId": "x"}}}
                ],
                "extLinkPorts": [
                    {"id": id_, "resourceHandle": {"resourceId": id_}}
                    for id_ in provided
                ],
            },
            ExtVirtualLinkData,
        )
        port = ExtLinkPortInfo(
            id=port_id,
            resource_handle=ResourceHandle(resource_id="p1"),
            cp_instance_id="cp-p1",
        )
        running = a_running_instance(
            info=an_info(
                web,
                a_vnfc("agent-1", "agent"),
                ext_virtual_link_info=(
                    ExtVirtualLinkInfo(
                        id="outside",
                        resource_handle=ResourceHandle(resource_id="old"),
                        ext_link_ports=(port,),
                        current_vnf_ext_cp_data=link.ext_cps,
                    ),
                ),
            )
        )
        grant = build(
            Op.CHANGE_EXT_CONN,
            ChangeExtVnfConnectivityRequest(ext_virtual_links=(link,)),
            running,
            connection_points={
                "web_cp": ConnectionPoint(
                    id="web_cp", vdu="web", external=True
                )
            },
        )
        return grant, port

    def test_moved_ports_and_their_servers(self) -> None:
        grant, port = self.moved("p1")
        (added,) = grant.add_resources
        (removed,) = grant.remove_resources
        (updated,) = grant.update_resources
        kind = ResourceDefinitionType
        self.assertEqual(
            [kind.LINKPORT, kind.LINKPORT, kind.COMPUTE],
            [r.type for r in (added, removed, updated)],
        )
        self.assertIsNone(added.resource)
        self.assertEqual(port.resource_handle, removed.resource)
        web = a_vnfc("web-1")
        self.assertEqual(web.compute_resource, updated.resource)

    def test_provided_ports_are_left_out(self) -> None:
        grant, _ = self.moved(f"{REQUEST_PORT_PREFIX}p1")
        self.assertEqual((), grant.remove_resources)
        self.assertEqual(1, len(grant.add_resources))
        grant, _ = self.moved("p1", "x")
        self.assertEqual((), grant.add_resources)
        self.assertEqual(1, len(grant.remove_resources))
