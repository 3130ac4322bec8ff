"""The change that an operation makes: the states before and after it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import connectivity
from tacker_cnf.sol.common import ExtManagedVirtualLinkData, ExtVirtualLinkData
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    VnfcResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.vnfd.model import Flavour, Vnfd

#: value of ``Change.replace``: all VNFCs
ALL: Final = "ALL"
#: key in instantiatedVnfInfo.metadata of a STOPPED VNF, of which the VIM may
#: have no VNFCs: VDU -> number of VNFCs once it is started
STOPPED_COUNTS: Final = "stopped_counts"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The composition of a VNF instance at one point of its life."""

    flavour_id: str
    #: aspect -> scale level
    scale_levels: Mapping[str, int]
    #: VDU -> number of VNFCs; of a STOPPED VNF once it is started
    counts: Mapping[str, int]
    #: additionalParams of the instantiation, which the driver keeps
    parameters: Mapping[str, Any]
    localization_language: str | None = None
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    vnf_state: VnfOperationalState = VnfOperationalState.STARTED
    #: the VNFCs of a state that the VNF had; None: it never had this state
    vnfcs: tuple[VnfcResourceInfo, ...] | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether no VNFC shall run."""
        return self.vnf_state is VnfOperationalState.STOPPED

    @property
    def running_counts(self) -> Mapping[str, int]:
        """VDU -> number of VNFCs that shall run."""
        return (
            dict.fromkeys(self.counts, 0) if self.is_stopped else self.counts
        )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a VNF instance from one state to another."""

    #: None: the VNF has no resources
    current: State | None
    #: None: the VNF shall have no resources
    desired: State | None
    #: existing VNFCs that shall be replaced by new ones
    replace: tuple[VnfcResourceInfo, ...] | Literal["ALL"] = ()
    #: whether connection points of the VNF shall move to other external links
    moves_links: bool = False
    #: additionalParams of the request, overridden by those of the grant
    parameters: Mapping[str, Any] = {}
    #: seconds that the VNF gets to stop; None: its own setting
    grace: int | None = None

    @classmethod
    def none(cls, state: State) -> "Change":
        """Return the change that leaves a state as it is."""
        unreached = msgspec.structs.replace(state, vnfcs=None)
        return cls(current=state, desired=unreached)

    @property
    def state(self) -> State:
        """The desired state, or the current one if nothing is to be left."""
        state = self.desired or self.current
        assert state is not None
        return state

    @property
    def first_state(self) -> State:
        """The current state, or the desired one if there is none yet."""
        state = self.current or self.desired
        assert state is not None
        return state

    @property
    def changes_flavour(self) -> bool:
        """Whether the VNF changes to another deployment flavour."""
        return (
            self.desired is not None
            and self.first_state.flavour_id != self.desired.flavour_id
        )

    @property
    def restores(self) -> bool:
        """Whether the VNF had the desired state before, and left it."""
        return (
            self.desired is not None
            and self.desired.vnfcs is not None
            and not self.replace
        )

    @property
    def operates(self) -> bool:
        """Whether the VNF is started or stopped."""
        return (
            self.current is not None
            and self.desired is not None
            and self.current.is_stopped != self.desired.is_stopped
        )

    @property
    def leaves_known_state(self) -> bool:
        """Whether the VNF had completely reached its current state."""
        return self.current is not None and self.current.vnfcs is not None

    def inverse(self) -> "Change":
        """Return the change that restores the current state."""
        return Change(
            current=self.desired,
            desired=self.current,
            parameters=self.parameters,
        )


def flavour_of(
    vnfd: Vnfd, flavour_id: str, attribute: str = "flavourId"
) -> Flavour:
    """Return a deployment flavour.

    :param attribute: of the request that names it
    :raises UnknownFlavour: the VNFD has no such flavour
    """
    try:
        return vnfd.flavours[flavour_id]
    except KeyError:
        flavour_ids = ", ".join(sorted(vnfd.flavours))
        raise errors.UnknownFlavour(
            f"{attribute}: VNFD {vnfd.id} has no flavour {flavour_id!r}, "
            f"only {flavour_ids}."
        ) from None


def current_state(instance: VnfInstance) -> State | None:
    """Return the state of an instance; None if it is not instantiated."""
    info = instance.instantiated_vnf_info
    if (
        instance.instantiation_state != InstantiationState.INSTANTIATED
        or info is None
    ):
        return None
    return State(
        flavour_id=info.flavour_id,
        scale_levels={
            scale.aspect_id: scale.scale_level for scale in info.scale_status
        },
        counts=counts_of(info),
        parameters=info.metadata,
        localization_language=info.localization_language,
        ext_virtual_links=tuple(
            map(connectivity.of_external, info.ext_virtual_link_info)
        ),
        ext_managed_virtual_links=tuple(
            map(connectivity.of_managed, info.ext_managed_virtual_link_info)
        ),
        vnf_state=info.vnf_state,
        vnfcs=info.vnfc_resource_info,
    )


def counts_of(info: InstantiatedVnfInfo) -> Mapping[str, int]:
    """Return the number of VNFCs by VDU; of a STOPPED VNF once it is
    started.
    """
    if info.vnf_state is VnfOperationalState.STOPPED:
        kept: Mapping[str, int] = info.metadata.get(STOPPED_COUNTS) or {}
        return kept
    return Counter(vnfc.vdu_id for vnfc in info.vnfc_resource_info)
