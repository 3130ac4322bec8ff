"""The tables: columns for what is queried or locked, JSON for the rest."""

import datetime
import enum
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db.types import (
    LONG_TEXT,
    EnumName,
    SecretJson,
    SolJson,
    UtcDateTime,
)
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.lcm.script_output import InstanceChanges
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.package_subscription import PkgmNotificationsFilter
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    LifecycleChangeNotificationsFilter,
)
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.virtual_link import ExtVirtualLinkInfo
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, InstantiationState
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    ModificationsTriggeredByVnfPkgChange,
    ResourceChanges,
)
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    PackageSecurityOption,
    UploadVnfPackageFromUriRequest,
    VnfPackageArtifactInfo,
)

Id = sa.String(36)
Name = sa.String(255)
ProjectId = sa.String(64)
UserId = sa.String(64)
#: SQLite increments primary keys of type INTEGER only
Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class DeliveryState(enum.StrEnum):
    """The state of a delivery; a completed delivery is deleted."""

    WAITING = "WAITING"
    #: it failed for too long
    PARKED = "PARKED"
    #: an operator requested to resend it; the dispatcher sets it to WAITING
    RESENT = "RESENT"


class Base(orm.DeclarativeBase):
    """The base class of all tables."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def parameters(table: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a statement that sets attributes of rows: some
    columns have another name.
    """
    return {
        getattr(table, name).expression.key: value
        for name, value in values.items()
    }


class Owned:
    """Columns of a row that belongs to a project."""

    project_id: orm.Mapped[str] = orm.mapped_column(ProjectId)
    #: the user that created it; None: it was created before users were
    #: recorded, or by the service
    user_id: orm.Mapped[str | None] = orm.mapped_column(UserId)


class Shareable(Owned):
    """Columns of a row that other projects may read and use."""

    #: whether all projects may; others: a share for each project
    is_public: orm.Mapped[bool] = orm.mapped_column(sa.Boolean, default=False)


class VnfPackage(Shareable, Base):
    """A VNF package; content_id is its ID in the content store."""

    __tablename__ = "vnf_packages"
    __table_args__ = (
        sa.UniqueConstraint(
            "project_id", "vnfd_id", name="uq_vnf_packages_project_id"
        ),
        sa.Index(
            "ix_vnf_packages_project_id", "project_id", "created_at", "id"
        ),
        sa.Index("ix_vnf_packages_vnfd_id", "vnfd_id"),
    )

    id: orm.Mapped[str] = orm.mapped_column(Id, primary_key=True)
    onboarding_state: orm.Mapped[OnboardingState] = orm.mapped_column(
        EnumName(OnboardingState)
    )
    operational_state: orm.Mapped[OperationalState] = orm.mapped_column(
        EnumName(OperationalState)
    )
    user_defined_data: orm.Mapped[dict[str, Any]] = orm.mapped_column(
        SolJson(dict[str, Any])
    )
    created_at: orm.Mapped[datetime.datetime] = orm.mapped_column(
        UtcDateTime, index=True
    )
    content_id: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    #: size of the content, uploaded and unpacked; None: an earlier release
    #: stored it, and a conductor will measure it
    content_bytes: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    vnfd_id: orm.Mapped[str | None] = orm.mapped_column(Name)
    vnf_provider: orm.Mapped[str | None] = orm.mapped_column(Name)
    vnf_product_name: orm.Mapped[str | None] = orm.mapped_column(Name)
    vnf_software_version: orm.Mapped[str | None] = orm.mapped_column(Name)
    vnfd_version: orm.Mapped[str | None] = orm.mapped_column(Name)
    #: the request to fetch it, while it is being fetched
    upload: orm.Mapped[UploadVnfPackageFromUriRequest | None] = (
        orm.mapped_column(SecretJson(UploadVnfPackageFromUriRequest))
    )
    #: whether the client that requests it may upload a package with code
    upload_allows_code: orm.Mapped[bool | None] = orm.mapped_column(sa.Boolean)
    #: the number of the attempt to fetch it (fencing token)
    upload_attempt: orm.Mapped[int | None] = orm.mapped_column(sa.Integer)
    onboarding_failure_details: orm.Mapped[ProblemDetails | None] = (
        orm.mapped_column(SolJson(ProblemDetails))
    )
    package_security_option: orm.Mapped[PackageSecurityOption | None] = (
        orm.mapped_column(EnumName(PackageSecurityOption))
    )
    #: PEM
    signing_certificate: orm.Mapped[str | None] = orm.mapped_column(LONG_TEXT)
    additional_artifacts: orm.Mapped[
        tuple[VnfPackageArtifactInfo, ...] | None
    ] = orm.mapped_column(SolJson(tuple[VnfPackageArtifactInfo, ...]))
    #: what it does not conform to, and the onboarding tolerated
    onboarding_warnings: orm.Mapped[tuple[str, ...] | None] = (
        orm.mapped_column(SolJson(tuple[str, ...]))
    )
    #: the parsed VNFD (vnfd.descriptor.Vnfd), read once at onboarding
    vnfd: orm.Mapped[str | None] = orm.mapped_column(LONG_TEXT)


