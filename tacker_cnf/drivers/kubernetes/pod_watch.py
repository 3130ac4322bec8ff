"""Watches the pods of VNFs for changes that no operation has caused.

One watch covers all namespaces; if the credentials do not allow it, there is
one for each namespace that has VNFs. A watch stores only its resourceVersion.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Callable
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.kubernetes.api_errors import Expired, Forbidden
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.runtime.cancellation import CancelToken

LOG = log.getLogger(__name__)


#: duration of a watch request; it is repeated from its last resourceVersion
WATCH_TIMEOUT_S: Final = 60
#: minimum duration of a watch; shorter ones were cut by a proxy
MIN_WATCH_S: Final = 1.0
#: interval at which namespaces are added and removed
NAMESPACE_POLL_S: Final = 2.0
#: delay until a namespace that was forbidden is tried again
RETRY_DELAY_S: Final = 60.0

#: returns a cluster whose requests end when the token is cancelled
Connect = Callable[[CancelToken], Cluster]


def watch(connect: Connect, task: WatchTask) -> None:
    """Watch a cluster, as far as the credentials allow.

    :raises InfraError: the cluster is lost
    :raises Cancelled: the watch was cancelled
    """
    try:
        _watch_pods(connect(task.cancel_token), None, task)
    except Forbidden:
        LOG.info("Cluster-wide watch forbidden, watching single namespaces")
        with contextlib.closing(NamespaceWatches(connect, task)) as namespaces:
            namespaces.run()


def _watch_pods(
    cluster: Cluster, namespace: str | None, task: WatchTask
) -> None:
    pods = cluster.kind("v1", "Pod")
    while True:
        # start of the watch; existing pods are left to the synchronization
        resource_version = cluster.latest_version(
            pods, namespace, label_selector=INSTANCE_LABEL
        )
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
    """Report the events of one watch request; return the resourceVersion to
    continue from.

    :raises Expired: the API server no longer has the changes since then
    """
    clock = task.cancel_token.clock
    started = clock.monotonic()
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
    if clock.monotonic() < started + MIN_WATCH_S:
        # a proxy in front of the cluster cuts watches
        task.cancel_token.wait(MIN_WATCH_S)
    return resource_version


def _is_relevant(change: str, body: Object) -> bool:
    """Return whether a VNF has gained or lost a pod."""
    if change == "MODIFIED":
        return not is_living(body)
    return change in {"ADDED", "DELETED"}


class NamespaceWatches:
    """Watches of single namespaces, each in a thread."""

    def __init__(self, connect: Connect, task: WatchTask) -> None:
        self._connect = connect
        self._task = task
        #: namespace -> cancels its watch
        self._cancel_tokens: dict[str, CancelToken] = {}
        self._connection_error: errors.VimUnreachable | None = None

    def run(self) -> None:
        """Watch the namespaces that have VNFs; add and remove watches as they
        change.

        :raises VimUnreachable: the cluster is lost
        :raises Cancelled: the watch was cancelled
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
        cancel_token = self._cancel_tokens[namespace] = CancelToken(
            clock=self._task.cancel_token.clock
        )
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
        reason = errors.Cancelled(
            f"Namespace {namespace} is no longer watched."
        )
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
                    LOG.warning(
                        "Watch failed, retrying: namespace=%s error=%s",
                        namespace,
                        error,
                    )
                except errors.Cancelled:
                    raise
                except Exception:
                    # keep the thread: its end would not be noticed
                    LOG.exception(
                        "Watch failed, retrying: namespace=%s", namespace
                    )
                task.cancel_token.wait(RETRY_DELAY_S)
