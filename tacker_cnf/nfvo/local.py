"""The built-in NFVO, used without [nfvo] endpoint: it grants everything."""

import uuid
from collections.abc import Sequence

from tacker_cnf.nfvo import zone_selection
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import (
    Grant,
    GrantInfo,
    GrantLinks,
    GrantRequest,
    ResourceDefinition,
    ZoneInfo,
)


class LocalNfvo:
    """Grants every operation as requested."""

    def __init__(self, zones: Sequence[str] = ()) -> None:
        """Set the zones for new VNFCs.

        :param zones: names of zones of the VIMs; empty: grants have no zones
        """
        self._zones = zones

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,  # noqa: ARG002
        deadline: Deadline,  # noqa: ARG002
    ) -> Grant:
        grant_id = str(uuid.uuid4())
        links = request.links
        assigned_zones = zone_selection.assigned_zones(request, self._zones)
        return Grant(
            id=grant_id,
            vnf_instance_id=request.vnf_instance_id,
            vnf_lcm_op_occ_id=request.vnf_lcm_op_occ_id,
            zones=tuple(
                ZoneInfo(id=zone, zone_id=zone)
                for zone in sorted(set(assigned_zones.values()))
            ),
            add_resources=tuple(
                _grant_info(resource, assigned_zones.get(resource.id))
                for resource in request.add_resources
            ),
            remove_resources=tuple(map(_grant_info, request.remove_resources)),
            update_resources=tuple(map(_grant_info, request.update_resources)),
            links=GrantLinks(
                self_=Link(href=f"/grant/v1/grants/{grant_id}"),
                vnf_lcm_op_occ=links.vnf_lcm_op_occ,
                vnf_instance=links.vnf_instance,
            ),
        )


def _grant_info(
    resource: ResourceDefinition, zone: str | None = None
) -> GrantInfo:
    return GrantInfo(resource_definition_id=resource.id, zone_id=zone)