class VnfPackageShare(Base):
    """A project that may read and use a package of another project."""

    __tablename__ = "vnf_package_shares"

    vnf_package_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_packages.id", ondelete="CASCADE"), primary_key=True
    )
    project_id: orm.Mapped[str] = orm.mapped_column(
        ProjectId, primary_key=True, index=True
    )


class Vim(Shareable, Base):
    """A registered VIM, as in /v1.0/vims."""

    __tablename__ = "vims"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "name", name="uq_vims_name"),
        sa.UniqueConstraint(
            "project_id", "is_default", name="uq_vims_is_default"
        ),
    )

    id: orm.Mapped[str] = orm.mapped_column(Id, primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(Name)
    type: orm.Mapped[str] = orm.mapped_column(Name)
    description: orm.Mapped[str] = orm.mapped_column(LONG_TEXT)
    auth_url: orm.Mapped[str] = orm.mapped_column(LONG_TEXT)
    auth_cred: orm.Mapped[dict[str, Any]] = orm.mapped_column(
        SecretJson(dict[str, Any])
    )
    vim_project: orm.Mapped[dict[str, Any]] = orm.mapped_column(
        SolJson(dict[str, Any])
    )
    extra: orm.Mapped[dict[str, Any]] = orm.mapped_column(
        SecretJson(dict[str, Any])
    )
    #: True or NULL, so that the unique index allows one default VIM of a
    #: project
    is_default: orm.Mapped[bool | None] = orm.mapped_column(sa.Boolean)
    created_at: orm.Mapped[datetime.datetime] = orm.mapped_column(UtcDateTime)
    updated_at: orm.Mapped[datetime.datetime | None] = orm.mapped_column(
        UtcDateTime
    )


class VimShare(Base):
    """A project that may read and use a VIM of another project."""

    __tablename__ = "vim_shares"

    vim_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vims.id", ondelete="CASCADE"), primary_key=True
    )
    project_id: orm.Mapped[str] = orm.mapped_column(
        ProjectId, primary_key=True, index=True
    )


class VnfInstance(Owned, Base):
    """SOL003 5.5.2.2, and the operation that has the instance."""

    __tablename__ = "vnf_instances"
    __table_args__ = (
        sa.Index(
            "ix_vnf_instances_project_id", "project_id", "created_at", "id"
        ),
    )

    id: orm.Mapped[str] = orm.mapped_column(Id, primary_key=True)
    vnf_instance_name: orm.Mapped[str | None] = orm.mapped_column(
        Name, index=True
    )
    vnf_instance_description: orm.Mapped[str | None] = orm.mapped_column(
        LONG_TEXT
    )
    vnfd_id: orm.Mapped[str] = orm.mapped_column(Name, index=True)
    #: the package of that VNFD, which cannot be deleted
    vnf_package_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_packages.id"), index=True
    )
    vnf_provider: orm.Mapped[str] = orm.mapped_column(Name)
    vnf_product_name: orm.Mapped[str] = orm.mapped_column(Name)
    vnf_software_version: orm.Mapped[str] = orm.mapped_column(Name)
    vnfd_version: orm.Mapped[str] = orm.mapped_column(Name)
    instantiation_state: orm.Mapped[InstantiationState] = orm.mapped_column(
        EnumName(InstantiationState)
    )
    created_at: orm.Mapped[datetime.datetime] = orm.mapped_column(
        UtcDateTime, index=True
    )
    #: the operation that has the instance, also while it is FAILED_TEMP
    busy_with: orm.Mapped[str | None] = orm.mapped_column(Id)
    #: number of changes, to detect concurrent ones
    generation: orm.Mapped[int] = orm.mapped_column(sa.Integer, default=0)
    vnf_configurable_properties: orm.Mapped[dict[str, Any] | None] = (
        orm.mapped_column(SecretJson(dict[str, Any]))
    )
    vim_connection_info: orm.Mapped[dict[str, VimConnectionInfo] | None] = (
        orm.mapped_column(SecretJson(dict[str, VimConnectionInfo]))
    )
    instantiated_vnf_info: orm.Mapped[InstantiatedVnfInfo | None] = (
        orm.mapped_column(SecretJson(InstantiatedVnfInfo))
    )
    extensions: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(
        SecretJson(dict[str, Any])
    )
    # "metadata" is taken by SQLAlchemy
    vnf_metadata: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(
        "metadata", SecretJson(dict[str, Any])
    )
    #: memory of its management scripts, part of their input
    script_memory: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(
        SecretJson(dict[str, Any])
    )
    #: names of known objects that a failed instantiation left on the VIM;
    #: None: not marked
    leftovers: orm.Mapped[tuple[str, ...] | None] = orm.mapped_column(
        SolJson(tuple[str, ...])
    )
    #: the claim of a conductor that deletes the leftovers, and when it
    #: expires, in seconds since 1970
    cleanup_owner: orm.Mapped[str | None] = orm.mapped_column(Id)
    cleanup_until: orm.Mapped[float | None] = orm.mapped_column(sa.Double)


