"""What the types of lifecycle operations differ in."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from tacker_cnf.lcm import connectivity
from tacker_cnf.lcm.change import Change, State, current_state
from tacker_cnf.lcm.grant_resources import GrantResource
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeVnfFlavourRequest,
    VnfInfoModifications,
)
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_instance import (
    InstantiationState,
    VnfcResourceInfo,
    VnfInstance,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
)
from tacker_cnf.vnfd.model import Flavour, Vnfd

R = TypeVar("R", bound=SolType)


class GrantChanges(NamedTuple):
    """Resources of existing VNFCs in a grant request."""

    add: Sequence[GrantResource] = ()
    remove: Sequence[GrantResource] = ()
    update: Sequence[GrantResource] = ()
    #: whether ``add`` replaces ``remove``; placement constraints then stay
    is_replacement: bool = False


class Modifications(NamedTuple):
    """What a completed operation reports in its VnfLcmOpOcc."""

    changed_info: VnfInfoModifications | None = None
    changed_ext_connectivity: tuple[ExtVirtualLinkInfo, ...] | None = None
    triggered_by_vnf_pkg_change: (
        ModificationsTriggeredByVnfPkgChange | None
    ) = None


def reconfigured(
    state: State,
    request: ChangeVnfFlavourRequest | ChangeCurrentVnfPkgRequest,
    flavour: Flavour,
) -> State:
    """Apply the parameters and the links of a request to a state; links keep
    the connection points that the flavour has.

    :param flavour: the desired one
    :raises InvalidParameters: a connection point does not exist
    """
    connectivity.check(request.ext_virtual_links, flavour)
    links = connectivity.changed(
        state.ext_virtual_links, request.ext_virtual_links
    )
    managed = request.ext_managed_virtual_links
    return msgspec.structs.replace(
        state,
        parameters={**state.parameters, **request.additional_params},
        ext_virtual_links=connectivity.limited(links, flavour),
        ext_managed_virtual_links=managed or state.ext_managed_virtual_links,
    )


class Operation(Generic[R]):
    """A type of lifecycle operation; its defaults change nothing."""

    kind: ClassVar[LcmOperationType]
    #: what a client requests with it, as a sentence
    summary: ClassVar[str]
    #: the type of its request (SOL003 5.5.2)
    request_type: type[R]
    #: the required state of the instance; None: any
    required_state: ClassVar[InstantiationState | None] = (
        InstantiationState.INSTANTIATED
    )
    #: whether a STOPPED VNF has to be started before
    requires_started: ClassVar[bool] = False
    #: whether it changes the VIM, for which the NFVO has to grant it
    changes_vim: ClassVar[bool] = True
    #: whether the VNF may be on other VIMs afterwards, without a grant that
    #: names them
    assigns_vims: ClassVar[bool] = False
    #: whether it moves connection points to other external links
    moves_links: ClassVar[bool] = False
    #: whether a rollback can restore the state before
    reversible: ClassVar[bool] = True
    #: the prefix of its management script operations
    hook: ClassVar[str]

    def next_vnfd_id(self, request: R, instance: VnfInstance) -> str | None:
        """Return the VNFD that the request changes to; None: no change."""
        return None

    def change(
        self,
        request: R,
        instance: VnfInstance,
        vnfd: Vnfd,
        old_vnfd: Vnfd | None = None,
    ) -> Change:
        """Return the change that a request makes.

        :param vnfd: the VNFD after the operation
        :param old_vnfd: the VNFD before it, if another
        :raises BadRequest: the request is not valid for instance or VNFD
        """
        current = current_state(instance)
        desired = self.desired(request, current, vnfd, old_vnfd)
        replace = self.replacement(request, instance)
        if desired and not replace:
            desired = msgspec.structs.replace(desired, vnfcs=None)
        return Change(
            current=current,
            desired=desired,
            replace=replace,
            moves_links=self.moves_links,
            parameters=self.parameters(request),
            grace=self.grace(request),
        )

    def desired(
        self,
        request: R,
        current: State | None,
        vnfd: Vnfd,
        old_vnfd: Vnfd | None = None,
    ) -> State | None:
        """Return the state that a request leads to; None: nothing is left.

        :param vnfd: the VNFD after the operation
        :param old_vnfd: the VNFD before it, if another
        :raises BadRequest: the request is not valid for the VNFD
        """
        return (
            self.changed(request, current, vnfd, old_vnfd or vnfd)
            if current
            else None
        )

    def changed(
        self, request: R, current: State, vnfd: Vnfd, old_vnfd: Vnfd
    ) -> State | None:
        """Return the state that a request leads to from another one."""
        return current

    def replacement(
        self, request: R, instance: VnfInstance
    ) -> tuple[VnfcResourceInfo, ...] | Literal["ALL"]:
        """Return the VNFCs that a request replaces.

        :raises UnknownVnfc: the instance has no such VNFC
        """
        return ()

    def grant_changes(
        self,
        request: R,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the resources of existing VNFCs for the grant request."""
        return GrantChanges()

    def parameters(self, request: R) -> Mapping[str, Any]:
        """Return the additionalParams of a request; some types have none."""
        found: Mapping[str, Any] = getattr(request, "additional_params", {})
        return found

    def grant_fields(self, request: R) -> dict[str, Any]:
        """Return further fields of the GrantRequest."""
        return {}

    def connections_beside_grant(
        self, request: R, connections: Mapping[str, VimConnectionInfo]
    ) -> Mapping[str, VimConnectionInfo]:
        """Return the VIM connections that stay if the grant has others."""
        return connections

    def granted_parameters(
        self, parameters: Mapping[str, Any], granted: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the parameters of the desired state, after those of the
        grant.
        """
        return parameters

    def finish(
        self,
        request: R,
        instance: VnfInstance,
        vnfd: Vnfd,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> VnfInstance:
        """Return the instance with the attributes that the request sets.

        :param vnfd: the VNFD after the operation
        :param vim_connections: those after the operation
        """
        return instance

    def modifications(
        self, before: VnfInstance, after: VnfInstance
    ) -> Modifications:
        """Return what the completed operation has modified."""
        return Modifications()

    def grace(self, request: R) -> int | None:
        """Return the graceful termination timeout in seconds; None: the
        setting of the VNF.
        """
        return None

    def is_forceful(self, request: R) -> bool:
        """Return whether the operation continues after a failed script."""
        return False
