"""References of pods to ConfigMaps and Secrets, of every type."""

import re
from collections.abc import Iterator
from typing import Any, Final

import testtools
from kubernetes.client import models

from tacker_cnf.drivers.kubernetes import pod_references

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


#: type in the Kubernetes API -> the kind it refers to, and the field
REFERENCES: Final = {
    "V1ConfigMapEnvSource": ("ConfigMap", "name"),
    "V1ConfigMapKeySelector": ("ConfigMap", "name"),
    "V1ConfigMapProjection": ("ConfigMap", "name"),
    "V1ConfigMapVolumeSource": ("ConfigMap", "name"),
    "V1LocalObjectReference": ("Secret", "name"),
    "V1SecretEnvSource": ("Secret", "name"),
    "V1SecretKeySelector": ("Secret", "name"),
    "V1SecretProjection": ("Secret", "name"),
    "V1SecretVolumeSource": ("Secret", "secretName"),
    "V1AzureFileVolumeSource": ("Secret", "secretName"),
}


def referring(type_: str, *outer: str) -> Iterator[tuple[str, Any]]:
    """Yield all ways in which a type of the Kubernetes API may refer to
    something: the type of the reference, and an object with it.
    """
    if type_ in REFERENCES:
        yield type_, {REFERENCES[type_][1]: "it"}
    elif type_.startswith("V1") and type_ not in outer:
        model = getattr(models, type_)
        for attribute, inner in model.openapi_types.items():
            name = model.attribute_map[attribute]
            item = re.fullmatch(r"[Ll]ist\[(\w+)\]", inner)
            for found, value in referring(
                item[1] if item else inner, type_, *outer
            ):
                yield found, {name: [value] if item else value, "name": "n"}


class TestPodReferences(testtools.TestCase):
    def test_every_type_of_reference(self) -> None:
        for way, (spec, key) in SPECS.items():
            self.assertEqual({key}, pod_references.pod_reads(spec), way)
            self.assertEqual(
                {"one"}, pod_references.reading_containers(spec, [key]), way
            )
            other = (key[0], "other")
            self.assertEqual(
                set(), pod_references.reading_containers(spec, [other])
            )

    def test_every_type_of_container(self) -> None:
        reads = [{"name": "two", "envFrom": [{"secretRef": {"name": "s"}}]}]
        for kind in ("initContainers", "ephemeralContainers", "containers"):
            spec: dict[str, Any] = {"containers": [{"name": "one"}]}
            spec[kind] = reads
            self.assertEqual({SECRET}, pod_references.pod_reads(spec))
            self.assertEqual(
                {"two"}, pod_references.reading_containers(spec, [SECRET])
            )

    def test_a_volume_that_is_not_mounted(self) -> None:
        spec = of_volume(configMap={"name": "c"})
        spec["containers"][0]["volumeMounts"] = []
        self.assertEqual({CONFIG}, pod_references.pod_reads(spec))
        self.assertEqual(
            set(), pod_references.reading_containers(spec, [CONFIG])
        )

    def test_every_reference_of_the_kubernetes_api(self) -> None:
        ways = list(referring("V1PodSpec"))
        self.assertEqual(REFERENCES.keys(), {type_ for type_, _ in ways})
        for type_, spec in ways:
            key = (REFERENCES[type_][0], "it")
            self.assertEqual({key}, pod_references.pod_reads(spec), str(spec))

    def test_a_pod_without_references(self) -> None:
        spec = {"containers": [{"name": "one"}], "volumes": None}
        self.assertEqual(set(), pod_references.pod_reads(spec))
