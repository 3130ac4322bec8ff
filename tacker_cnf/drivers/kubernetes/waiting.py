"""Waits by watching: a list, then the events that change it."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.api_errors import Expired
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.runtime.cancellation import Deadline

Object = dict[str, Any]

#: seconds that a watch lasts at least, or it was cut off
MIN_WATCH_S: Final = 0.5
#: seconds after which a quiet watch is opened anew
MAX_WATCH_S: Final = 60.0


class Pending:
    """A verdict: go on waiting, and look again after some seconds even if
    nothing happens.
    """

    def __init__(self, recheck_after_s: float = MAX_WATCH_S) -> None:
        self.recheck_after_s = recheck_after_s


#: looks at all objects of a watch; None means that all is well
WaitCheck = Callable[[Iterable[Object]], Pending | None]


def wait(
    cluster: Cluster,
    resource: Any,
    namespace: str | None,
    check: WaitCheck,
    deadline: Deadline,
    **selectors: str,
) -> bool:
    """Watch objects until the judge is content, or the deadline passes.

    :raises InfraError: what the judge raises, or the cluster
    :raises VnfmError: the work was called off at once
    """
    while True:
        listed = cluster.list(resource, namespace, **selectors)
        watched = WatchedObjects(listed)
        try:
            while True:
                pending = check(watched.objects.values())
                if pending is None or deadline.passed:
                    return pending is None
                timeout = min(pending.recheck_after_s, deadline.remaining)
                version, started = watched.version, time.monotonic()
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
                    and time.monotonic() < started + MIN_WATCH_S
                ):
                    # somebody between us and the cluster cuts watches
                    cluster.cancel_token.wait(MIN_WATCH_S)
        except Expired:
            continue


class WatchedObjects:
    """The objects of one watch, as the last event left them."""

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
        """Take events in until the judge is content, or it is over."""
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
