"""Packages by address: by the real command, and when conductors are killed."""

import threading
from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.receiver import Answer, Received, Receiver
from tests.fixtures.vnfm import Csar
from tests.services.deployment import START, Deployment
from tests.services.servers import MARIADB, POSTGRESQL
from tests.services.test_openstack_cli import CommandTest

PACKAGES = "/vnfpkgm/v1/vnf_packages"
LEASE = 3.0


class TestCommand(CommandTest):
    settings = """\
[catalogue]
upload_hosts = 127.0.0.1
upload_schemes = http
"""

    def test_a_package_is_fetched(self) -> None:
        csar = self.useFixture(Csar())
        source = self.useFixture(Receiver(basic=("vnfm", "secret-word")))

        def give(request: Received) -> Answer:
            right = source._knows(request)
            return (200, {}, csar.read()) if right else (401, {}, b"")

        source.answers = give
        package = self.told("vnf package create")["ID"]
        command = f"vnf package upload {package} --url"
        who = ("--user-name", "vnfm", "--password")
        self.bad(command, "not among", "http://127.0.0.2/", *who, "x")
        said = self.good(command, source.url, *who, "wrong-word")
        self.assertIn("has been accepted", said)
        self.reaches(package, "CREATED")
        self.good(command, source.url, *who, "secret-word")
        shown = self.reaches(package, "ONBOARDED")
        self.assertEqual(csar.vnfd_id, shown["VNFD ID"])
        self.assertNotIn("secret-word", str(shown))

    def reaches(self, package: str, state: str) -> Any:
        def look() -> Any:
            shown = self.told(f"vnf package show {package}")
            return shown if shown["Onboarding State"] == state else None

        return waiting.until(look, f"{package} to be {state}", START)


class TestKilledConductor(testtools.TestCase):
    server = POSTGRESQL

    def test_another_goes_on(self) -> None:
        deployment = self.useFixture(
            Deployment(
                self,
                self.server,
                conductor={"lease": LEASE},
                catalogue={
                    "upload_hosts": "127.0.0.1",
                    "upload_schemes": "http",
                },
            )
        )
        csar = self.useFixture(Csar())
        source = self.useFixture(Receiver())
        asked, going = threading.Event(), threading.Event()
        self.addCleanup(going.set)

        def give(_: Received) -> Answer:
            asked.set()
            going.wait(START)
            return 200, {}, csar.read()

        source.answers = give
        client = deployment.api().client
        doomed = deployment.conductor()
        path = f"{PACKAGES}/{client.made('POST', PACKAGES, {}, 201)['id']}"
        answer = client.call(
            "POST",
            f"{path}/package_content/upload_from_uri",
            {"addressInformation": source.url},
        )
        self.assertEqual(202, answer.status, str(answer.content))
        self.assertTrue(asked.wait(START))
        doomed.kill()
        shown = client.call("GET", path).json
        self.assertEqual("UPLOADING", shown["onboardingState"])
        going.set()
        deployment.conductor()

        def look() -> bool:
            state = client.call("GET", path).json["onboardingState"]
            return bool(state == "ONBOARDED")

        waiting.until(look, "the package to be onboarded", START)
        self.assertEqual(2, len(source.requests))
        again = client.call("GET", f"{path}/package_content")
        self.assertEqual(csar.read(), again.content)


class TestKilledConductorOnMariaDB(TestKilledConductor):
    server = MARIADB
