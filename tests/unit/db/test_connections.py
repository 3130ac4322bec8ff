"""Completion of VIM connections by registered VIMs."""

from tacker_cnf.db import connection_info
from tacker_cnf.sol.common import VimConnectionInfo
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_vim


class TestComplete(StoreTest):
    def test_a_request_does_not_choose_the_trusted_ca(self) -> None:
        cred = {"bearer_token": "registered"}
        vim = a_vim(type="kubernetes", auth_url="https://a", auth_cred=cred)
        vim_connection = VimConnectionInfo(
            vim_id="a-vim",
            vim_type=connection_info.KUBERNETES,
            interface_info={"skipCertificateVerification": True},
            access_info={"ssl_ca_cert": "another", "more": "own"},
        )
        with self.store.writer() as session:
            session.add(vim)
            session.flush()
            found = connection_info.complete(session, {"v": vim_connection})[
                "v"
            ]
        self.assertEqual({"endpoint": "https://a"}, found.interface_info)
        self.assertEqual(cred | {"more": "own"}, found.access_info)
