"""The addresses to which the service may connect for subscribers."""

import asyncio
import ipaddress

import httpx
import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

#: networks that an operator denies
ALLOWED = ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1"]
ALLOWED += ["93.184.215.14", "2606:4700::1"]
NEVER = ["169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "::"]
NEVER += ["100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254"]
NEVER += ["168.63.129.16", "64:ff9b::a83f:8110", "64:ff9b:1::7f00:1"]
NEVER += ["64:ff9b:1:a9fe:a9:fe00::", "::127.0.0.1", "::10.0.0.1", "0.0.0.1"]
NEVER += ["fec0::1", "feff::1", "240.0.0.1", "255.255.255.255", "2002:f000::"]
LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "127.1"]
LOOPBACK += ["64:ff9b::7f00:1", "2002:7f00:1::", "2130706433", "localhost"]


class TestSsrfPolicy(testtools.TestCase):
    def is_allowed(self, policy: SsrfPolicy, host: str) -> bool:
        try:
            found = policy.resolve_now(host, 80)
        except (OSError, errors.Forbidden):
            found = ()
        try:
            self.assertEqual(found, asyncio.run(policy.resolve(host, 80)))
        except httpx.ConnectError:
            self.assertEqual((), found)
        return bool(found)

    def test_addresses(self) -> None:
        refused = (ipaddress.ip_network("192.0.2.0/24"),)
        usual, open_ = (
            SsrfPolicy(denied_networks=refused),
            SsrfPolicy(allow_loopback=True),
        )
        for hosts, usually, openly in (
            (ALLOWED, True, True),
            (NEVER, False, False),
            (LOOPBACK, False, True),
            (["192.0.2.7", "::ffff:192.0.2.7"], False, True),
            (["", "no.invalid", "x" * 300], False, False),
        ):
            for host in hosts:
                self.assertEqual(usually, self.is_allowed(usual, host), host)
                self.assertEqual(openly, self.is_allowed(open_, host), host)

    def test_an_invalid_network_is_rejected(self) -> None:
        conf = configuration.load(["--config-dir", "."])
        self.assertEqual((), SsrfPolicy.of_callbacks(conf).denied_networks)
        conf.set_override("refused_networks", ["10.0.0.0/8"], "notification")
        self.assertEqual(1, len(SsrfPolicy.of_callbacks(conf).denied_networks))
        conf.set_override("refused_networks", ["all"], "notification")
        error = self.assertRaises(
            errors.VnfmError, SsrfPolicy.of_callbacks, conf
        )
        self.assertIn("refused_networks", str(error))
        conf.set_override("allowed_networks", ["10.0.0.1/8"], "vims")
        error = self.assertRaises(errors.VnfmError, SsrfPolicy.of_vims, conf)
        self.assertIn("[vims] allowed_networks: 10.0.0.1/8", str(error))

    def test_networks_of_vims(self) -> None:
        conf = configuration.load(["--config-dir", "."])
        networks = ["10.0.0.0/8", "fd00::/8"]
        conf.set_override("allowed_networks", networks, "vims")
        policy = SsrfPolicy.of_vims(conf)
        for host, allowed in (
            ("10.1.2.3", True),
            ("::ffff:10.1.2.3", True),
            ("fd00::1", True),
            ("fd00:ec2::254", False),
            ("192.168.1.1", False),
            # a gateway decides where these packets go
            ("64:ff9b::10.1.2.3", False),
            ("2002:0a01:0203::", False),
            ("127.0.0.1", False),
        ):
            self.assertEqual(allowed, self.is_allowed(policy, host), host)

    def test_urls_of_vims(self) -> None:
        conf = configuration.load(["--config-dir", "."])
        policy = SsrfPolicy.of_vims(conf)
        policy.check_url("https://cluster.example:6443/path")
        policy.check_url("HTTPS://192.0.2.1")
        for url, reason in (
            ("http://cluster.example", "[vims] schemes allows https."),
            ("file:///etc/passwd", "is not a valid URL"),
            ("https://", "is not a valid URL"),
            ("https://[::1", "is not a valid URL"),
            ("https://[::1]", "[vims] allow_loopback"),
            ("https://169.254.169.254", "which no option allows"),
        ):
            error = self.assertRaises(errors.Forbidden, policy.check_url, url)
            self.assertIn(reason, str(error))
