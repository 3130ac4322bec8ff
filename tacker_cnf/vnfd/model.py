"""A VNFD (SOL001) as values that are stored as JSON."""

from typing import Any

import msgspec

from tacker_cnf.sol.base import SolType


class Part(SolType):
    """Base of all elements of a VNFD; ids are the names in the VNFD."""


class SoftwareImage(Part):
    """tosca.datatypes.nfv.SwImageData of a VDU or a storage; sizes in bytes."""

    id: str
    name: str
    version: str
    checksum_algorithm: str | None = None
    checksum_hash: str | None = None
    container_format: str | None = None
    disk_format: str | None = None
    min_disk: int | None = None
    min_ram: int | None = None
    size: int | None = None
    #: path in the tree, or a URL; None when the package has no such file
    image_path: str | None = None


class Vdu(Part):
    """tosca.nodes.nfv.Vdu.Compute or Vdu.OsContainerDeployableUnit."""

    id: str
    name: str
    min_instances: int
    max_instances: int
    description: str | None = None
    #: ids of the storages that its requirements name
    storages: tuple[str, ...] = ()
    #: id of its own software image
    image: str | None = None
    #: requested_additional_capability_name: a VIM's compute flavour
    compute_flavour: str | None = None
    num_virtual_cpu: int | None = None
    virtual_mem_size: int | None = None


class VirtualStorage(Part):
    """tosca.nodes.nfv.Vdu.Virtual{Block,Object,File}Storage."""

    id: str
    kind: str
    size_of_storage: int | None = None
    image: str | None = None


class VirtualLink(Part):
    """tosca.nodes.nfv.VnfVirtualLink."""

    id: str
    description: str | None = None
    layer_protocols: tuple[str, ...] = ()


class ConnectionPoint(Part):
    """tosca.nodes.nfv.VduCp, VnfExtCp and the like.

    It is external when a requirement of the substitution mappings names it.
    """

    id: str
    vdu: str | None = None
    virtual_link: str | None = None
    order: int | None = None
    layer_protocols: tuple[str, ...] = ()
    external: bool = False


class Aspect(Part):
    """One entry of tosca.policies.nfv.ScalingAspects."""

    id: str
    name: str
    max_scale_level: int
    description: str | None = None
    step_deltas: tuple[str, ...] = ()
    #: vdu -> delta -> number of instances
    deltas: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)

    @property
    def defined_deltas(self) -> frozenset[str]:
        return frozenset(
            delta for of_vdu in self.deltas.values() for delta in of_vdu
        )

    @property
    def undefined_deltas(self) -> tuple[str, ...]:
        """The deltas of steps that no VDU has, if VDUs have any."""
        defined = self.defined_deltas
        return tuple(
            delta
            for delta in self.step_deltas
            if defined and delta not in defined
        )


class Level(Part):
    """One entry of tosca.policies.nfv.InstantiationLevels."""

    id: str
    description: str | None = None
    #: aspect -> scale level
    scale_levels: dict[str, int] = msgspec.field(default_factory=dict)
    #: vdu -> number of instances
    counts: dict[str, int] = msgspec.field(default_factory=dict)


class AffinityRule(Part):
    """tosca.policies.nfv.{,Anti}AffinityRule, in the words of SOL003."""

    id: str
    #: AFFINITY or ANTI_AFFINITY
    kind: str
    #: NFVI_NODE, ZONE, ...
    scope: str
    #: VDUs, virtual links and placement groups
    targets: tuple[str, ...] = ()


class LcmDefaults(Part):
    """tosca.datatypes.nfv.VnfLcmOperationsConfiguration; times in seconds."""

    scaling_by_more_than_one_step_supported: bool | None = None
    heal_causes: tuple[str, ...] = ()
    min_graceful_termination_timeout: float | None = None
    max_recommended_graceful_termination_timeout: float | None = None


class Flavour(Part):
    """A deployment flavour; all maps are by the id of their elements."""

    id: str
    description: str | None = None
    vdus: dict[str, Vdu] = msgspec.field(default_factory=dict)
    storages: dict[str, VirtualStorage] = msgspec.field(default_factory=dict)
    virtual_links: dict[str, VirtualLink] = msgspec.field(default_factory=dict)
    connection_points: dict[str, ConnectionPoint] = msgspec.field(
        default_factory=dict
    )
    #: connection point -> requirement of the VNF that it fulfils
    external_connection_points: dict[str, str] = msgspec.field(
        default_factory=dict
    )
    aspects: dict[str, Aspect] = msgspec.field(default_factory=dict)
    #: vdu -> number of instances at scale level 0
    initial_deltas: dict[str, int] = msgspec.field(default_factory=dict)
    levels: dict[str, Level] = msgspec.field(default_factory=dict)
    default_level: str | None = None
    #: operation, such as "instantiate_start" -> path of its script in the tree
    scripts: dict[str, str] = msgspec.field(default_factory=dict)
    #: the additionalParams that its lifecycle operations declare; None: not
    #: recorded by the release that read the VNFD
    parameters: tuple[str, ...] | None = None
    affinity_rules: tuple[AffinityRule, ...] = ()
    #: group -> its members
    placement_groups: dict[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict
    )
    lcm_defaults: LcmDefaults = LcmDefaults()


class PublicNames(Part):
    """The names in free-form attributes whose values may be shown.

    The VNFD declares them and does not mark them as sensitive.
    """

    #: of additionalParams
    parameters: tuple[str, ...] = ()
    #: of vnfConfigurableProperties and vnfcConfigurableProperties
    properties: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    #: the names of metadata that the VNFD marks as sensitive; all others are
    #: shown
    sensitive_metadata: tuple[str, ...] = ()


class Vnfd(Part):
    """A VNFD, read once when its package is onboarded."""

    id: str
    provider: str
    product_name: str
    software_version: str
    descriptor_version: str
    flavours: dict[str, Flavour]
    #: the flavour that the VNF node names, or the only one
    default_flavour: str | None = None
    product_info_name: str | None = None
    product_info_description: str | None = None
    vnfm_info: tuple[str, ...] = ()
    localization_languages: tuple[str, ...] = ()
    default_localization_language: str | None = None
    #: defaults of what PATCH may set
    configurable_properties: dict[str, Any] = msgspec.field(
        default_factory=dict
    )
    extensions: dict[str, Any] = msgspec.field(default_factory=dict)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    software_images: tuple[SoftwareImage, ...] = ()
    #: empty also if the release that read the VNFD did not record them
    public_names: PublicNames = PublicNames()
    #: the definitions files of the VNFD; empty: not recorded by the release
    #: that read it
    files: tuple[str, ...] = ()
    #: the files of the package that it, TOSCA.meta or the manifest names; None:
    #: not recorded by the release that read it
    named_files: tuple[str, ...] | None = None
    #: digest of all files of the package (tree_digest); None: not recorded by
    #: the release that read it
    tree_digest: str | None = None
