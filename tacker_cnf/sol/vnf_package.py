"""VNF packages (SOL003 10.5; SOL005 9.5 for the requests of clients)."""

import enum
from typing import Annotated

import msgspec

from tacker_cnf.sol.base import (
    DateTime,
    Identifier,
    KeyValuePairs,
    ProjectId,
    SolType,
    utc_seconds,
)
from tacker_cnf.sol.common import Checksum, Link
from tacker_cnf.sol.problem import ProblemDetails

Size = Annotated[int, msgspec.Meta(ge=0)]


class OnboardingState(enum.StrEnum):
    """SOL005 9.5.4.3, there PackageOnboardingStateType."""

    CREATED = "CREATED"
    UPLOADING = "UPLOADING"
    PROCESSING = "PROCESSING"
    ONBOARDED = "ONBOARDED"
    ERROR = "ERROR"


class OperationalState(enum.StrEnum):
    """SOL003 10.5.4.3, there PackageOperationalStateType."""

    ENABLED = "ENABLED"
    DISABLED = "DISABLED"


class UsageState(enum.StrEnum):
    """SOL003 10.5.4.4, there PackageUsageStateType."""

    IN_USE = "IN_USE"
    NOT_IN_USE = "NOT_IN_USE"


class PackageSecurityOption(enum.StrEnum):
    """SOL003 10.5.2.2, inner type. The options are those of SOL004 5.1."""

    OPTION_1 = "OPTION_1"
    OPTION_2 = "OPTION_2"


class ContainerFormat(enum.StrEnum):
    """SOL003 10.5.3.2, inner type."""

    AKI = "AKI"
    AMI = "AMI"
    ARI = "ARI"
    BARE = "BARE"
    DOCKER = "DOCKER"
    OVA = "OVA"
    OVF = "OVF"


class DiskFormat(enum.StrEnum):
    """SOL003 10.5.3.2, inner type."""

    AKI = "AKI"
    AMI = "AMI"
    ARI = "ARI"
    ISO = "ISO"
    QCOW2 = "QCOW2"
    RAW = "RAW"
    VDI = "VDI"
    VHD = "VHD"
    VHDX = "VHDX"
    VMDK = "VMDK"


class ArtifactClassification(enum.StrEnum):
    """SOL003 10.5.3.3, inner type."""

    HISTORY = "HISTORY"
    TESTING = "TESTING"
    LICENSE = "LICENSE"


class AuthType(enum.StrEnum):
    """SOL005 9.5.2.4, inner type."""

    BASIC = "BASIC"
    OAUTH2_CLIENT_CREDENTIALS = "OAUTH2_CLIENT_CREDENTIALS"


class VnfPackageSoftwareImageInfo(SolType):
    """SOL003 10.5.3.2."""

    id: Identifier
    name: str
    provider: str
    version: str
    checksum: Checksum
    is_encrypted: bool
    container_format: ContainerFormat
    disk_format: DiskFormat
    created_at: DateTime
    min_disk: Size
    min_ram: Size
    size: Size
    user_metadata: KeyValuePairs = msgspec.field(default_factory=dict)
    image_path: str | None = None
    image_uri: str | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(
            self, "created_at", utc_seconds(self.created_at)
        )
        if (self.image_path is None) == (self.image_uri is None):
            raise ValueError(
                "exactly one of imagePath and imageUri is required"
            )


class VnfPackageArtifactInfo(SolType):
    """SOL003 10.5.3.3."""

    artifact_path: str | None = None
    artifact_uri: str | None = msgspec.field(default=None, name="artifactURI")
    checksum: Checksum
    is_encrypted: bool
    non_mano_artifact_set_id: str | None = None
    artifact_classification: ArtifactClassification | None = None
    metadata: KeyValuePairs = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.artifact_path is None) == (self.artifact_uri is None):
            raise ValueError(
                "exactly one of artifactPath and artifactURI is required"
            )


class VnfPkgInfoLinks(SolType):
    """SOL003 10.5.2.2, inner type."""

    self_: Link = msgspec.field(name="self")
    vnfd: Link | None = None
    package_content: Link


class VnfPkgInfo(SolType):
    """SOL003 10.5.2.2 and SOL005 9.5.2.5.

    Attributes that come from the content are present once the package is
    onboarded. The API adds the links to its responses.
    """

    id: Identifier
    vnfd_id: Identifier | None = None
    vnf_provider: str | None = None
    vnf_product_name: str | None = None
    vnf_software_version: str | None = None
    vnfd_version: str | None = None
    compatible_specification_versions: tuple[str, ...] = ()
    checksum: Checksum | None = None
    package_security_option: PackageSecurityOption | None = None
    signing_certificate: str | None = None
    software_images: tuple[VnfPackageSoftwareImageInfo, ...] = ()
    additional_artifacts: tuple[VnfPackageArtifactInfo, ...] = ()
    onboarding_state: OnboardingState
    operational_state: OperationalState
    usage_state: UsageState
    vnfm_info: tuple[str, ...] = ()
    user_defined_data: KeyValuePairs = msgspec.field(default_factory=dict)
    onboarding_failure_details: ProblemDetails | None = None
    #: extension: what it does not conform to, and the onboarding tolerated;
    #: the openstack command shows attributes that it does not know, if their
    #: names are lower case
    warnings: tuple[str, ...] = ()
    #: extension: the project that it belongs to
    project_id: str = ""
    #: extension: whether all projects may read and use it
    is_public: bool = False
    #: extension: other projects that may read and use it
    shared_with: tuple[ProjectId, ...] = ()
    links: VnfPkgInfoLinks | None = msgspec.field(default=None, name="_links")


class CreateVnfPkgInfoRequest(SolType):
    """SOL005 9.5.2.2."""

    user_defined_data: KeyValuePairs = msgspec.field(default_factory=dict)


class VnfPkgInfoModifications(SolType):
    """SOL005 9.5.2.3. The body of the request and of its response.

    userDefinedData is a JSON merge patch: null removes a value.
    """

    operational_state: OperationalState | None = None
    user_defined_data: KeyValuePairs | None = None
    #: extension: whether all projects may read and use it
    is_public: bool | None = None
    #: extension: the other projects that may read and use it
    shared_with: tuple[ProjectId, ...] | None = None

    def __post_init__(self) -> None:
        if all(getattr(self, n) is None for n in self.__struct_fields__):
            raise ValueError(
                "operationalState, userDefinedData or both are required"
            )


class ParamsOauth2ClientCredentials(SolType):
    """SOL005 9.5.2.4, inner type."""

    client_id: str
    client_password: str
    token_endpoint: str


class UploadVnfPackageFromUriRequest(SolType):
    """SOL005 9.5.2.4."""

    address_information: str
    auth_type: AuthType | None = None
    user_name: str | None = None
    password: str | None = None
    params_oauth2_client_credentials: ParamsOauth2ClientCredentials | None = (
        None
    )

    def __post_init__(self) -> None:
        if (self.user_name is None) != (self.password is None):
            raise ValueError("userName and password require each other")
