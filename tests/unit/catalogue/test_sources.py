"""The policy for downloads of packages: no access to internal hosts."""

import socket
from collections.abc import Sequence
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.catalogue.download_policy import DownloadPolicy

PUBLIC = "93.184.215.14"
PRIVATE = ("10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1")
LOCAL = ("127.0.0.1", "127.9.9.9", "::1", "169.254.169.254", "fe80::1")
SPECIAL = (
    "0.0.0.0",  # noqa: S104
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "ff02::1",
    "ff0e::1",
    "fec0::1",
    "64:ff9b:1::7f00:1",
    "::127.0.0.1",
    "4000::1",
    "168.63.129.16",
    "100.100.100.200",
)
#: IPv6 addresses that contain an IPv4 loopback address
EMBEDDED_LOOPBACK = ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::")


class DownloadPolicyTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.addresses_by_name: dict[str, Sequence[str]] = {}
        self.resolved: list[str] = []
        self.useFixture(
            fixtures.MonkeyPatch("socket.getaddrinfo", self.resolve)
        )

    def resolve(self, host: str, port: int, **_: Any) -> list[Any]:
        """Resolve as DNS would with the addresses of the test."""
        self.resolved.append(host)
        if host not in self.addresses_by_name:
            raise socket.gaierror
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in self.addresses_by_name[host]
        ]

    def rejection(self, policy: DownloadPolicy, host: str) -> str:
        error = self.assertRaises(errors.Forbidden, policy.resolve, host, 443)
        return str(error)

    def test_no_download_is_allowed_by_default(self) -> None:
        error = self.assertRaises(
            errors.Forbidden, DownloadPolicy([], ["https"]).check, "https://a/"
        )
        self.assertIn("upload_hosts is empty", str(error))

    def test_hosts(self) -> None:
        policy = DownloadPolicy(["A.example", "*.b.example"], ["https"])
        for host in ("a.example", "A.EXAMPLE", "a.example.", "x.b.example"):
            policy.check(f"https://{host}/x")
        for host in ("b.example", "xa.example", "a.example.com", "xb.example"):
            error = self.assertRaises(
                errors.Forbidden, policy.check, f"https://{host}/x"
            )
            self.assertIn(f"{host!r} is not among", str(error))
        DownloadPolicy(["*"], ["https"]).check("https://any.where/")

    def test_schemes(self) -> None:
        policy = DownloadPolicy(["*"], ["https"])
        for address in (
            "http://a/",
            "file:///etc/passwd",
            "FILE:///etc/passwd",
            "ftp://a/b",
            "gopher://a/",
            "data:text/plain,x",
        ):
            error = self.assertRaises(errors.Forbidden, policy.check, address)
            self.assertIn("the scheme", str(error))
        DownloadPolicy(["*"], ["http"]).check("http://a/")

    def test_invalid_urls_are_rejected(self) -> None:
        policy = DownloadPolicy(["*"], ["https"])
        for address, message in (
            ("https://", "has no host"),
            ("https:///x", "has no host"),
            ("/etc/passwd", "is not a valid URL"),
            ("a.example/vnf.csar", "is not a valid URL"),
            ("", "is not a valid URL"),
            ("https://[::1/", "is not a valid URL"),
            ("https://a:99999999/", "is not a valid URL"),
            ("https://a\r\nX: y/", "is not a valid URL"),
            ("https://me:secret@a/", "contains a user"),
            ("https://me@a/", "contains a user"),
        ):
            error = self.assertRaises(errors.BadRequest, policy.check, address)
            self.assertIn(message, str(error))
            self.assertNotIn("secret", str(error))

    def test_a_literal_address_is_checked_without_dns(self) -> None:
        policy = DownloadPolicy(["*"], ["https"])
        policy.check(f"https://{PUBLIC}/")
        for address in (*PRIVATE, *LOCAL, *SPECIAL, *EMBEDDED_LOOPBACK):
            host = f"[{address}]" if ":" in address else address
            self.assertRaises(
                errors.Forbidden, policy.check, f"https://{host}/"
            )

    def test_addresses_of_a_name(self) -> None:
        policy_by_name = DownloadPolicy(["a.example"], ["https"])
        policy_by_wildcard = DownloadPolicy(["*.example"], ["https"])
        for address in (PUBLIC, "2606:4700::1", "64:ff9b::5db8:d70e"):
            self.addresses_by_name["a.example"] = [address]
            self.assertEqual(address, policy_by_name.resolve("a.example", 443))
            self.assertEqual(
                address, policy_by_wildcard.resolve("a.example", 443)
            )
        for address in PRIVATE:
            self.addresses_by_name["a.example"] = [address]
            self.assertEqual(address, policy_by_name.resolve("a.example", 443))
            self.assertIn(
                "has an address",
                self.rejection(policy_by_wildcard, "a.example"),
            )
        for address in (*LOCAL, *SPECIAL, *EMBEDDED_LOOPBACK):
            for found in ([address], [PUBLIC, address], [address, PUBLIC]):
                self.addresses_by_name["a.example"] = found
                for policy in (policy_by_name, policy_by_wildcard):
                    reason = self.rejection(policy, "a.example")
                    self.assertNotIn(address, reason.split("'")[2])

    def test_hosts_allowed_by_address(self) -> None:
        for host in ("127.0.0.1", "169.254.1.1", "10.0.0.1", "::1"):
            self.addresses_by_name[host] = [host]
            policy = DownloadPolicy([host], ["http"])
            self.assertEqual(host, policy.resolve(host, 80))
        self.addresses_by_name["127.0.0.2"] = ["127.0.0.2"]
        self.rejection(DownloadPolicy(["127.0.0.1"], ["http"]), "127.0.0.2")
        self.addresses_by_name["localhost"] = ["127.0.0.1"]
        policy = DownloadPolicy(["localhost"], ["http"])
        self.assertEqual("127.0.0.1", policy.resolve("localhost", 80))

    def test_unusual_notations_of_an_address_are_rejected(self) -> None:
        policy = DownloadPolicy(["*"], ["http"])
        for host in ("2130706433", "0x7f000001", "127.1", "0177.0.0.1"):
            self.addresses_by_name[host] = ["127.0.0.1"]
            self.rejection(policy, host)

    def test_a_name_that_does_not_resolve(self) -> None:
        error = self.assertRaises(
            errors.PeerUnreachable,
            DownloadPolicy(["*"], ["http"]).resolve,
            "no.example",
            80,
        )
        self.assertIn("cannot be resolved", str(error))
