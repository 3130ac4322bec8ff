"""Which operations are on the same VIM."""

import testtools

from tacker_cnf.lcm import vim_group
from tacker_cnf.sol.common import VimConnectionInfo


def of_endpoint(endpoint: str) -> str:
    connection = VimConnectionInfo(
        vim_type="fake", interface_info={"endpoint": endpoint}
    )
    return vim_group.of_connections({"vim1": connection})


class TestVimGroup(testtools.TestCase):
    def test_spellings_of_one_endpoint(self) -> None:
        wanted = of_endpoint("https://vim.example/v3")
        for endpoint in (
            "https://vim.example/v3/",
            "HTTPS://VIM.example./v3",
            "https://vim.example:443/v3",
        ):
            self.assertEqual(wanted, of_endpoint(endpoint), endpoint)

    def test_other_endpoints(self) -> None:
        endpoints = (
            "https://vim.example",
            "http://vim.example",
            "https://vim.example:6443",
            "https://vim.example/v3",
            "https://vim.example:bad",
            "https://other.example",
        )
        groups = {of_endpoint(endpoint) for endpoint in endpoints}
        self.assertEqual(len(endpoints), len(groups))

    def test_a_vim_that_a_grant_names(self) -> None:
        self.assertEqual("", vim_group.of_connections({}))
