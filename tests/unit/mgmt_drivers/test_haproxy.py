"""The server lines of HAProxy's configuration."""

import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy

HEAD = """\
global
    log /dev/log local0

frontend kubernetes-apiserver
    bind *:16443
    default_backend kubernetes-apiserver

backend kubernetes-apiserver
    balance roundrobin
"""
TAIL = """
listen stats
    bind *:1080
    server self 127.0.0.1:8404
"""


def configuration(*masters: str) -> str:
    lines = "".join(
        f"    server {address.replace('.', '-')} {address}:6443 check inter 2s\n"
        for address in masters
    )
    return HEAD + lines + TAIL


class HaproxyTest(testtools.TestCase):
    def test_lists_the_masters_and_no_other_servers(self) -> None:
        self.assertEqual(
            {"10.0.0.1": "10-0-0-1", "10.0.0.2": "10-0-0-2"},
            haproxy.servers(configuration("10.0.0.1", "10.0.0.2")),
        )

    def test_removes_a_master_and_changes_no_other_line(self) -> None:
        self.assertEqual(
            configuration("10.0.0.1", "10.0.0.11"),
            haproxy.remove_servers(
                configuration("10.0.0.1", "10.0.0.2", "10.0.0.11"),
                {"10.0.0.2"},
            ),
        )

    def test_removing_an_unknown_address_changes_nothing(self) -> None:
        text = configuration("10.0.0.1", "10.0.0.11")
        self.assertEqual(
            text, haproxy.remove_servers(text, {"10.0.0.2", "127.0.0.1"})
        )

    def test_adds_a_master_as_a_copy_of_the_last_line(self) -> None:
        self.assertEqual(
            configuration("10.0.0.1", "10.0.0.2"),
            haproxy.add_servers(
                configuration("10.0.0.1"), {"10.0.0.2": "10-0-0-2"}
            ),
        )

    def test_adds_no_master_twice(self) -> None:
        text = configuration("10.0.0.1", "10.0.0.2")
        self.assertEqual(text, haproxy.add_servers(text, {"10.0.0.2": "new"}))

    def test_the_name_may_be_the_address(self) -> None:
        text = HEAD + "    server 10.0.0.1 10.0.0.1:6443 check\n"
        self.assertEqual(
            text + "    server m-2 10.0.0.2:6443 check\n",
            haproxy.add_servers(text, {"10.0.0.2": "m-2"}),
        )

    def test_the_name_may_occur_elsewhere_in_the_line(self) -> None:
        text = HEAD + "    server e 10.0.0.1:6443 check inter 2s\n"
        self.assertEqual(
            text + "    server 10.0.0.12 10.0.0.2:6443 check inter 2s\n",
            haproxy.add_servers(text, {"10.0.0.2": "10.0.0.12"}),
        )

    def test_an_ipv6_master(self) -> None:
        text = HEAD + "    server m1 [fd00::1]:6443 check\n"
        self.assertEqual({"fd00::1": "m1"}, haproxy.servers(text))
        self.assertEqual(
            text + "    server m2 [fd00::2]:6443 check\n",
            haproxy.add_servers(text, {"fd00::2": "m2"}),
        )

    def test_the_last_line_may_have_no_newline(self) -> None:
        text = (HEAD + "    server m1 10.0.0.1:6443 check").rstrip("\n")
        self.assertEqual(
            text + "\n    server m2 10.0.0.2:6443 check",
            haproxy.add_servers(text, {"10.0.0.2": "m2"}),
        )

    def test_a_configuration_without_masters_is_rejected(self) -> None:
        error = self.assertRaises(
            errors.InfraError,
            haproxy.add_servers,
            HEAD + TAIL,
            {"10.0.0.2": "m2"},
        )
        self.assertIn("no line 'server NAME ADDRESS:6443'", str(error))
