"""A VNF instance in version 1 (SOL003 v2.6.1, 5.5.2.2)."""

from typing import Annotated

import msgspec

from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.v1.resources import (
    ExtManagedVirtualLinkInfoV1,
    ExtVirtualLinkInfoV1,
    VimConnectionInfoV1,
    VirtualStorageResourceInfoV1,
    VnfcInfoV1,
    VnfcResourceInfoV1,
    VnfExtCpInfoV1,
    VnfVirtualLinkResourceInfoV1,
)
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfOperationalState


class ScaleInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.3.4."""

    aspect_id: Identifier
    scale_level: Annotated[int, msgspec.Meta(ge=0)]


class InstantiatedVnfInfoV1(SolType):
    """SOL003 v2.6.1, 5.5.2.2, inner type."""

    flavour_id: Identifier
    vnf_state: VnfOperationalState
    scale_status: tuple[ScaleInfoV1, ...] = ()
    ext_cp_info: tuple[VnfExtCpInfoV1, ...]
    ext_virtual_link_info: tuple[ExtVirtualLinkInfoV1, ...] = ()
    ext_managed_virtual_link_info: tuple[ExtManagedVirtualLinkInfoV1, ...] = ()
    vnfc_resource_info: tuple[VnfcResourceInfoV1, ...] = ()
    vnf_virtual_link_resource_info: tuple[
        VnfVirtualLinkResourceInfoV1, ...
    ] = ()
    virtual_storage_resource_info: tuple[
        VirtualStorageResourceInfoV1, ...
    ] = ()
    vnfc_info: tuple[VnfcInfoV1, ...] = ()
    #: extension: those of the request to instantiate
    additional_params: KeyValuePairs


class VnfInstanceLinksV1(SolType):
    """SOL003 v2.6.1, 5.5.2.2, inner type."""

    self_: Link = msgspec.field(name="self")
    instantiate: Link | None = None
    terminate: Link | None = None
    scale: Link | None = None
    heal: Link | None = None
    change_ext_conn: Link | None = None


class VnfInstanceV1(SolType):
    """SOL003 v2.6.1, 5.5.2.2."""

    id: Identifier
    vnf_instance_name: str
    vnf_instance_description: str | None = None
    vnfd_id: Identifier
    vnf_provider: str
    vnf_product_name: str
    vnf_software_version: str
    vnfd_version: str
    #: the VNF package of the VNFD
    vnf_pkg_id: Identifier | None = None
    vim_connection_info: tuple[VimConnectionInfoV1, ...] = ()
    instantiation_state: InstantiationState
    instantiated_vnf_info: InstantiatedVnfInfoV1 | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    links: VnfInstanceLinksV1 = msgspec.field(name="_links")
