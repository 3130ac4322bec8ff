"""The sample driver and the Kubernetes driver run the conformance suite."""

import dataclasses
import unittest
from collections.abc import Sequence
from typing import Final

import fixtures
import testtools
from oslo_config import cfg

from tacker_cnf.drivers.base import RegisteredVim, SearchTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.testing import driver_conformance
from tacker_cnf.testing.vnf_operation import Target
from tests.fixtures.cluster import Cluster
from tests.fixtures.driver_target import UnpackedSample
from tests.fixtures.ports import ReservedPort
from tests.fixtures.sample_driver import (
    DirectoryDriver,
    test_directory_driver,
)

#: the manifests of flavour small
MANIFESTS: Final = ("configmap", "secret", "deployment")


class TestDirectoryDriver(test_directory_driver.TestDirectoryDriver):
    """The test of samples/driver, which the contributor guide shows."""


class TestKubernetesDriver(
    fixtures.TestWithFixtures, driver_conformance.DriverConformance
):
    def create_target(self) -> Target:
        cluster = self.useFixture(Cluster())
        sample = self.useFixture(UnpackedSample())
        sample.conf.set_override("failure_grace", 0.2, "kubernetes")
        credentials = {
            "bearer_token": cluster.sandbox.token,
            "ssl_ca_cert": cluster.sandbox.ca_pem,
        }
        parameters = {
            "namespace": cluster.namespace(),
            "lcm-kubernetes-def-files": [
                f"Files/kubernetes/{name}.yaml" for name in MANIFESTS
            ],
        }
        unused = self.useFixture(ReservedPort()).port
        return Target(
            driver=KubernetesDriver(sample.conf),
            vim=RegisteredVim(
                id="a-vim",
                type="kubernetes",
                auth_url=cluster.sandbox.endpoint,
                auth_cred=credentials,
                vim_project={},
                extra={},
            ),
            unreachable_url=f"https://127.0.0.1:{unused}",
            package=sample.package,
            request=InstantiateVnfRequest(
                flavour_id="small", additional_params=parameters
            ),
            aspect_id="web_aspect",
        )


class DirectoryDriverWithoutClean(DirectoryDriver):
    """A driver whose clean() returns names, and deletes nothing."""

    def clean(self, task: SearchTask) -> Sequence[str]:
        return [name for names in self.search(task).values() for name in names]


class TestConformanceSuite(testtools.TestCase):
    """What the suite reports of a driver with a fault."""

    def test_a_driver_that_does_not_clean(self) -> None:
        class Suite(TestDirectoryDriver):
            def create_target(self) -> Target:
                target = super().create_target()
                driver = DirectoryDriverWithoutClean(cfg.ConfigOpts())
                return dataclasses.replace(
                    target, driver=driver, clean_timeout=0.2
                )

        result = unittest.TestResult()
        for name in ("test_instantiate", "test_terminate"):
            Suite(name).run(result)
        first, second = (text for _, text in result.failures)
        self.assertIn("clean() still returns ['", first)
        self.assertIn("not run, as in an earlier test: clean()", second)
