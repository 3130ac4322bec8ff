"""Checks that each VDU has its workload in the manifests."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Rendered,
    parameters_of,
)
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.vnfd.model import Vdu

MAPPING: Final = "additionalParams.vdu_mapping"
#: maximum number of workloads in an error
_MAX_LISTED: Final = 20


def check(task: InfraTask, rendered: Rendered) -> None:
    """Check that each VDU with VNFCs has a workload, and that vdu_mapping is
    valid.

    :raises InvalidParameters: a workload is missing, or the mapping is invalid
    """
    vdus = flavour_of(task.package.vnfd, task.change.state.flavour_id).vdus
    _check_mapping(rendered, vdus, task.change.parameters)
    missing = sorted(
        vdu
        for vdu, count in task.change.state.counts.items()
        if count and vdu not in rendered.workloads
    )
    if missing:
        raise errors.InvalidParameters(
            _missing_message(missing, rendered, vdus)
        )


def check_names(task: InfraTask) -> None:
    """Check that another VNFD gives the existing workloads the same names.
    Its manifests are not checked, as scripts may change them.

    :raises InvalidParameters: the VNFD gives a VDU another name
    """
    current = task.change.current
    assert current is not None
    vdus = flavour_of(task.package.vnfd, current.flavour_id).vdus
    mapped = parameters_of(current).vdu_mapping
    for vdu, body in current.parameters.get("vdu_reses", {}).items():
        name = body["metadata"]["name"]
        if vdu in vdus and vdu not in mapped and vdus[vdu].name != name:
            raise errors.InvalidParameters(
                f"vnfdId: VDU {vdu} is the {body['kind']} {name}, but VNFD "
                f"{task.package.vnfd.id} gives it the name {vdus[vdu].name} "
                "(properties.name). Its kind and name cannot change: correct "
                "the package."
            )


def _check_mapping(
    rendered: Rendered,
    vdus: Mapping[str, Vdu],
    requested: Mapping[str, Any],
) -> None:
    """Check the mapping. That of an earlier request may have VDUs that the
    present flavour lacks; they are ignored.
    """
    found: dict[tuple[str, str], str] = {}
    for vdu, workload in sorted(rendered.vdu_mapping.items()):
        if vdu not in vdus:
            if vdu not in (requested.get("vdu_mapping") or ()):
                continue
            raise errors.InvalidParameters(
                f"{MAPPING}: there is no VDU {vdu!r}, only "
                f"{', '.join(sorted(vdus))}."
            )
        if workload.kind not in VDU_KINDS:
            raise errors.InvalidParameters(
                f"{MAPPING}: VDU {vdu}: a {workload.kind} is not a workload; "
                f"use one of {', '.join(sorted(VDU_KINDS))}."
            )
        other = found.setdefault((workload.kind, workload.name), vdu)
        if other != vdu:
            raise errors.InvalidParameters(
                f"{MAPPING}: VDUs {other}, {vdu} are both the {workload.kind} "
                f"{workload.name}; each needs a workload of its own."
            )


def _missing_message(
    missing: Iterable[str], rendered: Rendered, vdus: Mapping[str, Vdu]
) -> str:
    reasons = [
        f"VDU {vdu} has no workload: {_expected(vdu, rendered, vdus)}"
        for vdu in missing
    ]
    present = [str(m) for m in rendered.objects if m.kind in VDU_KINDS]
    remainder = (
        f" and {len(present) - _MAX_LISTED} more"
        if present[_MAX_LISTED:]
        else ""
    )
    summary = (
        f"The workloads are {', '.join(present[:_MAX_LISTED])}{remainder}."
        if present
        else "There is no workload in the manifests that are listed."
    )
    return (
        f"additionalParams.lcm-kubernetes-def-files: {' '.join(reasons)} "
        f"{summary} List the manifest, correct one of the names, or set "
        f"{MAPPING}."
    )


def _expected(vdu: str, rendered: Rendered, vdus: Mapping[str, Vdu]) -> str:
    if mapped := rendered.vdu_mapping.get(vdu):
        return f"no manifest has the {mapped.kind} {mapped.name}."
    name = vdus[vdu].name if vdu in vdus else vdu
    kinds = ", ".join(sorted(VDU_KINDS))
    return (
        f"no manifest of a {kinds} is named {name} (properties.name in the "
        "VNFD)."
    )
