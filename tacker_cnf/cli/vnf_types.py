"""VNF instances, packages and VIMs, as far as the client reads them."""

from typing import Any

import msgspec

from tacker_cnf.cli.api_types import ApiType, Problem


class ResourceHandle(ApiType, frozen=True, kw_only=True):
    """SOL003 4.4.1.7."""

    resource_id: str
    vim_level_resource_type: str = ""


class ScaleInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.3.4."""

    aspect_id: str
    scale_level: int


class VnfcResourceInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.3.5."""

    id: str
    vdu_id: str
    compute_resource: ResourceHandle
    zone_id: str = ""


class VnfcInfo(ApiType, frozen=True, kw_only=True):
    """SOL002 5.5.3.23."""

    id: str
    vnfc_state: str
    vnfc_resource_info_id: str = ""


class VirtualStorageResourceInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.3.7."""

    virtual_storage_desc_id: str
    storage_resource: ResourceHandle


class VnfVirtualLinkResourceInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.3.6."""

    vnf_virtual_link_desc_id: str
    network_resource: ResourceHandle


class ExtVirtualLinkInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.3.2."""

    id: str
    resource_handle: ResourceHandle


class InstantiatedVnfInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.2.2, inner type."""

    flavour_id: str = ""
    vnf_state: str = ""
    scale_status: tuple[ScaleInfo, ...] = ()
    max_scale_levels: tuple[ScaleInfo, ...] = ()
    vnfc_resource_info: tuple[VnfcResourceInfo, ...] = ()
    vnfc_info: tuple[VnfcInfo, ...] = ()
    virtual_storage_resource_info: tuple[VirtualStorageResourceInfo, ...] = ()
    vnf_virtual_link_resource_info: tuple[VnfVirtualLinkResourceInfo, ...] = ()
    ext_virtual_link_info: tuple[ExtVirtualLinkInfo, ...] = ()


class VimConnectionInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 4.4.1.6."""

    vim_id: str = ""
    vim_type: str = ""


class VnfInstance(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.2.2."""

    id: str
    vnf_instance_name: str = ""
    vnf_product_name: str
    vnf_software_version: str
    instantiation_state: str
    #: None: it is not instantiated, or the list does not have it
    instantiated_vnf_info: InstantiatedVnfInfo | None = None
    vim_connection_info: dict[str, VimConnectionInfo] = msgspec.field(
        default_factory=dict
    )
    links: dict[str, Any] = msgspec.field(default_factory=dict, name="_links")

    @property
    def display_name(self) -> str:
        return self.vnf_instance_name or self.id


class ArtifactInfo(ApiType, frozen=True, kw_only=True):
    """SOL003 10.5.3.3."""

    artifact_path: str = ""
    artifact_uri: str = msgspec.field(default="", name="artifactURI")


class VnfPackage(ApiType, frozen=True, kw_only=True):
    """VnfPkgInfo (SOL003 10.5.2.2)."""

    id: str
    onboarding_state: str
    operational_state: str
    additional_artifacts: tuple[ArtifactInfo, ...] = ()
    onboarding_failure_details: Problem = Problem()
    warnings: tuple[str, ...] = ()


class Vim(ApiType, frozen=True, kw_only=True):
    """A registered VIM."""

    id: str
    name: str
    status: str = ""


class VimBody(ApiType, frozen=True, kw_only=True):
    """GET /v1.0/vims/{id}."""

    vim: Vim


class VimList(ApiType, frozen=True, kw_only=True):
    """GET /v1.0/vims."""

    vims: tuple[Vim, ...]
