"""Checks for problems after a storm."""

import collections
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tests.storm import history
from tests.storm.cluster import Write
from tests.storm.history import Cleanup, Version

#: a state that is valid from a point in time
Moment = TypeVar("Moment", Version, Cleanup)
FINAL = {"COMPLETED", "ROLLED_BACK", "FAILED"}


def find_lost(
    accepted: Collection[str], present: Collection[str]
) -> list[str]:
    """Return the operations that were accepted and do not exist."""
    return [f"{id_} was not found" for id_ in {*accepted} - {*present}]


def find_duplicates(
    accepted: Collection[str], versions: Iterable[Version]
) -> list[str]:
    """Return operations that were created twice by one request, claimed by
    two conductors at once, or have a step that was recorded twice.
    """
    found = []
    for op_occ_id, own in history.by_op_occ(versions).items():
        if op_occ_id not in accepted:
            found.append(f"{op_occ_id} was created, and no request has its id")
        for before, after in itertools.pairwise(own):
            found += _find_double_steps(before, after)
    return found


def _find_double_steps(before: Version, after: Version) -> list[str]:
    found = []
    others = {before.owner, after.owner}
    if (
        None not in others
        and len(others) == 2
        and after.at < before.lease_until
    ):
        found.append(
            f"{after.op_occ_id} was claimed by {after.owner}, "
            f"{before.lease_until - after.at:.3f} s before the lease of "
            f"{before.owner} ended"
        )
    if after.recorded - before.recorded not in {0, 1}:
        found.append(
            f"{after.op_occ_id}: its steps were counted from "
            f"{before.recorded} to {after.recorded}"
        )
    if after.recorded != before.recorded and after.fence != before.fence:
        found.append(f"{after.op_occ_id}: a step was recorded with a claim")
    return found


def find_stuck(
    present: Mapping[str, str], busy: Mapping[str, str]
) -> list[str]:
    """Return the operations that have not ended, and the instances that are
    busy with one that has ended.

    :param present: the state of each operation
    :param busy: instance -> the operation it is busy with
    """
    found = [
        f"{op_occ_id} is {state}"
        for op_occ_id, state in present.items()
        if state not in FINAL
    ]
    found += [
        f"instance {instance} is busy with {op_occ_id}"
        for instance, op_occ_id in busy.items()
        if present.get(op_occ_id) in {*FINAL, None}
    ]
    return found