class VimUse(Base):
    """A VNF instance uses a registered VIM, which cannot be deleted."""

    __tablename__ = "vim_uses"

    vnf_instance_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_instances.id", ondelete="CASCADE"),
        primary_key=True,
    )
    vim_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vims.id"), primary_key=True, index=True
    )


class VimProvider(Base):
    """A VNF instance provides a registered VIM."""

    __tablename__ = "vim_providers"

    vim_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vims.id", ondelete="CASCADE"), primary_key=True
    )
    vnf_instance_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_instances.id", ondelete="CASCADE"), index=True
    )


class VnfdUse(Base):
    """An operation changes a VNF instance to another VNFD, whose package
    cannot be deleted.
    """

    __tablename__ = "vnfd_uses"

    vnf_instance_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_instances.id", ondelete="CASCADE"),
        primary_key=True,
    )
    vnf_package_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_packages.id"), index=True
    )


class VnfLcmOpOcc(Owned, Base):
    """SOL003 5.5.2.13, and the claim of a conductor."""

    __tablename__ = "vnf_lcm_op_occs"
    __table_args__ = (
        sa.Index("ix_vnf_lcm_op_occs_work", "operation_state", "lease_until"),
        sa.Index(
            "ix_vnf_lcm_op_occs_project_id", "project_id", "start_time", "id"
        ),
    )

    id: orm.Mapped[str] = orm.mapped_column(Id, primary_key=True)
    operation_state: orm.Mapped[LcmOperationStateType] = orm.mapped_column(
        EnumName(LcmOperationStateType)
    )
    state_entered_time: orm.Mapped[datetime.datetime] = orm.mapped_column(
        UtcDateTime
    )
    start_time: orm.Mapped[datetime.datetime] = orm.mapped_column(
        UtcDateTime, index=True
    )
    #: no foreign key: an operation outlives its instance
    vnf_instance_id: orm.Mapped[str] = orm.mapped_column(Id, index=True)
    operation: orm.Mapped[LcmOperationType] = orm.mapped_column(
        EnumName(LcmOperationType)
    )
    is_automatic_invocation: orm.Mapped[bool] = orm.mapped_column(sa.Boolean)
    is_cancel_pending: orm.Mapped[bool] = orm.mapped_column(sa.Boolean)
    cancel_mode: orm.Mapped[CancelModeType | None] = orm.mapped_column(
        EnumName(CancelModeType)
    )
    operation_params: orm.Mapped[dict[str, Any]] = orm.mapped_column(
        SecretJson(dict[str, Any])
    )
    error: orm.Mapped[ProblemDetails | None] = orm.mapped_column(
        SecretJson(ProblemDetails)
    )
    resource_changes: orm.Mapped[ResourceChanges | None] = orm.mapped_column(
        SolJson(ResourceChanges)
    )
    changed_info: orm.Mapped[VnfInfoModifications | None] = orm.mapped_column(
        SecretJson(VnfInfoModifications)
    )
    changed_ext_connectivity: orm.Mapped[
        tuple[ExtVirtualLinkInfo, ...] | None
    ] = orm.mapped_column(SecretJson(tuple[ExtVirtualLinkInfo, ...]))
    modifications_triggered_by_vnf_pkg_change: orm.Mapped[
        ModificationsTriggeredByVnfPkgChange | None
    ] = orm.mapped_column(SecretJson(ModificationsTriggeredByVnfPkgChange))
    grant_id: orm.Mapped[str | None] = orm.mapped_column(Name)
    grant_request: orm.Mapped[GrantRequest | None] = orm.mapped_column(
        SecretJson(GrantRequest)
    )
    grant: orm.Mapped[Grant | None] = orm.mapped_column(
        "granted", SecretJson(Grant)
    )
    #: VIM connections, as they were resolved when the operation started
    vim_connections: orm.Mapped[dict[str, VimConnectionInfo]] = (
        orm.mapped_column(SecretJson(dict[str, VimConnectionInfo]))
    )
    #: digest of the VIM, equal for operations on the same one
    #: (lcm.vim_group); None: an earlier release stored the operation
    vim_group: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    #: the step that runs or that failed
    step: orm.Mapped[str | None] = orm.mapped_column(sa.String(24))
    #: the progress of that step, one line for an operator
    progress: orm.Mapped[str | None] = orm.mapped_column(Name)
    #: its steps so far; NULL: none has run
    timeline: orm.Mapped[tuple[TimelineStep, ...] | None] = orm.mapped_column(
        SecretJson(tuple[TimelineStep, ...])
    )
    #: differs after each change of the timeline, or of the log of scripts
    progress_version: orm.Mapped[int] = orm.mapped_column(
        "timeline_version", sa.Integer, default=0, server_default="0"
    )
    #: checkpoint of the driver, saved before it does what cannot be undone
    #: (a list: of an earlier version, ignored)
    checkpoint: orm.Mapped[dict[str, Any] | list[str]] = orm.mapped_column(
        "notes", SecretJson(dict[str, Any] | list[str])
    )
    #: changes of the instance by its scripts, and their log
    script_changes: orm.Mapped[InstanceChanges | None] = orm.mapped_column(
        SecretJson(InstanceChanges)
    )
    script_log: orm.Mapped[str | None] = orm.mapped_column(SecretJson(str))
    #: the request that started, retried or rolled it back last; None: an
    #: earlier release stored the operation
    request_id: orm.Mapped[str | None] = orm.mapped_column(sa.String(40))
    #: the user of that request
    requested_by: orm.Mapped[str | None] = orm.mapped_column(UserId)
    #: the conductor that runs it, its fencing token, and the end of its lease
    #: in seconds since 1970
    owner: orm.Mapped[str | None] = orm.mapped_column(Name)
    fence: orm.Mapped[int] = orm.mapped_column(sa.Integer)
    #: number of recorded ends of steps, so that none is recorded twice
    recorded: orm.Mapped[int] = orm.mapped_column(
        sa.Integer, default=0, server_default="0"
    )
    lease_until: orm.Mapped[float] = orm.mapped_column(sa.Double)


