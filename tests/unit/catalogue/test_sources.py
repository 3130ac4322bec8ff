"""From where packages may be fetched: no way to what is inside."""

import socket
from collections.abc import Sequence
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.catalogue.download_policy import DownloadPolicy

PUBLIC = "93.184.215.14"
PRIVATE = ("10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1")
NEAR = ("127.0.0.1", "127.9.9.9", "::1", "169.254.169.254", "fe80::1")
ODD = (
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
)
#: loopback, in other words
VEILED = ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::")


class SourcesTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.addresses_by_name: dict[str, Sequence[str]] = {}
        self.resolved: list[str] = []
        self.useFixture(
            fixtures.MonkeyPatch("socket.getaddrinfo", self.resolve)
        )

    def resolve(self, host: str, port: int, **_: Any) -> list[Any]:
        """Answer as a name server that a test has."""
        self.resolved.append(host)
        if host not in self.addresses_by_name:
            raise socket.gaierror
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in self.addresses_by_name[host]
        ]

    def refused(self, sources: DownloadPolicy, host: str) -> str:
        error = self.assertRaises(errors.Forbidden, sources.resolve, host, 443)
        return str(error)

    def test_it_is_off_without_hosts(self) -> None:
        error = self.assertRaises(
            errors.Forbidden, DownloadPolicy([], ["https"]).check, "https://a/"
        )
        self.assertIn("upload_hosts is empty", str(error))

    def test_which_hosts(self) -> None:
        sources = DownloadPolicy(["A.example", "*.b.example"], ["https"])
        for host in ("a.example", "A.EXAMPLE", "a.example.", "x.b.example"):
            sources.check(f"https://{host}/x")
        for host in ("b.example", "xa.example", "a.example.com", "xb.example"):
            error = self.assertRaises(
                errors.Forbidden, sources.check, f"https://{host}/x"
            )
            self.assertIn(f"{host!r} is not among", str(error))
        DownloadPolicy(["*"], ["https"]).check("https://any.where/")

    def test_which_schemes(self) -> None:
        sources = DownloadPolicy(["*"], ["https"])
        for address in (
            "http://a/",
            "file:///etc/passwd",
            "FILE:///etc/passwd",
            "ftp://a/b",
            "gopher://a/",
            "data:text/plain,x",
        ):
            error = self.assertRaises(errors.Forbidden, sources.check, address)
            self.assertIn("the scheme", str(error))
        DownloadPolicy(["*"], ["http"]).check("http://a/")

    def test_what_is_no_address(self) -> None:
        sources = DownloadPolicy(["*"], ["https"])
        for address, message in (
            ("https://", "names no host"),
            ("https:///x", "names no host"),
            ("/etc/passwd", "is no URL"),
            ("a.example/vnf.csar", "is no URL"),
            ("", "is no URL"),
            ("https://[::1/", "is no URL"),
            ("https://a:99999999/", "is no URL"),
            ("https://a\r\nX: y/", "is no URL"),
            ("https://me:secret@a/", "beside it"),
            ("https://me@a/", "beside it"),
        ):
            error = self.assertRaises(
                errors.BadRequest, sources.check, address
            )
            self.assertIn(message, str(error))
            self.assertNotIn("secret", str(error))

    def test_an_address_itself_is_judged_at_once(self) -> None:
        sources = DownloadPolicy(["*"], ["https"])
        sources.check(f"https://{PUBLIC}/")
        for address in (*PRIVATE, *NEAR, *ODD, *VEILED):
            host = f"[{address}]" if ":" in address else address
            self.assertRaises(
                errors.Forbidden, sources.check, f"https://{host}/"
            )

    def test_what_a_name_may_lead_to(self) -> None:
        sources_by_name = DownloadPolicy(["a.example"], ["https"])
        like = DownloadPolicy(["*.example"], ["https"])
        for address in (PUBLIC, "2606:4700::1", "64:ff9b::5db8:d70e"):
            self.addresses_by_name["a.example"] = [address]
            self.assertEqual(
                address, sources_by_name.resolve("a.example", 443)
            )
            self.assertEqual(address, like.resolve("a.example", 443))
        for address in PRIVATE:
            self.addresses_by_name["a.example"] = [address]
            self.assertEqual(
                address, sources_by_name.resolve("a.example", 443)
            )
            self.assertIn("has an address", self.refused(like, "a.example"))
        for address in (*NEAR, *ODD, *VEILED):
            for found in ([address], [PUBLIC, address], [address, PUBLIC]):
                self.addresses_by_name["a.example"] = found
                for sources in (sources_by_name, like):
                    reason = self.refused(sources, "a.example")
                    self.assertNotIn(address, reason.split("'")[2])

    def test_hosts_allowed_by_address(self) -> None:
        for host in ("127.0.0.1", "169.254.1.1", "10.0.0.1", "::1"):
            self.addresses_by_name[host] = [host]
            sources = DownloadPolicy([host], ["http"])
            self.assertEqual(host, sources.resolve(host, 80))
        self.addresses_by_name["127.0.0.2"] = ["127.0.0.2"]
        self.refused(DownloadPolicy(["127.0.0.1"], ["http"]), "127.0.0.2")
        self.addresses_by_name["localhost"] = ["127.0.0.1"]
        sources = DownloadPolicy(["localhost"], ["http"])
        self.assertEqual("127.0.0.1", sources.resolve("localhost", 80))

    def test_other_ways_to_write_an_address(self) -> None:
        sources = DownloadPolicy(["*"], ["http"])
        for host in ("2130706433", "0x7f000001", "127.1", "0177.0.0.1"):
            self.addresses_by_name[host] = ["127.0.0.1"]
            self.refused(sources, host)

    def test_a_name_that_does_not_resolve(self) -> None:
        error = self.assertRaises(
            errors.PeerUnreachable,
            DownloadPolicy(["*"], ["http"]).resolve,
            "no.example",
            80,
        )
        self.assertIn("cannot be looked up", str(error))
