"""The addresses to which the service may connect for subscribers."""

import asyncio
import ipaddress

import httpx
import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.http_client import ssrf_policy
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

#: networks that an operator denies
ALLOWED = ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1"]
ALLOWED += ["93.184.215.14", "2606:4700::1"]
NEVER = ["169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "::"]
NEVER += ["100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254"]
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
        self.assertEqual(SsrfPolicy(), ssrf_policy.policy_from_conf(conf))
        conf.set_override("refused_networks", ["10.0.0.0/8"], "notification")
        self.assertEqual(
            1, len(ssrf_policy.policy_from_conf(conf).denied_networks)
        )
        conf.set_override("refused_networks", ["all"], "notification")
        error = self.assertRaises(
            errors.VnfmError, ssrf_policy.policy_from_conf, conf
        )
        self.assertIn("refused_networks", str(error))
