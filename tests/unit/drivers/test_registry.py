import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.fake import FakeDriver
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.drivers.noop import NoopDriver
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import a_context, a_task


def connections(*types: str) -> dict[str, VimConnectionInfo]:
    return {
        f"vim{n}": VimConnectionInfo(vim_type=t) for n, t in enumerate(types)
    }


class TestRegistry(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.registry = DriverRegistry(configuration.new())

    def test_a_driver_is_found_by_its_type(self) -> None:
        for vim_type, kind in (
            ("kubernetes", KubernetesDriver),
            ("ETSINFV.KUBERNETES.V_1", KubernetesDriver),
            ("noop", NoopDriver),
        ):
            driver = self.registry.for_type(vim_type)
            self.assertIsInstance(driver, kind)
            self.assertIs(driver, self.registry.for_type(vim_type))

    def test_two_names_of_one_driver_share_it(self) -> None:
        self.assertIs(
            self.registry.for_type("kubernetes"),
            self.registry.for_type("ETSINFV.KUBERNETES.V_1"),
        )

    def test_install_registers_a_driver(self) -> None:
        driver = FakeDriver()
        self.registry.install("fake", driver)
        self.assertIs(driver, self.registry.for_type("fake"))

    def test_an_unknown_type_is_rejected(self) -> None:
        # the fake driver is for tests, which install it
        for vim_type in ("fake", "moon", "", "Kubernetes", "a.b:c"):
            error = self.assertRaises(
                errors.InvalidVimConnection, self.registry.for_type, vim_type
            )
            self.assertIn(
                f"vimType: there is no driver for {vim_type!r}, only for ",
                str(error),
            )
            self.assertIn("kubernetes", str(error))

    def test_the_driver_of_a_vnf(self) -> None:
        cases = [
            (["noop"], NoopDriver),
            (["noop", "noop"], NoopDriver),
            (["kubernetes", "ETSINFV.KUBERNETES.V_1"], KubernetesDriver),
        ]
        for types, kind in cases:
            driver = self.registry.for_connections(connections(*types))
            self.assertIsInstance(driver, kind)

    def test_vims_of_several_types_are_rejected(self) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection,
            self.registry.for_connections,
            connections("noop", "kubernetes"),
        )
        self.assertEqual(
            "vimConnectionInfo: a VNF cannot use VIMs of several types "
            "(kubernetes, noop).",
            str(error),
        )

    def test_a_vnf_without_a_vim_is_rejected(self) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection, self.registry.for_connections, {}
        )
        self.assertIn("no VIM is named", str(error))


class TestNoop(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.driver = NoopDriver(configuration.new())

    def test_any_connection_is_accepted(self) -> None:
        self.driver.check_connection(VimConnectionInfo(vim_type="noop"))

    def test_every_task_is_rejected(self) -> None:
        expected_errors = {
            "plan": errors.BadRequest,
            "validate_package": errors.BadRequest,
        }
        for method, expected in expected_errors.items():
            self.assertRaises(expected, getattr(self.driver, method), a_task())
        for method in ("execute", "observe"):
            self.assertRaises(
                errors.VimRejected,
                getattr(self.driver, method),
                a_task(),
                a_context(),
            )
