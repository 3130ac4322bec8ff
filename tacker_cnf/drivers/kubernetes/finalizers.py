"""Finalizers: what holds an object that was deleted."""

from collections.abc import Iterable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.judges import Patience
from tacker_cnf.drivers.kubernetes.waiting import LONGEST

Object = dict[str, Any]

#: those of the garbage collector, which end with the dependents
COLLECTED: Final = frozenset({"foregroundDeletion", "orphan"})


def described(body: Object) -> str:
    """Name an object that was deleted, and what holds it."""
    held = ", ".join(_finalizers(body))
    name = str(body["metadata"]["name"])
    return f"{name} (finalizers: {held})" if held else name


class Finalizers:
    """Notices objects that their finalizers do not release.

    :param timeout: seconds for which the same ones may hold an object
    """

    def __init__(self, kind: str, timeout: float) -> None:
        self._kind = kind
        self._timeout = timeout
        self._patience = Patience(timeout)

    def look(self, bodies: Iterable[Object]) -> float:
        """Return after how many seconds to look again.

        :raises NotReady: finalizers have held an object for too long
        """
        soonest = LONGEST
        for body in filter(_is_held, bodies):
            names = ", ".join(_finalizers(body))
            left = self._patience.left(body["metadata"]["uid"], names)
            if left <= 0:
                raise self._not_released(body["metadata"]["name"], names)
            soonest = min(soonest, left)
        return soonest

    def _not_released(self, name: str, names: str) -> errors.NotReady:
        return errors.NotReady(
            f"{self._kind} {name} was deleted and is held by its finalizers "
            f"({names}), which have not ended within {self._timeout:.3g} "
            "seconds. Let the controllers that set them end them, or remove "
            "them from the object; then retry."
        )


def _is_held(body: Object) -> bool:
    """Check whether nothing but finalizers of others than the garbage
    collector holds an object; a pod may still have time to end.
    """
    meta = body["metadata"]
    time_is_up = not meta.get("deletionGracePeriodSeconds")
    others = not COLLECTED.issuperset(_finalizers(body))
    return "deletionTimestamp" in meta and time_is_up and others


def _finalizers(body: Object) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())
