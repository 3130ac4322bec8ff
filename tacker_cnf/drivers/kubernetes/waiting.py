"""Waits by watching: a list, then the events that change it."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.refusals import Expired
from tacker_cnf.halting import Deadline

Object = dict[str, Any]

#: seconds that a watch lasts at least, or it was cut off
BRIEF: Final = 0.5
#: seconds after which a quiet watch is opened anew
LONGEST: Final = 60.0


class NotYet:
    """A verdict: go on waiting, and look again after some seconds even if
    nothing happens.
    """

    def __init__(self, look_again: float = LONGEST) -> None:
        self.look_again = look_again


#: looks at all objects of a watch; None means that all is well
Judge = Callable[[Iterable[Object]], NotYet | None]


def wait(
    cluster: Cluster,
    resource: Any,
    namespace: str | None,
    judge: Judge,
    deadline: Deadline,
    **selectors: str,
) -> bool:
    """Watch objects until the judge is content, or the deadline passes.

    :raises InfraError: what the judge raises, or the cluster
    :raises VnfmError: the work was called off at once
    """
    while True:
        listed = cluster.list(resource, namespace, **selectors)
        seen = Seen(listed)
        try:
            while True:
                verdict = judge(seen.objects.values())
                if verdict is None or deadline.passed:
                    return verdict is None
                quiet = min(verdict.look_again, deadline.remaining)
                version, begun = seen.version, time.monotonic()
                with contextlib.closing(
                    cluster.watch(
                        resource,
                        namespace,
                        seen.version,
                        max(math.ceil(min(quiet, LONGEST)), 1),
                        **selectors,
                    )
                ) as stream:
                    seen.follow(stream, judge, deadline)
                if (
                    seen.version == version
                    and time.monotonic() < begun + BRIEF
                ):
                    # somebody between us and the cluster cuts watches
                    cluster.halt.wait(BRIEF)
        except Expired:
            continue


class Seen:
    """The objects of one watch, as the last event left them."""

    def __init__(self, listed: Object) -> None:
        self.version: str = listed["metadata"]["resourceVersion"]
        self.objects: dict[str, Object] = {
            body["metadata"]["uid"]: body for body in listed["items"]
        }

    def follow(
        self,
        stream: Iterable[tuple[str, Object]],
        judge: Judge,
        deadline: Deadline,
    ) -> None:
        """Take events in until the judge is content, or it is over."""
        for change, body in stream:
            self.version = body["metadata"]["resourceVersion"]
            if change == "BOOKMARK":
                continue
            self._note(change, body)
            if judge(self.objects.values()) is None or deadline.passed:
                return

    def _note(self, change: str, body: Object) -> None:
        if change == "DELETED":
            self.objects.pop(body["metadata"]["uid"], None)
        else:
            self.objects[body["metadata"]["uid"]] = body
