import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tests.factories import a_state, a_task


class TestKubernetes(testtools.TestCase):
    def test_connectivity_of_a_cnf_cannot_be_changed(self) -> None:
        driver = KubernetesDriver(configuration.load([]))
        task = a_task(current=a_state(), moves_links=True)
        error = self.assertRaises(errors.BadRequest, driver.plan, task)
        self.assertIn("defined in its manifests", str(error))


class TestOpenstack(testtools.TestCase):
    def test_a_package_without_a_template_is_rejected(self) -> None:
        driver = OpenstackDriver(configuration.load([]))
        error = self.assertRaises(
            errors.InvalidParameters, driver.plan, a_task()
        )
        self.assertIn("BaseHOT/simple/*.yaml", str(error))

    def test_watch_returns_at_once(self) -> None:
        driver = OpenstackDriver(configuration.load([]))
        self.assertIsNone(driver.watch(None))  # type: ignore[arg-type,func-returns-value]
