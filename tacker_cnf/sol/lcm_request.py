"""The requests for lifecycle operations (SOL003 5.5.2)."""

import enum
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf.sol.base import Identifier, KeyValuePairs, Name, SolType
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    VimConnectionInfo,
)
from tacker_cnf.sol.vnf_instance import ScaleInfo, VnfOperationalState

Count = Annotated[int, msgspec.Meta(ge=1)]
#: ids of VNFCs; an empty list is invalid, as absent means all VNFCs
VnfcNames = Annotated[tuple[Identifier, ...], msgspec.Meta(min_length=1)]
#: at most a year
Seconds = Annotated[int, msgspec.Meta(ge=1, le=31_536_000)]


class ScaleType(enum.StrEnum):
    """SOL003 5.5.2.5, inner type."""

    SCALE_OUT = "SCALE_OUT"
    SCALE_IN = "SCALE_IN"


class TerminationType(enum.StrEnum):
    """SOL003 5.5.2.8, inner type."""

    FORCEFUL = "FORCEFUL"
    GRACEFUL = "GRACEFUL"


class StopType(enum.StrEnum):
    """SOL003 5.5.4.4."""

    FORCEFUL = "FORCEFUL"
    GRACEFUL = "GRACEFUL"


class CreateVnfRequest(SolType):
    """SOL003 5.5.2.3."""

    vnfd_id: Identifier
    vnf_instance_name: Name | None = None
    vnf_instance_description: str | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)


class InstantiateVnfRequest(SolType):
    """SOL003 5.5.2.4."""

    flavour_id: Identifier
    instantiation_level_id: Identifier | None = None
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    localization_language: str | None = None
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )


class ChangeVnfFlavourRequest(SolType):
    """SOL003 5.5.2.7."""

    new_flavour_id: Identifier
    instantiation_level_id: Identifier | None = None
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )


class ScaleVnfRequest(SolType):
    """SOL003 5.5.2.5."""

    type: ScaleType
    aspect_id: Identifier
    #: encoded even when default: omit_defaults ignores factories
    number_of_steps: Count = msgspec.field(default_factory=lambda: 1)
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class ScaleVnfToLevelRequest(SolType):
    """SOL003 5.5.2.6. It has either an instantiation level or scale levels."""

    instantiation_level_id: Identifier | None = None
    #: aspects that it does not name keep their scale level
    scale_info: tuple[ScaleInfo, ...] = ()
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.instantiation_level_id is None) != bool(self.scale_info):
            raise ValueError(
                "Either instantiationLevelId or scaleInfo is required, and "
                "not both"
            )
        aspects = [scale.aspect_id for scale in self.scale_info]
        if len(aspects) != len(set(aspects)):
            raise ValueError("scaleInfo names an aspect twice")


class TerminateVnfRequest(SolType):
    """SOL003 5.5.2.8."""

    termination_type: TerminationType
    graceful_termination_timeout: Seconds | None = None
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class HealVnfRequest(SolType):
    """SOL003 5.5.2.9 and SOL002 5.5.2.9, which adds the VNFCs to heal."""

    cause: str | None = None
    vnfc_instance_id: VnfcNames = ()
    heal_script: str | None = None
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class OperateVnfRequest(SolType):
    """SOL003 5.5.2.10. Without a stopType, a stop is FORCEFUL."""

    change_state_to: VnfOperationalState
    stop_type: StopType | None = None
    #: required if the stop is GRACEFUL, else not allowed
    graceful_stop_timeout: Seconds | None = None
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        stops = self.change_state_to is VnfOperationalState.STOPPED
        if self.stop_type and not stops:
            raise ValueError("stopType is valid only for STOPPED")
        graceful = self.stop_type is StopType.GRACEFUL
        if graceful == (self.graceful_stop_timeout is None):
            raise ValueError(
                "gracefulStopTimeout is required if stopType is GRACEFUL, "
                "and not allowed otherwise"
            )


class ChangeExtVnfConnectivityRequest(SolType):
    """SOL003 5.5.2.11."""

    ext_virtual_links: Annotated[
        tuple[ExtVirtualLinkData, ...], msgspec.Meta(min_length=1)
    ]
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)


class ChangeCurrentVnfPkgRequest(SolType):
    """SOL003 5.5.2.11a."""

    vnfd_id: Identifier
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    additional_params: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )


class VnfcInfoModifications(SolType):
    """SOL002 5.5.3.24."""

    id: Identifier
    vnfc_configurable_properties: KeyValuePairs


class VimConnectionInfoModification(SolType):
    """A merge patch of one VimConnectionInfo; null removes a value."""

    vim_id: Identifier | UnsetType | None = UNSET
    vim_type: Identifier | UnsetType | None = UNSET
    interface_info: KeyValuePairs | UnsetType | None = UNSET
    access_info: KeyValuePairs | UnsetType | None = UNSET
    extra: KeyValuePairs | UnsetType | None = UNSET


class VnfInfoModificationRequest(SolType):
    """SOL003 5.5.2.12 and SOL002 5.5.2.12. A JSON merge patch (RFC 7396).

    An absent attribute (UNSET) keeps its value, null removes it.
    """

    vnf_instance_name: Name | UnsetType | None = UNSET
    vnf_instance_description: str | UnsetType | None = UNSET
    vnfd_id: Identifier | UnsetType = UNSET
    vnf_configurable_properties: KeyValuePairs | UnsetType | None = UNSET
    metadata: KeyValuePairs | UnsetType | None = UNSET
    extensions: KeyValuePairs | UnsetType | None = UNSET
    vim_connection_info: (
        dict[Identifier, VimConnectionInfoModification | None]
        | UnsetType
        | None
    ) = UNSET
    vnfc_info_modifications: tuple[VnfcInfoModifications, ...] | UnsetType = (
        UNSET
    )


class VnfInfoModifications(SolType):
    """SOL003 5.5.2.12a and SOL002 5.5.2.12a. The changed attributes."""

    vnf_instance_name: str | None = None
    vnf_instance_description: str | None = None
    vnf_configurable_properties: KeyValuePairs = msgspec.field(
        default_factory=dict
    )
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    extensions: KeyValuePairs = msgspec.field(default_factory=dict)
    vim_connection_info: dict[Identifier, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    vnfd_id: Identifier | None = None
    vnf_provider: str | None = None
    vnf_product_name: str | None = None
    vnf_software_version: str | None = None
    vnfd_version: str | None = None
    vnfc_info_modifications: tuple[VnfcInfoModifications, ...] = ()
