"""The pods of the VNF, as the cluster shows them."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kubernetes import client, config, watch
from urllib3.exceptions import HTTPError

from tools.lifecycle_demo.rest import DemoFailed

INSTANCE_LABEL: Final = "tacker_vnf_instance_id"
VDU_LABEL: Final = "tacker_vdu_id"
WATCH_TIMEOUT_S: Final = 120


@dataclasses.dataclass(frozen=True, order=True)
class Pod:
    """A pod; another one of the same name has another uid."""

    vdu: str
    name: str
    uid: str
    image: str


Pods = frozenset[Pod]


class Cluster:
    """Reads the cluster of a kubeconfig.

    :param namespace: of the VNF
    """

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = client.CoreV1Api(
            config.new_client_from_config(str(kubeconfig))
        )
        self._namespace = namespace

    def pods(self, instance_id: str) -> Pods:
        """List the pods of an instance."""
        with _failures():
            found = self._api.list_namespaced_pod(
                self._namespace,
                label_selector=f"{INSTANCE_LABEL}={instance_id}",
            )
        return frozenset(
            _pod(one)
            for one in found.items
            if not one.metadata.deletion_timestamp
        )

    def wait_for_new_pod(self, instance_id: str, before: Pods) -> None:
        """Wait until the instance has a pod that it had not before.

        :raises DemoFailed: it has none in time
        """
        with _failures():
            for event in watch.Watch().stream(
                self._api.list_namespaced_pod,
                self._namespace,
                label_selector=f"{INSTANCE_LABEL}={instance_id}",
                timeout_seconds=WATCH_TIMEOUT_S,
            ):
                found = event["object"]
                is_ending = found.metadata.deletion_timestamp
                if not is_ending and _pod(found) not in before:
                    return
        raise DemoFailed(f"There is no new pod after {WATCH_TIMEOUT_S} s")


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Convert the errors of the client.

    :raises DemoFailed: the cluster has refused a request, or is unreachable
    """
    try:
        yield
    except (client.ApiException, HTTPError) as error:
        raise DemoFailed(f"The pods cannot be listed: {error}") from None


def _pod(found: Any) -> Pod:
    return Pod(
        vdu=found.metadata.labels.get(VDU_LABEL, ""),
        name=found.metadata.name,
        uid=found.metadata.uid,
        image=found.spec.containers[0].image,
    )


def from_to(before: Pods, after: Pods) -> list[str]:
    """Return how the number of pods changed, by VDU."""
    old, new = (Counter(pod.vdu for pod in pods) for pods in (before, after))
    changed = sorted({pod.vdu for pod in before ^ after})
    return [f"{vdu} {old[vdu]} -> {new[vdu]}" for vdu in changed]


def names(pods: Pods) -> list[str]:
    """Return the names of pods, in order."""
    return [pod.name for pod in sorted(pods)]
