"""Finalizers: what holds an object that was deleted."""

from collections.abc import Iterable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.readiness_checks import FaultGrace
from tacker_cnf.drivers.kubernetes.waiting import MAX_WATCH_S

Object = dict[str, Any]

#: those of the garbage collector, which end with the dependents
GC_FINALIZERS: Final = frozenset({"foregroundDeletion", "orphan"})


def describe_blocked(body: Object) -> str:
    """Name an object that was deleted, and what holds it."""
    names = ", ".join(_finalizers(body))
    name = str(body["metadata"]["name"])
    return f"{name} (finalizers: {names})" if names else name


class Finalizers:
    """Notices objects that their finalizers do not release.

    :param timeout: seconds for which the same ones may hold an object
    """

    def __init__(self, kind: str, timeout: float) -> None:
        self._kind = kind
        self._timeout = timeout
        self._fault_grace = FaultGrace(timeout)

    def check(self, bodies: Iterable[Object]) -> float:
        """Return after how many seconds to look again.

        :raises NotReady: finalizers have held an object for too long
        """
        next_check_s = MAX_WATCH_S
        for body in filter(_is_blocked, bodies):
            names = ", ".join(_finalizers(body))
            remaining_s = self._fault_grace.remaining(
                body["metadata"]["uid"], names
            )
            if remaining_s <= 0:
                raise self._not_released(body["metadata"]["name"], names)
            next_check_s = min(next_check_s, remaining_s)
        return next_check_s

    def _not_released(self, name: str, names: str) -> errors.NotReady:
        return errors.NotReady(
            f"{self._kind} {name} was deleted and is held by its finalizers "
            f"({names}), which have not ended within {self._timeout:.3g} "
            "seconds. Let the controllers that set them end them, or remove "
            "them from the object; then retry."
        )


def _is_blocked(body: Object) -> bool:
    """Check whether nothing but finalizers of others than the garbage
    collector holds an object; a pod may still have time to end.
    """
    meta = body["metadata"]
    grace_period_over = not meta.get("deletionGracePeriodSeconds")
    others = not GC_FINALIZERS.issuperset(_finalizers(body))
    return "deletionTimestamp" in meta and grace_period_over and others


def _finalizers(body: Object) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())
