"""Change the deployment flavour of a VNF (SOL003 5.4.7)."""

from collections.abc import Mapping

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import (
    grant_resources,
    modification,
)
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.operations.base import (
    GrantChanges,
    Modifications,
    Operation,
    reconfigured,
)
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import ChangeVnfFlavourRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour, Vnfd


class ChangeFlavour(Operation[ChangeVnfFlavourRequest]):
    """The VNF gets the VDUs of another flavour of its VNFD."""

    kind = LcmOperationType.CHANGE_FLAVOUR
    summary = "Change the deployment flavour of a VNF."
    request_type = ChangeVnfFlavourRequest
    hook = "change_flavour"
    requires_started = True

    def changed(
        self,
        request: ChangeVnfFlavourRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the state of an instantiation level of the flavour, with the
        links and parameters of the current one.

        :raises UnknownFlavour: the VNFD has no such flavour
        :raises UnknownLevel: the flavour has no such level
        :raises InvalidParameters: the VNF has the flavour already, or a
            connection point does not exist
        """
        flavour = flavour_of(vnfd, request.new_flavour_id, "newFlavourId")
        if flavour.id == current.flavour_id:
            raise errors.InvalidParameters(
                f"newFlavourId: the VNF has the flavour {flavour.id} already."
            )
        level = request.instantiation_level_id
        old_flavour = flavour_of(vnfd, current.flavour_id)
        expected = scaling.counts_at(old_flavour, current.scale_levels)
        counts = {
            vdu: current.counts.get(vdu, 0) for vdu in flavour.vdus
        } | scaling.counts_set_by_level(flavour, level, expected)
        return msgspec.structs.replace(
            reconfigured(current, request, flavour),
            flavour_id=flavour.id,
            scale_levels=scaling.scale_levels_of(flavour, level),
            counts=counts,
        )

    def grant_changes(
        self,
        request: ChangeVnfFlavourRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the servers or pods of VDUs that the flavours describe
        differently, and the links that only one of them has.
        """
        info = instance.instantiated_vnf_info
        managed = request.ext_managed_virtual_links
        return GrantChanges(
            add=[
                link
                for link in grant_resources.new_links(new_flavour, managed)
                if link.template not in old_flavour.virtual_links
            ],
            remove=[
                link
                for link in (grant_resources.links_of(info) if info else ())
                if link.template not in new_flavour.virtual_links
            ],
            update=[
                grant_resources.compute_of(vnfc)
                for vnfc in (info.vnfc_resource_info if info else ())
                if vnfc.vdu_id in new_flavour.vdus
                and new_flavour.vdus[vnfc.vdu_id]
                != old_flavour.vdus.get(vnfc.vdu_id)
            ],
        )

    def finish(
        self,
        request: ChangeVnfFlavourRequest,
        instance: VnfInstance,
        vnfd: Vnfd,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> VnfInstance:
        """Apply the extensions and configurable properties of the request
        (SOL003 5.5.2.7).
        """
        return modification.with_properties(instance, request)

    def modifications(
        self, before: VnfInstance, after: VnfInstance
    ) -> Modifications:
        """Return the changed attributes of the instance, and its external
        links, if they have changed.
        """
        infos = before.instantiated_vnf_info, after.instantiated_vnf_info
        old, new = (
            info.ext_virtual_link_info if info else () for info in infos
        )
        return Modifications(
            changed_info=modification.changed(before, after),
            changed_ext_connectivity=new if new != old else None,
        )
