"""What an operation did to the VNF's resources (SOL003 5.5.3.3 and on)."""

from collections.abc import Iterable, Mapping

from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, VnfcResourceInfo
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedVnfc,
    ChangeType,
    ResourceChanges,
)


def between(
    before: InstantiatedVnfInfo | None, after: InfraResult | None
) -> ResourceChanges:
    """Compare what was known of an instance with what a driver found."""
    old = _by_identity(before.vnfc_resource_info if before else ())
    new = _by_identity(after.vnfc_resource_info if after else ())
    kind = ChangeType
    gone = [_affected(v, kind.REMOVED) for k, v in old.items() if k not in new]
    come = [_affected(v, kind.ADDED) for k, v in new.items() if k not in old]
    return ResourceChanges(affected_vnfcs=(*gone, *come))


def _by_identity(
    vnfcs: Iterable[VnfcResourceInfo],
) -> Mapping[tuple[str, str | None], VnfcResourceInfo]:
    # A pod of a StatefulSet that was replaced has the same name again, so
    # the VIM's own unchangeable id, where there is one, tells them apart.
    return {(vnfc.id, vnfc.metadata.get("uid")): vnfc for vnfc in vnfcs}


def _affected(vnfc: VnfcResourceInfo, change: ChangeType) -> AffectedVnfc:
    return AffectedVnfc(
        id=vnfc.id,
        vdu_id=vnfc.vdu_id,
        change_type=change,
        compute_resource=vnfc.compute_resource,
        zone_id=vnfc.zone_id,
        metadata=vnfc.metadata,
    )
