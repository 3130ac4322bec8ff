"""Instantiate a VNF (SOL003 5.4.4)."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.lcm import modification
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Vnfd


class Instantiate(Operation[InstantiateVnfRequest]):
    """The VNF gets its first resources."""

    kind = LcmOperationType.INSTANTIATE
    summary = "Instantiate a VNF."
    request_type = InstantiateVnfRequest
    required_state = InstantiationState.NOT_INSTANTIATED
    assigns_vims = True
    hook = "instantiate"

    def desired(
        self,
        request: InstantiateVnfRequest,
        current: State | None,
        vnfd: Vnfd,
        old_vnfd: Vnfd | None = None,
    ) -> State:
        """Return the state of the requested instantiation level.

        :raises UnknownFlavour: the VNFD has no such flavour
        :raises UnknownLevel: the flavour has no such level
        """
        flavour = flavour_of(vnfd, request.flavour_id)
        level = request.instantiation_level_id
        return State(
            flavour_id=flavour.id,
            scale_levels=scaling.scale_levels_of(flavour, level),
            counts=scaling.counts_of_level(flavour, level),
            parameters=request.additional_params,
            localization_language=request.localization_language,
            ext_virtual_links=request.ext_virtual_links,
            ext_managed_virtual_links=request.ext_managed_virtual_links,
        )

    def grant_fields(self, request: InstantiateVnfRequest) -> dict[str, Any]:
        """Return the instantiation level."""
        return {"instantiation_level_id": request.instantiation_level_id}

    def connections_beside_grant(
        self,
        request: InstantiateVnfRequest,
        connections: Mapping[str, VimConnectionInfo],
    ) -> Mapping[str, VimConnectionInfo]:
        """Return the requested connections. A default VIM, which was used
        because the request names none, is dropped.
        """
        own = request.vim_connection_info
        return {key: connections[key] for key in connections if key in own}

    def granted_parameters(
        self, parameters: Mapping[str, Any], granted: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the parameters, overridden by those of the grant."""
        return {**parameters, **granted}

    def finish(
        self,
        request: InstantiateVnfRequest,
        instance: VnfInstance,
        vnfd: Vnfd,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> VnfInstance:
        """Apply the extensions and configurable properties of the request
        (SOL003 5.5.2.4).
        """
        return modification.with_properties(instance, request)
