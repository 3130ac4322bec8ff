"""What is registered of a VIM goes where it was registered for."""

from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vims import connection
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_vim


class TestComplete(StoreTest):
    def test_a_request_does_not_choose_who_is_trusted(self) -> None:
        cred = {"bearer_token": "registered"}
        vim = a_vim(type="kubernetes", auth_url="https://a", auth_cred=cred)
        named = VimConnectionInfo(
            vim_id="a-vim",
            vim_type=connection.KUBERNETES,
            interface_info={"skipCertificateVerification": True},
            access_info={"ssl_ca_cert": "another", "more": "own"},
        )
        with self.store.writer() as session:
            session.add(vim)
            session.flush()
            found = connection.complete(session, {"v": named})["v"]
        self.assertEqual({"endpoint": "https://a"}, found.interface_info)
        self.assertEqual(cred | {"more": "own"}, found.access_info)
