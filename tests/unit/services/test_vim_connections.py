"""Completion of VIM connections by registered VIMs."""

from tacker_cnf import conf as configuration
from tacker_cnf.drivers.kubernetes import cluster_connection
from tacker_cnf.drivers.openstack import openstack_connection
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_vim


class VimConnectionsTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        drivers = DriverRegistry(configuration.load([]))
        self.vim_connections = VimConnections(drivers)


class TestOfVim(VimConnectionsTest):
    def test_a_type_of_the_cli_has_the_layout_of_the_driver(self) -> None:
        vim = a_vim(
            type="kubernetes",
            auth_url="https://a",
            auth_cred={"bearer_token": "t", "ssl_ca_cert": "pem"},
        )
        found = self.vim_connections.of_vim(vim)
        self.assertEqual(cluster_connection.VIM_TYPE, found.vim_type)
        self.assertEqual({"bearer_token": "t"}, found.access_info)
        self.assertEqual(
            {"endpoint": "https://a", "ssl_ca_cert": "pem"},
            found.interface_info,
        )

    def test_a_vim_type_has_the_names_of_sol003(self) -> None:
        credentials = {"username": "u", "password": "p", "userDomain": "d"}
        vim = a_vim(
            type=openstack_connection.VIM_TYPE,
            auth_url="https://a",
            auth_cred=credentials,
        )
        found = self.vim_connections.of_vim(vim)
        self.assertEqual(openstack_connection.VIM_TYPE, found.vim_type)
        self.assertEqual(credentials, found.access_info)
        self.assertEqual({"endpoint": "https://a"}, found.interface_info)

    def test_a_vim_without_an_installed_driver_is_read(self) -> None:
        vim = a_vim(type="other", auth_url="https://a", auth_cred={"a": "b"})
        found = self.vim_connections.of_vim(vim)
        self.assertEqual("other", found.vim_type)
        self.assertEqual({"a": "b"}, found.access_info)


class TestComplete(VimConnectionsTest):
    def test_a_request_does_not_choose_the_trusted_ca(self) -> None:
        cred = {"bearer_token": "registered"}
        vim = a_vim(type="kubernetes", auth_url="https://a", auth_cred=cred)
        vim_connection = VimConnectionInfo(
            vim_id="a-vim",
            vim_type=cluster_connection.VIM_TYPE,
            interface_info={"skipCertificateVerification": True},
            access_info={"ssl_ca_cert": "another", "more": "own"},
        )
        with self.store.writer() as session:
            session.add(vim)
            session.flush()
            found = self.vim_connections.complete(
                session, {"v": vim_connection}
            )["v"]
        self.assertEqual({"endpoint": "https://a"}, found.interface_info)
        self.assertEqual(cred | {"more": "own"}, found.access_info)