class Quota(Base):
    """The quotas of one project; NULL: that of the configuration.

    A transaction that creates something locks the row first, so that no other
    one counts meanwhile.
    """

    __tablename__ = "quotas"

    project_id: orm.Mapped[str] = orm.mapped_column(
        ProjectId, primary_key=True
    )
    vnf_instances: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    vnf_packages: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    package_bytes: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    vims: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    subscriptions: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    operations: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)


class OperationPlan(Base):
    """The plan of the latest attempt of an operation."""

    __tablename__ = "operation_plans"

    vnf_lcm_op_occ_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("vnf_lcm_op_occs.id", ondelete="CASCADE"),
        primary_key=True,
    )
    plan: orm.Mapped[VnfPlan] = orm.mapped_column(SecretJson(VnfPlan))


class IdempotencyKey(Base):
    """The resource that a request with an Idempotency-Key created or changed."""

    __tablename__ = "idempotency_keys"

    #: digest of the client and of the key that it sent
    id: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    #: digest of the request; encrypted, since a body with few unknown
    #: characters could be guessed from it
    fingerprint: orm.Mapped[str] = orm.mapped_column(SecretJson(str))
    #: ID of the resource
    made: orm.Mapped[str] = orm.mapped_column(Id)
    kept_at: orm.Mapped[float] = orm.mapped_column(sa.Double, index=True)


class Lease(Base):
    """A lease for work that one process does at a time."""

    __tablename__ = "leases"

    #: the work, such as "sync" or "watch <key of the VIM>"
    name: orm.Mapped[str] = orm.mapped_column(Name, primary_key=True)
    owner: orm.Mapped[str | None] = orm.mapped_column(Name)
    lease_until: orm.Mapped[float] = orm.mapped_column(sa.Double)


