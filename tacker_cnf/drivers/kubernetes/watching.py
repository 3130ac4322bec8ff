"""Watches the pods of a cluster's VNFs for what happens by itself.

One watch of all namespaces; where the credentials do not reach that far, one
of each namespace that has VNFs. A watch keeps nothing but its place.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tacker_cnf.drivers.kubernetes.refusals import Expired, Forbidden
from tacker_cnf.halting import Halt

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: seconds after which a quiet watch is opened anew, at the place it was
LONGEST: Final = 60
#: seconds that a watch lasts at least, or it was cut off
BRIEF: Final = 1.0
#: seconds between two looks for namespaces that are new or no longer used
LOOK: Final = 2.0
#: seconds after which a namespace that refused us is tried again
PAUSE: Final = 60.0

#: gives a cluster, of which all that is asked ends with the halt
Connect = Callable[[Halt], Cluster]


def watch(connect: Connect, task: WatchTask) -> None:
    """Watch a cluster, as far as the credentials reach.

    :raises InfraError: the cluster is lost
    :raises Cancelled: the watch was halted
    """
    try:
        _follow(connect(task.halt), None, task)
    except Forbidden:
        LOG.info("Watching each namespace: the whole cluster is forbidden")
        with contextlib.closing(Namespaces(connect, task)) as namespaces:
            namespaces.follow()


def _follow(cluster: Cluster, namespace: str | None, task: WatchTask) -> None:
    pods = cluster.kind("v1", "Pod")
    while True:
        # the place from which to watch; what is there, others look at
        place = cluster.list(
            pods, namespace, label_selector=INSTANCE_LABEL, limit="1"
        )["metadata"]["resourceVersion"]
        task.missed(namespace)
        with contextlib.suppress(Expired):
            while True:
                place = _stream(cluster, pods, namespace, place, task)
        task.halt.wait(BRIEF)


def _stream(
    cluster: Cluster,
    pods: Any,
    namespace: str | None,
    place: str,
    task: WatchTask,
) -> str:
    """Tell what happens for a while; give the place to go on from.

    :raises Expired: the cluster does not remember what came after the place
    """
    begun = time.monotonic()
    with contextlib.closing(
        cluster.watch(
            pods,
            namespace,
            place,
            LONGEST,
            label_selector=INSTANCE_LABEL,
        )
    ) as events:
        for change, body in events:
            place = body["metadata"]["resourceVersion"]
            if _matters(change, body):
                task.changed(body["metadata"]["labels"][INSTANCE_LABEL])
    if time.monotonic() < begun + BRIEF:
        # somebody between us and the cluster cuts watches
        task.halt.wait(BRIEF)
    return place


def _matters(change: str, body: Object) -> bool:
    """Tell whether a VNF has another pod now, or one less."""
    if change == "MODIFIED":
        return not is_living(body)
    return change in {"ADDED", "DELETED"}


class Namespaces:
    """The watches of single namespaces, a thread each."""

    def __init__(self, connect: Connect, task: WatchTask) -> None:
        self._connect = connect
        self._task = task
        #: namespace -> what ends its watch
        self._halts: dict[str, Halt] = {}
        self._lost: errors.VimUnreachable | None = None

    def follow(self) -> None:
        """Watch the namespaces that have VNFs, as they come and go.

        :raises VimUnreachable: the cluster is lost
        :raises Cancelled: the watch was halted
        """
        while self._lost is None:
            wanted = self._task.tenants()
            for namespace in self._halts.keys() - wanted:
                self._end(namespace)
            for namespace in wanted - self._halts.keys():
                self._begin(namespace)
            self._task.halt.wait(LOOK)
        raise self._lost

    def close(self) -> None:
        """End every watch."""
        for namespace in tuple(self._halts):
            self._end(namespace)

    def _begin(self, namespace: str) -> None:
        halt = self._halts[namespace] = Halt()
        threading.Thread(
            target=self._run,
            args=(namespace, dataclasses.replace(self._task, halt=halt)),
            name=f"watch of {namespace}",
            daemon=True,
        ).start()

    def _end(self, namespace: str) -> None:
        ended = errors.Cancelled(f"Namespace {namespace} is not watched.")
        self._halts.pop(namespace).call_off(ended, at_once=True)

    def _run(self, namespace: str, task: WatchTask) -> None:
        with contextlib.suppress(errors.Cancelled):
            while True:
                try:
                    _follow(self._connect(task.halt), namespace, task)
                except errors.VimUnreachable as error:
                    self._lost = error
                    return
                except errors.InfraError as error:
                    LOG.warning("Cannot watch %s: %s", namespace, error)
                except errors.Cancelled:
                    raise
                except Exception:
                    # nobody would see that this thread has ended
                    LOG.exception("The watch of %s broke", namespace)
                task.halt.wait(PAUSE)
