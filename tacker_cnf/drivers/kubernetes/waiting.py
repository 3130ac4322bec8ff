"""Waits for objects: lists them, then watches their changes."""

import contextlib
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.api_errors import Expired
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.runtime.cancellation import Deadline

#: minimum duration of a watch; shorter ones were cut by a proxy
MIN_WATCH_S: Final = 0.5
#: maximum duration of a watch request; it is then repeated
MAX_WATCH_S: Final = 60.0


class Pending:
    """Result of a check that has to be repeated, when an object changes or
    after some seconds.
    """

    def __init__(self, recheck_after_s: float = MAX_WATCH_S) -> None:
        self.recheck_after_s = recheck_after_s


#: checks all watched objects; None: the wait is over
WaitCheck = Callable[[Iterable[Object]], Pending | None]


def wait(
    cluster: Cluster,
    resource: Any,
    namespace: str | None,
    check: WaitCheck,
    deadline: Deadline,
    **selectors: str,
) -> bool:
    """Watch objects until the check returns None or the deadline passes.

    :returns: whether the check has returned None
    :raises InfraError: the check or the cluster failed
    :raises VnfmError: the task was cancelled forcefully
    """
    clock = cluster.cancel_token.clock
    while True:
        listed = cluster.list(resource, namespace, **selectors)
        watched = WatchedObjects(listed)
        try:
            while True:
                pending = check(watched.objects.values())
                if pending is None or deadline.passed:
                    return pending is None
                timeout = min(pending.recheck_after_s, deadline.remaining)
                version, started = watched.version, clock.monotonic()
                with contextlib.closing(
                    cluster.watch(
                        resource,
                        namespace,
                        watched.version,
                        max(math.ceil(min(timeout, MAX_WATCH_S)), 1),
                        **selectors,
                    )
                ) as stream:
                    watched.apply_events(stream, check, deadline)
                if (
                    watched.version == version
                    and clock.monotonic() < started + MIN_WATCH_S
                ):
                    # a proxy in front of the cluster cuts watches
                    cluster.cancel_token.wait(MIN_WATCH_S)
        except Expired:
            continue


class WatchedObjects:
    """The objects of a watch, up to its last event."""

    def __init__(self, listed: Object) -> None:
        self.version: str = listed["metadata"]["resourceVersion"]
        self.objects: dict[str, Object] = {
            body["metadata"]["uid"]: body for body in listed["items"]
        }

    def apply_events(
        self,
        stream: Iterable[tuple[str, Object]],
        check: WaitCheck,
        deadline: Deadline,
    ) -> None:
        """Apply events until the check returns None or the deadline passes."""
        for change, body in stream:
            self.version = body["metadata"]["resourceVersion"]
            if change == "BOOKMARK":
                continue
            self._apply_event(change, body)
            if check(self.objects.values()) is None or deadline.passed:
                return

    def _apply_event(self, change: str, body: Object) -> None:
        if change == "DELETED":
            self.objects.pop(body["metadata"]["uid"], None)
        else:
            self.objects[body["metadata"]["uid"]] = body
