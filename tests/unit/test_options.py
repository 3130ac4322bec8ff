"""Defaults of options that other programs depend on."""

import testtools

from tacker_cnf import conf as configuration


class TestKeepalive(testtools.TestCase):
    def test_proxies_close_idle_connections_first(self) -> None:
        """NGINX does so after 75 s by default."""
        default = configuration.load([]).api.keepalive_timeout
        self.assertLess(75, default)
