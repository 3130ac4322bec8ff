"""Modify the information of a VNF (SOL003 5.4.2.3.4)."""

from collections.abc import Mapping

from tacker_cnf.lcm import modification
from tacker_cnf.lcm.operations.base import Modifications, Operation
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModificationRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd.model import Vnfd


class Modify(Operation[VnfInfoModificationRequest]):
    """Attributes of the VNF instance change; on the VIM only its scripts
    change anything.
    """

    kind = LcmOperationType.MODIFY_INFO
    summary = "Modify a VNF instance."
    request_type = VnfInfoModificationRequest
    required_state = None
    changes_vim = False
    assigns_vims = True
    hook = "modify_information"

    def next_vnfd_id(
        self, request: VnfInfoModificationRequest, instance: VnfInstance
    ) -> str | None:
        """Return the requested VNFD, if it is another."""
        return modification.other_vnfd_id(instance, request.vnfd_id)

    def finish(
        self,
        request: VnfInfoModificationRequest,
        instance: VnfInstance,
        vnfd: Vnfd,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> VnfInstance:
        """Apply the request."""
        return modification.modified(
            instance,
            request,
            vim_connections,
            vnfd if self.next_vnfd_id(request, instance) else None,
        )

    def modifications(
        self, before: VnfInstance, after: VnfInstance
    ) -> Modifications:
        """Return the changed attributes of the instance."""
        return Modifications(changed_info=modification.changed(before, after))
