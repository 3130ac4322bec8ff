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
from tacker_cnf.drivers.kubernetes.api_errors import Expired, Forbidden
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tacker_cnf.runtime.cancellation import CancelToken

LOG = log.getLogger(__name__)

Object = dict[str, Any]

#: seconds after which a quiet watch is opened anew, at the place it was
WATCH_TIMEOUT_S: Final = 60
#: seconds that a watch lasts at least, or it was cut off
MIN_WATCH_S: Final = 1.0
#: seconds between two looks for namespaces that are new or no longer used
NAMESPACE_POLL_S: Final = 2.0
#: seconds after which a namespace that refused us is tried again
RETRY_DELAY_S: Final = 60.0

#: gives a cluster, of which all that is asked ends with the halt
Connect = Callable[[CancelToken], Cluster]


def watch(connect: Connect, task: WatchTask) -> None:
    """Watch a cluster, as far as the credentials reach.

    :raises InfraError: the cluster is lost
    :raises Cancelled: the watch was halted
    """
    try:
        _watch_pods(connect(task.cancel_token), None, task)
    except Forbidden:
        LOG.info("Watching each namespace: the whole cluster is forbidden")
        with contextlib.closing(NamespaceWatches(connect, task)) as namespaces:
            namespaces.run()


def _watch_pods(
    cluster: Cluster, namespace: str | None, task: WatchTask
) -> None:
    pods = cluster.kind("v1", "Pod")
    while True:
        # the place from which to watch; what is there, others look at
        resource_version = cluster.list(
            pods, namespace, label_selector=INSTANCE_LABEL, limit="1"
        )["metadata"]["resourceVersion"]
        task.on_missed(namespace)
        with contextlib.suppress(Expired):
            while True:
                resource_version = _stream(
                    cluster, pods, namespace, resource_version, task
                )
        task.cancel_token.wait(MIN_WATCH_S)


def _stream(
    cluster: Cluster,
    pods: Any,
    namespace: str | None,
    resource_version: str,
    task: WatchTask,
) -> str:
    """Tell what happens for a while; give the place to go on from.

    :raises Expired: the cluster does not remember what came after the place
    """
    started = time.monotonic()
    with contextlib.closing(
        cluster.watch(
            pods,
            namespace,
            resource_version,
            WATCH_TIMEOUT_S,
            label_selector=INSTANCE_LABEL,
        )
    ) as events:
        for change, body in events:
            resource_version = body["metadata"]["resourceVersion"]
            if _is_relevant(change, body):
                task.on_change(body["metadata"]["labels"][INSTANCE_LABEL])
    if time.monotonic() < started + MIN_WATCH_S:
        # somebody between us and the cluster cuts watches
        task.cancel_token.wait(MIN_WATCH_S)
    return resource_version


def _is_relevant(change: str, body: Object) -> bool:
    """Tell whether a VNF has another pod now, or one less."""
    if change == "MODIFIED":
        return not is_living(body)
    return change in {"ADDED", "DELETED"}


class NamespaceWatches:
    """The watches of single namespaces, a thread each."""

    def __init__(self, connect: Connect, task: WatchTask) -> None:
        self._connect = connect
        self._task = task
        #: namespace -> what ends its watch
        self._cancel_tokens: dict[str, CancelToken] = {}
        self._connection_error: errors.VimUnreachable | None = None

    def run(self) -> None:
        """Watch the namespaces that have VNFs, as they come and go.

        :raises VimUnreachable: the cluster is lost
        :raises Cancelled: the watch was halted
        """
        while self._connection_error is None:
            wanted = self._task.tenants()
            for namespace in self._cancel_tokens.keys() - wanted:
                self._stop(namespace)
            for namespace in wanted - self._cancel_tokens.keys():
                self._start(namespace)
            self._task.cancel_token.wait(NAMESPACE_POLL_S)
        raise self._connection_error

    def close(self) -> None:
        """End every watch."""
        for namespace in tuple(self._cancel_tokens):
            self._stop(namespace)

    def _start(self, namespace: str) -> None:
        cancel_token = self._cancel_tokens[namespace] = CancelToken()
        threading.Thread(
            target=self._run,
            args=(
                namespace,
                dataclasses.replace(self._task, cancel_token=cancel_token),
            ),
            name=f"watch of {namespace}",
            daemon=True,
        ).start()

    def _stop(self, namespace: str) -> None:
        reason = errors.Cancelled(f"Namespace {namespace} is not watched.")
        self._cancel_tokens.pop(namespace).cancel(reason, forceful=True)

    def _run(self, namespace: str, task: WatchTask) -> None:
        with contextlib.suppress(errors.Cancelled):
            while True:
                try:
                    _watch_pods(
                        self._connect(task.cancel_token), namespace, task
                    )
                except errors.VimUnreachable as error:
                    self._connection_error = error
                    return
                except errors.InfraError as error:
                    LOG.warning("Cannot watch %s: %s", namespace, error)
                except errors.Cancelled:
                    raise
                except Exception:
                    # nobody would see that this thread has ended
                    LOG.exception("The watch of %s broke", namespace)
                task.cancel_token.wait(RETRY_DELAY_S)
