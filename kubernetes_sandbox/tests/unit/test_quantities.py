"""Quantities, names and images, by tables."""

from decimal import Decimal

import testtools

from kubernetes_sandbox import (
    container_behavior,
    defaults,
    name_validation,
    quantities,
)
from kubernetes_sandbox.container_behavior import Behavior


class TestQuantities(testtools.TestCase):
    def test_reading(self) -> None:
        for text, wanted in (
            ("1", "1"),
            ("100m", "0.1"),
            ("1Gi", "1073741824"),
            ("1k", "1000"),
            ("1e3", "1000"),
            (2, "2"),
        ):
            self.assertEqual(Decimal(wanted), quantities.parse(text))

    def test_writing_as_a_server_stores_them(self) -> None:
        for text, wanted in (
            ("1000", "1k"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("2000m", "2"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0", "0"),
            ("0Gi", "0"),
            ("0.5Ki", "512"),
            ("0.0000000001", "1n"),
            ("1e3", "1k"),
            (1, "1"),
        ):
            self.assertEqual(wanted, quantities.canonical(text))

    def test_shares(self) -> None:
        for value, total, up, wanted in (
            (3, 10, True, 3),
            ("25%", 10, True, 3),
            ("25%", 10, False, 2),
            ("100%", 4, False, 4),
        ):
            found = quantities.resolve_int_or_percent(
                value, total, round_up=up
            )
            self.assertEqual(wanted, found)

    def test_quality_of_service(self) -> None:
        both = {"cpu": "1", "memory": "1Gi"}
        for resources, wanted in (
            ({}, "BestEffort"),
            ({"requests": {"cpu": "1"}}, "Burstable"),
            ({"requests": both, "limits": both}, "Guaranteed"),
        ):
            spec = {"containers": [{"resources": resources}]}
            self.assertEqual(wanted, quantities.quality_of_service(spec))


class TestNames(testtools.TestCase):
    def test_faults(self) -> None:
        for key, name, valid in (
            ("configmaps.", "a.b-c", True),
            ("configmaps.", "Bad_Name", False),
            ("services.", "a.b", False),
            ("namespaces.", "a" * 64, False),
            ("configmaps.", "a" * 254, False),
            ("roles.rbac.authorization.k8s.io", "system:node", True),
        ):
            self.assertEqual(
                valid, name_validation.name_error(key, name) is None, name
            )


class TestImages(testtools.TestCase):
    def test_fates(self) -> None:
        for container, finite, wanted in (
            ({"image": "nginx"}, False, Behavior.RUNS),
            ({"image": "nginx"}, True, Behavior.COMPLETES),
            ({"image": "reg.example/invalid:1"}, False, Behavior.PULL_FAILS),
            ({"image": "reg.example/crash:1"}, False, Behavior.CRASHES),
            ({"image": "x", "command": ["false"]}, True, Behavior.CRASHES),
        ):
            found = container_behavior.behavior_of(container, finite=finite)
            self.assertIs(wanted, found)

    def test_pull_policies(self) -> None:
        for image, wanted in (
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.2", "IfNotPresent"),
            ("reg.example:5000/nginx", "Always"),
            ("nginx@sha256:00", "IfNotPresent"),
        ):
            self.assertEqual(wanted, defaults.pull_policy(image), image)
