"""Uploads from a URI by the openstack command and with killed conductors."""

import threading
from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.vnfm import Csar
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.deployment import START_TIMEOUT_S, Deployment
from tests.services.test_openstack_cli import CommandTest

PACKAGES = "/vnfpkgm/v1/vnf_packages"


class TestCommand(CommandTest):
    settings = """\
[catalogue]
upload_hosts = 127.0.0.1
upload_schemes = http
"""

    def test_a_package_is_fetched(self) -> None:
        csar = self.useFixture(Csar())
        source = self.useFixture(HttpReceiver(basic=("vnfm", "secret-word")))

        def respond(request: ReceivedRequest) -> Response:
            is_authorized = source._is_authorized(request)
            return (200, {}, csar.read()) if is_authorized else (401, {}, b"")

        source.responder = respond
        package = self.run_json("vnf package create")["ID"]
        command = f"vnf package upload {package} --url"
        credentials = ("--user-name", "vnfm", "--password")
        self.run_failing(
            command, "not among", "http://127.0.0.2/", *credentials, "x"
        )
        output = self.run_ok(command, source.url, *credentials, "wrong-word")
        self.assertIn("has been accepted", output)
        self.wait_state(package, "CREATED")
        self.run_ok(command, source.url, *credentials, "secret-word")
        shown = self.wait_state(package, "ONBOARDED")
        self.assertEqual(csar.vnfd_id, shown["VNFD ID"])
        self.assertNotIn("secret-word", str(shown))

    def wait_state(self, package: str, state: str) -> Any:
        def read_state() -> Any:
            shown = self.run_json(f"vnf package show {package}")
            return shown if shown["Onboarding State"] == state else None

        return waiting.until(
            read_state, f"{package} to be {state}", START_TIMEOUT_S
        )


class TestKilledConductor(testtools.TestCase):
    server = POSTGRESQL

    def test_another_conductor_continues(self) -> None:
        deployment = self.useFixture(
            Deployment(
                self,
                self.server,
                catalogue={
                    "upload_hosts": "127.0.0.1",
                    "upload_schemes": "http",
                },
            )
        )
        csar = self.useFixture(Csar())
        source = self.useFixture(HttpReceiver())
        requested, proceed = threading.Event(), threading.Event()
        self.addCleanup(proceed.set)

        def respond(_: ReceivedRequest) -> Response:
            requested.set()
            proceed.wait(START_TIMEOUT_S)
            return 200, {}, csar.read()

        source.responder = respond
        client = deployment.api().client
        killed_conductor = deployment.conductor()
        path = f"{PACKAGES}/{client.call_expecting('POST', PACKAGES, {}, 201)['id']}"
        response = client.call(
            "POST",
            f"{path}/package_content/upload_from_uri",
            {"addressInformation": source.url},
        )
        self.assertEqual(202, response.status, str(response.content))
        self.assertTrue(requested.wait(START_TIMEOUT_S))
        deployment.kill(killed_conductor)
        shown = client.call("GET", path).json
        self.assertEqual("UPLOADING", shown["onboardingState"])
        proceed.set()
        deployment.conductor()

        def read_state() -> bool:
            state = client.call("GET", path).json["onboardingState"]
            return bool(state == "ONBOARDED")

        waiting.until(
            read_state, "the package to be onboarded", START_TIMEOUT_S
        )
        self.assertEqual(2, len(source.requests))
        again = client.call("GET", f"{path}/package_content")
        self.assertEqual(csar.read(), again.content)


class TestKilledConductorOnMariaDB(TestKilledConductor):
    server = MARIADB
