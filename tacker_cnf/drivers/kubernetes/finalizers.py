"""Finalizers that block the deletion of objects."""

from collections.abc import Iterable
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.readiness_checks import FaultGrace
from tacker_cnf.drivers.kubernetes.waiting import MAX_WATCH_S
from tacker_cnf.runtime.clock import Clock

#: finalizers of the garbage collector, removed with the dependents
GC_FINALIZERS: Final = frozenset({"foregroundDeletion", "orphan"})


def describe_blocked(body: Object) -> str:
    """Return the name of a deleted object, and its finalizers."""
    names = ", ".join(_finalizers(body))
    name = str(body["metadata"]["name"])
    return f"{name} (finalizers: {names})" if names else name


class Finalizers:
    """Detects deleted objects whose finalizers are not removed.

    :param timeout: seconds after which unchanged finalizers are an error
    """

    def __init__(self, kind: str, timeout: float, clock: Clock) -> None:
        self._kind = kind
        self._timeout = timeout
        self._fault_grace = FaultGrace(timeout, clock)

    def check(self, bodies: Iterable[Object]) -> float:
        """Check deleted objects; return the seconds until the next check.

        :raises NotReady: the finalizers of an object were not removed in time
        """
        next_check_s = MAX_WATCH_S
        for body in filter(_is_blocked, bodies):
            names = ", ".join(_finalizers(body))
            remaining_s = self._fault_grace.remaining(
                body["metadata"]["uid"], names
            )
            if remaining_s <= 0:
                raise self._not_removed_error(body["metadata"]["name"], names)
            next_check_s = min(next_check_s, remaining_s)
        return next_check_s

    def _not_removed_error(self, name: str, names: str) -> errors.NotReady:
        return errors.NotReady(
            f"{self._kind} {name} is being deleted; its finalizers ({names}) "
            "block the deletion and were not removed within "
            f"{self._timeout:.3g} seconds. Let the controllers that set them "
            "remove them, or remove them from the object yourself; then retry."
        )


def _is_blocked(body: Object) -> bool:
    """Return whether only finalizers, other than those of the garbage
    collector, block the deletion; a pod may still be in its grace period.
    """
    meta = body["metadata"]
    grace_period_over = not meta.get("deletionGracePeriodSeconds")
    others = not GC_FINALIZERS.issuperset(_finalizers(body))
    return "deletionTimestamp" in meta and grace_period_over and others


def _finalizers(body: Object) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())