def find_missing_notifications(
    versions: Iterable[Version], received: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return the operations without exactly one notification for each state,
    in order. Repeated ones count once.
    """
    first = {one["id"]: one for one in reversed(received)}
    sent: dict[str, list[str]] = {}
    for one in received:
        if first.get(one["id"]) is one and "vnfLcmOpOccId" in one:
            sent.setdefault(one["vnfLcmOpOccId"], []).append(
                one["operationState"]
            )
    found = []
    for op_occ_id, own in history.by_op_occ(versions).items():
        expected, actual = history.states(own), sent.get(op_occ_id, [])
        if expected != actual:
            found.append(f"{op_occ_id}: {expected}, but received {actual}")
    return found


def find_missing_instance_notifications(
    created: Collection[str],
    deleted: Collection[str],
    received: Iterable[Mapping[str, Any]],
) -> list[str]:
    """Return the instances whose creation or deletion was not notified."""
    sent: dict[str, set[str]] = collections.defaultdict(set)
    for one in received:
        sent[one["notificationType"]].add(one["vnfInstanceId"])
    wanted = {"Creation": created, "Deletion": deleted}
    return [
        f"{instance}: no {kind} notification"
        for kind, instances in wanted.items()
        for instance in set(instances)
        - sent[f"VnfIdentifier{kind}Notification"]
    ]


def find_unclaimed_writes(
    writes: Sequence[Write],
    versions: Iterable[Version],
    cleanups: Sequence[Cleanup] = (),
) -> list[str]:
    """Return the writes to the cluster by processes that had neither a lease
    of an operation of that instance at that time, nor the claim to remove its
    leftovers.
    """
    of_instance: dict[str, dict[str, list[Version]]] = {}
    for op_occ_id, own in history.by_op_occ(versions).items():
        own_instance = of_instance.setdefault(own[0].instance_id, {})
        own_instance[op_occ_id] = own
    removals = _Removals(cleanups)
    return [
        _describe_write(write, of_instance.get(write.instance_id or "", {}))
        for write in writes
        if not _is_claimed(
            write, of_instance.get(write.instance_id or "", {}).values()
        )
        and not removals.allow(write)
    ]


class _Removals:
    """The claims to remove leftovers of instances, each for one process."""

    def __init__(self, cleanups: Sequence[Cleanup]) -> None:
        self._cleanups: dict[str, list[Cleanup]] = {}
        for one in cleanups:
            self._cleanups.setdefault(one.instance_id, []).append(one)
        #: token of a claim -> the first process that removed under it
        self._senders: dict[str, int] = {}

    def allow(self, write: Write) -> bool:
        own = self._cleanups.get(write.instance_id or "", [])
        now = _state_at(write.at, own)
        if now is None or write.sender is None or write.method != "DELETE":
            return False
        if now.is_deleted:
            return True
        if now.token is None or now.until is None or write.at > now.until:
            return False
        first = self._senders.setdefault(now.token, write.sender)
        return first == write.sender


def _is_claimed(write: Write, op_occs: Iterable[Sequence[Version]]) -> bool:
    return write.sender is not None and any(
        now is not None and now.is_held_by(write.sender, write.at)
        for now in (_state_at(write.at, own) for own in op_occs)
    )


def _state_at(instant: float, own: Sequence[Moment]) -> Moment | None:
    """Return the state at a point in time."""
    return next((one for one in reversed(own) if one.at <= instant), None)


def _describe_write(
    write: Write, op_occs: Mapping[str, Sequence[Version]]
) -> str:
    """Describe a write, and the last lease that its sender had."""
    had = [
        (one.lease_until, op_occ_id)
        for op_occ_id, own in op_occs.items()
        for one in own
        if one.at <= write.at
        and one.owner
        and one.owner.split(":")[1] == str(write.sender)
    ]
    ago = "it never had a lease"
    if had:
        until, op_occ_id = max(had)
        ago = f"its lease on {op_occ_id} ended {write.at - until:+.3f} s ago"
    states = [
        f"{own[0].operation} {op_occ_id} {now.state} owner {now.owner}"
        for op_occ_id, own in op_occs.items()
        if (now := _state_at(write.at, own)) and now.state not in FINAL
    ]
    return (
        f"{write.at:.3f} {write.sender} {write.method} {write.path} "
        f"({write.outcome}): {ago}; {'; '.join(states) or 'no operation runs'}"
    )


def find_differing_replicas(
    instance: Mapping[str, Any],
    pods: Mapping[tuple[str, str], Collection[str]],
    replicas: Mapping[tuple[str, str], int],
) -> list[str]:
    """Return the differences between an instance and the cluster; a lost VNFC
    has no pod.

    :param pods: (instance, VDU) -> names
    :param replicas: (instance, workload) -> spec.replicas
    """
    own = instance["id"]
    recorded: dict[str, set[str]] = collections.defaultdict(set)
    for vnfc in instance["instantiatedVnfInfo"].get("vnfcResourceInfo", ()):
        if not vnfc.get("metadata", {}).get("lost"):
            recorded[vnfc["vduId"]].add(vnfc["computeResource"]["resourceId"])
    actual = {
        vdu: set(names) for (of, vdu), names in pods.items() if of == own
    }
    found = [
        f"{own} {vdu}: VNFCs {sorted(recorded[vdu])}, pods {sorted(names)}"
        for vdu in recorded.keys() | actual.keys()
        if recorded[vdu] != (names := actual.get(vdu, set()))
    ]
    found += [
        f"{own} {vdu}: {len(recorded[vdu])} VNFCs, {count} replicas"
        for (of, vdu), count in replicas.items()
        if of == own and count != len(recorded[vdu])
    ]
    levels = instance["instantiatedVnfInfo"].get("scaleStatus", ())
    for level in levels:
        vdu = level["aspectId"].removesuffix("_aspect")
        expected = 1 + level["scaleLevel"]
        if (own, vdu) in replicas and replicas[own, vdu] != expected:
            found.append(
                f"{own} {vdu}: scale level {level['scaleLevel']}, "
                f"{replicas[own, vdu]} replicas"
            )
    return found
