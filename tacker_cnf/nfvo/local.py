"""The NFVO of an installation that has none: it grants what is asked."""

import uuid

from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import (
    Grant,
    GrantInfo,
    GrantLinks,
    GrantRequest,
    ResourceDefinition,
)


class LocalNfvo:
    """Grants every operation just as it was asked for."""

    def grant(
        self,
        request: GrantRequest,
        halt: Halt,  # noqa: ARG002
        deadline: Deadline,  # noqa: ARG002
    ) -> Grant:
        grant_id = str(uuid.uuid4())
        links = request.links
        return Grant(
            id=grant_id,
            vnf_instance_id=request.vnf_instance_id,
            vnf_lcm_op_occ_id=request.vnf_lcm_op_occ_id,
            add_resources=tuple(map(_granted, request.add_resources)),
            remove_resources=tuple(map(_granted, request.remove_resources)),
            update_resources=tuple(map(_granted, request.update_resources)),
            links=GrantLinks(
                self_=Link(href=f"/grant/v1/grants/{grant_id}"),
                vnf_lcm_op_occ=links.vnf_lcm_op_occ,
                vnf_instance=links.vnf_instance,
            ),
        )


def _granted(resource: ResourceDefinition) -> GrantInfo:
    return GrantInfo(resource_definition_id=resource.id)
