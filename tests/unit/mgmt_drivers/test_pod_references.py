"""Which ConfigMaps and Secrets a pod reads, in every way there is."""

from typing import Any, Final

import testtools

from tacker_cnf.mgmt_drivers import pod_references

CONFIG = ("ConfigMap", "c")
SECRET = ("Secret", "s")


def of_container(**container: Any) -> dict[str, Any]:
    return {"containers": [{"name": "one", **container}]}


def of_volume(**volume: Any) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/v"}]
    return {
        **of_container(volumeMounts=mounts),
        "volumes": [{"name": "v", **volume}],
    }


SPECS: Final[dict[str, tuple[dict[str, Any], tuple[str, str]]]] = {
    "env of a ConfigMap": (
        of_container(
            env=[
                {"name": "A", "value": "plain"},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c"}}},
            ]
        ),
        CONFIG,
    ),
    "env of a Secret": (
        of_container(
            env=[{"name": "B", "valueFrom": {"secretKeyRef": {"name": "s"}}}]
        ),
        SECRET,
    ),
    "envFrom of a ConfigMap": (
        of_container(envFrom=[{"configMapRef": {"name": "c"}}]),
        CONFIG,
    ),
    "envFrom of a Secret": (
        of_container(envFrom=[{"prefix": "P", "secretRef": {"name": "s"}}]),
        SECRET,
    ),
    "volume of a ConfigMap": (of_volume(configMap={"name": "c"}), CONFIG),
    "volume of a Secret": (of_volume(secret={"secretName": "s"}), SECRET),
    "projected ConfigMap": (
        of_volume(projected={"sources": [{"configMap": {"name": "c"}}]}),
        CONFIG,
    ),
    "projected Secret": (
        of_volume(projected={"sources": [{"secret": {"name": "s"}}]}),
        SECRET,
    ),
    "pull secret": (
        {**of_container(), "imagePullSecrets": [{"name": "s"}]},
        SECRET,
    ),
}


class TestPodReferences(testtools.TestCase):
    def test_every_way(self) -> None:
        for way, (spec, key) in SPECS.items():
            self.assertEqual({key}, pod_references.of_pod(spec), way)
            self.assertEqual({"one"}, pod_references.readers(spec, [key]), way)
            other = (key[0], "other")
            self.assertEqual(set(), pod_references.readers(spec, [other]))

    def test_every_kind_of_container(self) -> None:
        reads = [{"name": "two", "envFrom": [{"secretRef": {"name": "s"}}]}]
        for kind in ("initContainers", "ephemeralContainers", "containers"):
            spec: dict[str, Any] = {"containers": [{"name": "one"}]}
            spec[kind] = reads
            self.assertEqual({SECRET}, pod_references.of_pod(spec))
            self.assertEqual({"two"}, pod_references.readers(spec, [SECRET]))

    def test_a_volume_that_nobody_mounts(self) -> None:
        spec = of_volume(configMap={"name": "c"})
        spec["containers"][0]["volumeMounts"] = []
        self.assertEqual({CONFIG}, pod_references.of_pod(spec))
        self.assertEqual(set(), pod_references.readers(spec, [CONFIG]))

    def test_nothing(self) -> None:
        spec = {"containers": [{"name": "one"}], "volumes": None}
        self.assertEqual(set(), pod_references.of_pod(spec))
