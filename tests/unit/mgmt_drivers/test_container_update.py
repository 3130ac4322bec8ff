import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.cluster_tasks import Options
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate
from tacker_cnf.scripts.protocol import ScriptInput
from tests import factories


class Impatient(ContainerUpdate):
    failure_grace = 0.5


class TestOptions(testtools.TestCase):
    def options(self, **options: float) -> Options:
        script_input = ScriptInput(
            operation="modify_information_end",
            vnf_lcm_op_occ_id="an-op-occ",
            request={},
            vnf_instance=factories.an_instance(),
            package_dir="/",
            state_dir="/",
            vnfd_id="vnfd",
            timeout=10.0,
            driver_options=options,
        )
        return Impatient()._options(script_input)

    def driver_options(self, **overrides: float) -> dict[str, float]:
        conf = configuration.load([])
        for name, value in overrides.items():
            conf.set_override(name, value, "kubernetes")
        return dict(KubernetesDriver(conf).script_options)

    def test_the_options_of_the_driver_are_used(self) -> None:
        options = self.options(**self.driver_options(ready_timeout=7.0))
        self.assertEqual(7.0, options.ready_timeout)
        self.assertEqual(180.0, options.finalizer_timeout)

    def test_a_class_may_set_others(self) -> None:
        options = self.options(**self.driver_options(failure_grace=20.0))
        self.assertEqual(0.5, options.failure_grace)

    def test_a_vnf_on_another_vim(self) -> None:
        error = self.assertRaises(errors.InvalidVimConnection, self.options)
        self.assertIn("on Kubernetes only", str(error))
