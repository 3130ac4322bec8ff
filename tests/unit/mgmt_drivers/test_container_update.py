import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate
from tacker_cnf.scripts.protocol import ScriptInput
from tests import factories


class Impatient(ContainerUpdate):
    failure_grace = 0.5


class TestOptions(testtools.TestCase):
    def option(self, name: str, **options: float) -> float:
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
        return Impatient()._option(script_input, name)

    def test_the_options_of_the_driver_are_used(self) -> None:
        conf = configuration.load([])
        conf.set_override("ready_timeout", 7.0, "kubernetes")
        options = KubernetesDriver(conf).script_options
        self.assertEqual(7.0, self.option("ready_timeout", **options))
        self.assertEqual(180.0, self.option("finalizer_timeout", **options))

    def test_a_class_may_set_others(self) -> None:
        self.assertEqual(0.5, self.option("failure_grace", failure_grace=20.0))

    def test_a_vnf_on_another_vim(self) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection, self.option, "ready_timeout"
        )
        self.assertIn("on Kubernetes only", str(error))
