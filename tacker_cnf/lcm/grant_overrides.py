"""The values of a grant that override those of a request (SOL003 9.5.2.3)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tacker_cnf.lcm import vim_connection_patch
from tacker_cnf.lcm.change import Change
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest, ResourceDefinitionType

Connections = Mapping[str, VimConnectionInfo]


def has_overrides(grant: Grant | None) -> bool:
    """Check whether a grant overrides values that the driver receives."""
    return grant is not None and any(
        (
            grant.vim_connection_info,
            grant.additional_params,
            grant.ext_virtual_links,
            grant.ext_managed_virtual_links,
        )
    )


def vim_connections(
    operation: Operation[Any],
    request: SolType,
    chosen: Connections,
    grant: Grant | None,
) -> Connections:
    """Return the VIM connections that a granted operation uses, by key.

    The grant's connections are applied to the chosen ones as a JSON merge
    patch.

    :raises InvalidVimConnection: an entry is incomplete, or sends the
        request's credentials to another address
    """
    if grant is None or not grant.vim_connection_info:
        return chosen
    overrides = msgspec.to_builtins(grant.vim_connection_info)
    return vim_connection_patch.patched(
        operation.connections_beside_grant(request, chosen), overrides
    )


def parameters(
    requested: Mapping[str, Any], grant: Grant | None
) -> Mapping[str, Any]:
    """Merge additionalParams of a request and its grant; the grant's take
    precedence.
    """
    return {**requested, **grant.additional_params} if grant else requested


def change(
    operation: Operation[Any], requested: Change, grant: Grant | None
) -> Change:
    """Return the change of a granted operation. The parameters and links of
    the grant take precedence over those of the request.
    """
    if grant is None:
        return requested
    desired = requested.desired
    if desired is not None:
        desired = msgspec.structs.replace(
            desired,
            parameters=operation.granted_parameters(
                desired.parameters, grant.additional_params
            ),
            ext_virtual_links=grant.ext_virtual_links
            or desired.ext_virtual_links,
            ext_managed_virtual_links=grant.ext_managed_virtual_links
            or desired.ext_managed_virtual_links,
        )
    return msgspec.structs.replace(
        requested,
        desired=desired,
        parameters=parameters(requested.parameters, grant),
    )


def zones(
    request: GrantRequest | None, grant: Grant | None
) -> Mapping[str, tuple[str, ...]]:
    """Return VDU -> the zones for its added VNFCs, by the VIM's own names;
    a VNFC without a granted zone has no entry.
    """
    if request is None or grant is None:
        return {}
    vim_zone_ids = {zone.id: zone.zone_id for zone in grant.zones}
    placed = {
        info.resource_definition_id: vim_zone_ids.get(
            info.zone_id, info.zone_id
        )
        for info in grant.add_resources
        if info.zone_id
    }
    found: dict[str, tuple[str, ...]] = {}
    for resource in request.add_resources:
        if resource.type is not ResourceDefinitionType.COMPUTE:
            continue
        zone = placed.get(resource.id)
        if zone and resource.vdu_id:
            found[resource.vdu_id] = (*found.get(resource.vdu_id, ()), zone)
    return found


def vim_connections_by_vdu(
    request: GrantRequest | None, grant: Grant | None
) -> Mapping[str, frozenset[str]]:
    """Return VDU -> the keys of the VIM connections on which its added VNFCs
    are granted; a VDU for which the grant names none has no entry.
    """
    if request is None or grant is None:
        return {}
    keys = {
        info.resource_definition_id: info.vim_connection_id
        for info in grant.add_resources
    }
    found: dict[str, frozenset[str]] = {}
    for resource in request.add_resources:
        key = keys.get(resource.id)
        compute = resource.type is ResourceDefinitionType.COMPUTE
        if compute and key and resource.vdu_id:
            previous = found.get(resource.vdu_id, frozenset())
            found[resource.vdu_id] = previous | {key}
    return found
