"""Images of a name are read in pages, within limits."""

import json
from typing import Any, Final
from urllib import parse

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.glance import Glance
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vnfd.model import SoftwareImage
from tests.fixtures import keystone
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)

JSON: Final = {"Content-Type": "application/json"}
PAGE: Final = 25
WANTED: Final = SoftwareImage(
    id="image",
    name="debian",
    version="1",
    checksum_algorithm="sha-512",
    checksum_hash="f" * 128,
)


class TestImages(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver())
        self.server.responder = self.respond
        authority = self.useFixture(HttpReceiver())
        authority.responder = keystone.with_service("image", self.server.url)
        connection = VimConnectionInfo(
            vim_type="ETSINFV.OPENSTACK_KEYSTONE.V_3",
            interface_info={"endpoint": f"{authority.url}/v3"},
            access_info=keystone.ACCESS_INFO,
        )
        policy = SsrfPolicy(
            allow_loopback=True, schemes=frozenset({"http", "https"})
        )
        retries = RetryPolicy(Deadline.within(60.0), contact_timeout=0.0)
        self.glance: Glance = Clouds(30.0, policy).images(connection, retries)
        self.images = [{"id": str(number)} for number in range(60)]
        self.images[-1] |= {
            "os_hash_algo": "sha512",
            "os_hash_value": WANTED.checksum_hash or "",
        }
        self.padding = ""

    def respond(self, request: ReceivedRequest) -> Response:
        path, _, query = request.path.partition("?")
        if not path.endswith("/images"):
            return 200, JSON, json.dumps(self.versions()).encode()
        marker = parse.parse_qs(query).get("marker", ["-1"])[0]
        start = int(marker) + 1
        page = self.images[start : start + PAGE]
        body: dict[str, Any] = {"images": page, "padding": self.padding}
        if start + PAGE < len(self.images):
            body["next"] = f"/v2/images?marker={page[-1]['id']}"
        return 200, JSON, json.dumps(body).encode()

    def versions(self) -> dict[str, Any]:
        link = {"rel": "self", "href": f"{self.server.url}/v2/"}
        return {
            "versions": [{"id": "v2.9", "status": "CURRENT", "links": [link]}]
        }

    def test_the_image_of_the_last_page(self) -> None:
        found = self.glance.find_ids([WANTED])
        self.assertEqual({"image": "59"}, found)

    def test_pages_without_end(self) -> None:
        self.images = [{"id": str(number)} for number in range(10_000)]
        self.padding = "x" * 1_000_000
        error = self.assertRaises(
            errors.VimRejected, self.glance.find_ids, [WANTED]
        )
        self.assertIn("more than 4194304 bytes", str(error))
