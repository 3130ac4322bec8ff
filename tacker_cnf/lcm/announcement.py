"""What happened to a VNF instance, with all that a notification may tell."""

import datetime

import msgspec

from tacker_cnf.lcm import redaction
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.subscription import NotificationType
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc


class Subject(SolType):
    """The VNF instance, by what a subscription may choose it."""

    id: str
    vnf_instance_name: str | None = None
    vnfd_id: str
    vnf_provider: str
    vnf_product_name: str
    vnf_software_version: str
    vnfd_version: str


class Announcement(SolType):
    """One change, as it was when it happened; there are no secrets in it."""

    #: what all notifications about it have as their id
    id: str
    type: NotificationType
    time_stamp: datetime.datetime
    subject: Subject
    op_occ: VnfLcmOpOcc | None = None


def subject(instance: VnfInstance) -> Subject:
    """Tell of an instance what subscriptions choose by."""
    names = Subject.__struct_fields__
    return Subject(**{name: getattr(instance, name) for name in names})


def redact_op_occ(op_occ: VnfLcmOpOcc) -> VnfLcmOpOcc:
    """Leave out what is secret, and what no notification tells."""
    reduced = msgspec.structs.replace(
        op_occ, operation_params=None, script_log=None
    )
    return redaction.op_occ(reduced)