class Conductor(Base):
    """A conductor that is alive, by the clock of the database."""

    __tablename__ = "conductors"

    owner: orm.Mapped[str] = orm.mapped_column(Name, primary_key=True)
    started: orm.Mapped[float] = orm.mapped_column(sa.Double)
    heartbeat: orm.Mapped[float] = orm.mapped_column(sa.Double)
    lease_until: orm.Mapped[float] = orm.mapped_column(sa.Double)


class LccnSubscription(Owned, Base):
    """SOL003 5.5.2.16 or 10.5.2.4, and the credentials for its
    notifications.
    """

    __tablename__ = "lccn_subscriptions"
    __table_args__ = (
        sa.Index(
            "ix_lccn_subscriptions_project_id",
            "project_id",
            "created_at",
            "id",
        ),
    )

    id: orm.Mapped[str] = orm.mapped_column(Id, primary_key=True)
    filter: orm.Mapped[LifecycleChangeNotificationsFilter | None] = (
        orm.mapped_column(SolJson(LifecycleChangeNotificationsFilter))
    )
    #: the filter of a subscription to packages
    package_filter: orm.Mapped[PkgmNotificationsFilter | None] = (
        orm.mapped_column(SolJson(PkgmNotificationsFilter))
    )
    callback_uri: orm.Mapped[str] = orm.mapped_column(LONG_TEXT)
    verbosity: orm.Mapped[LcmOpOccNotificationVerbosityType] = (
        orm.mapped_column(
            EnumName(LcmOpOccNotificationVerbosityType),
            default=LcmOpOccNotificationVerbosityType.FULL,
        )
    )
    authentication: orm.Mapped[SubscriptionAuthentication | None] = (
        orm.mapped_column(SecretJson(SubscriptionAuthentication))
    )
    #: whether it receives the notifications of all projects
    all_projects: orm.Mapped[bool] = orm.mapped_column(sa.Boolean)
    #: base URL by which the subscriber reaches this API
    api_base: orm.Mapped[str] = orm.mapped_column(LONG_TEXT)
    #: by which it was created; its notifications have the same version
    api: orm.Mapped[Api] = orm.mapped_column(
        "api_version", EnumName(Api), server_default=Api.LCM_V2
    )
    created_at: orm.Mapped[datetime.datetime] = orm.mapped_column(
        UtcDateTime, index=True
    )


class LifecycleEvent(Base):
    """An event, until its notifications are delivered, and for some time
    after it, so that clients of streams can read it.
    """

    __tablename__ = "lifecycle_events"
    __table_args__ = (
        sa.Index("ix_lifecycle_events_fanned_out", "fanned_out", "id"),
        {"sqlite_autoincrement": True},
    )

    #: larger for a later event of the same instance or package
    id: orm.Mapped[int] = orm.mapped_column(Count, primary_key=True)
    announcement: orm.Mapped[Announcement] = orm.mapped_column(
        SecretJson(Announcement)
    )
    #: the project of the instance or package
    project_id: orm.Mapped[str] = orm.mapped_column(ProjectId)
    #: whether a delivery was made for each subscription that matches
    fanned_out: orm.Mapped[bool] = orm.mapped_column(sa.Boolean)
    #: of a VNF package, or of a VNF instance; None: as added_at
    is_of_package: orm.Mapped[bool | None] = orm.mapped_column(sa.Boolean)
    #: in seconds since 1970; None: an earlier release added it
    added_at: orm.Mapped[float | None] = orm.mapped_column(sa.Double)


class Delivery(Base):
    """A pending notification of one event to one subscriber."""

    __tablename__ = "deliveries"
    __table_args__ = (
        sa.Index("ix_deliveries_state", "state", "subscription_id"),
    )

    subscription_id: orm.Mapped[str] = orm.mapped_column(
        sa.ForeignKey("lccn_subscriptions.id", ondelete="CASCADE"),
        primary_key=True,
    )
    event_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("lifecycle_events.id"), primary_key=True, index=True
    )
    #: or the ID of the package
    vnf_instance_id: orm.Mapped[str] = orm.mapped_column(Id)
    state: orm.Mapped[DeliveryState] = orm.mapped_column(
        EnumName(DeliveryState)
    )
    attempts: orm.Mapped[int] = orm.mapped_column(sa.Integer)
    #: when it failed for the first time, in seconds since 1970
    failing_since: orm.Mapped[float | None] = orm.mapped_column(sa.Double)
    #: why it failed the last time
    error: orm.Mapped[str | None] = orm.mapped_column(LONG_TEXT)
