"""An event of a VNF instance or a VNF package, with all data that
notifications may carry.
"""

import datetime

import msgspec

from tacker_cnf.lcm import redaction
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.package_notification import PackageChangeType
from tacker_cnf.sol.package_subscription import PackageNotificationType
from tacker_cnf.sol.subscription import NotificationType
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc
from tacker_cnf.sol.vnf_package import OperationalState, UsageState


class Subject(SolType):
    """The attributes of a VNF instance or a VNF package that subscription
    filters match.
    """

    id: str
    vnf_instance_name: str | None = None
    vnfd_id: str
    vnf_provider: str
    vnf_product_name: str
    vnf_software_version: str
    vnfd_version: str


class PackageEvent(SolType):
    """What has happened to a VNF package, and the package after it."""

    #: None: it was onboarded
    change: PackageChangeType | None = None
    operational_state: OperationalState
    usage_state: UsageState
    is_public: bool = False
    #: the other projects that may use it
    shared_with: tuple[str, ...] = ()

    @property
    def type(self) -> PackageNotificationType:
        """The type of the notifications."""
        if self.change is None:
            return PackageNotificationType.ONBOARDING
        return PackageNotificationType.CHANGE


class Announcement(SolType):
    """One event as of its time, without secrets."""

    #: the id of all its notifications
    id: str
    #: None: of a package
    type: NotificationType | None = None
    time_stamp: datetime.datetime
    subject: Subject
    op_occ: VnfLcmOpOcc | None = None
    package: PackageEvent | None = None

    @property
    def request_id(self) -> str | None:
        """The request of its operation; None: it is not of an operation."""
        return self.op_occ.request_id if self.op_occ else None


def subject(instance: VnfInstance) -> Subject:
    """Return the attributes of an instance that filters match."""
    names = Subject.__struct_fields__
    return Subject(**{name: getattr(instance, name) for name in names})


def redact_op_occ(op_occ: VnfLcmOpOcc, names: ShownNames) -> VnfLcmOpOcc:
    """Hide what is not shown, and remove attributes that no notification
    carries, and the resources of the timeline, which may be many.
    """
    reduced = msgspec.structs.replace(
        op_occ,
        operation_params=None,
        script_log=None,
        timeline=tuple(
            msgspec.structs.replace(step, resources=())
            for step in op_occ.timeline
        ),
    )
    return redaction.op_occ(reduced, names)
