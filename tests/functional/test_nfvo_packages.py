"""VNF packages of the NFVO are fetched when they are needed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fixtures

from tests.fixtures import waiting
from tests.fixtures.http_receiver import ReceivedRequest, Response
from tests.fixtures.nfvo import NfvoServer, json_response, problem_response
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Vnfm
from tests.fixtures.vnfm import Response as Responded

INSTANCES = "/vnflcm/v2/vnf_instances"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
V2 = "/vnfpkgm/v2/onboarded_vnf_packages"


def always_respond(
    response: Response,
) -> Callable[[ReceivedRequest], Response]:
    return lambda _: response


class PackageTest(ApiCase):
    """An NFVO that has a package, and a service that has none."""

    version = "2.1.0"
    max_peer_requests = 8

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.nfvo = self.useFixture(NfvoServer())
        self.vnfm = self.useFixture(
            Vnfm(
                api={
                    "endpoint": "http://vnfm.example",
                    "max_peer_requests": self.max_peer_requests,
                },
                nfvo={
                    "endpoint": self.nfvo.url,
                    "package_version": self.version,
                },
            )
        )
        self.csar = self.useFixture(Csar())
        self.vnfd_id = self.nfvo.add_package(self.csar)

    def create(self, vnfd_id: str | None = None) -> Responded:
        body = {"vnfdId": vnfd_id or self.vnfd_id}
        return self.vnfm.call("POST", INSTANCES, body)

    def packages(self) -> Any:
        path = f"{PACKAGES}?all_fields"
        return self.vnfm.call("GET", path).json

    def assert_problem(
        self, status: int, response: Responded, message: str = ""
    ) -> None:
        super().assert_problem(status, response, message)
        self.assertEqual([], self.packages())


class TestFetch(PackageTest):
    def test_a_missing_package_is_fetched(self) -> None:
        response = self.create()
        self.assertEqual(201, response.status, str(response.content))
        self.assertEqual(self.vnfd_id, response.json["vnfdId"])
        (package,) = self.packages()
        self.assertEqual("ENABLED", package["operationalState"])
        self.assertEqual({"from": "the NFVO"}, package["userDefinedData"])
        content = f"{PACKAGES}/{package['id']}/package_content"
        self.assertEqual(
            self.csar.read(), self.vnfm.call("GET", content).content
        )
        self.assertEqual(
            [
                f"{V2}?filter=%28eq%2CvnfdId%2C{self.vnfd_id}%29",
                f"{V2}/{self.vnfd_id}/package_content",
            ],
            [request.path for request in self.nfvo.requests],
        )
        versions = {r.headers["Version"] for r in self.nfvo.requests}
        self.assertEqual({"2.1.0"}, versions)

    def test_a_fetched_package_is_not_fetched_again(self) -> None:
        self.create()
        self.nfvo.stop()
        self.assertEqual(201, self.create().status)

    def test_a_fetched_package_can_be_instantiated(self) -> None:
        instance_id = self.create().json["id"]
        end = self.vnfm.run(
            instance_id,
            "instantiate",
            {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM},
        )
        self.assertEqual("COMPLETED", end["operationState"], end)

    def test_an_uploaded_package_is_not_fetched(self) -> None:
        vnfd_id = self.vnfm.onboard()
        self.assertEqual(201, self.create(vnfd_id).status)
        self.assertEqual([], self.nfvo.requests)

    def test_concurrent_requests_fetch_a_package_once(self) -> None:
        barrier = threading.Barrier(4)

        def create(_: int) -> int:
            barrier.wait()
            return self.create().status

        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(create, range(4)))
        self.assertEqual([201] * 4, statuses)
        self.assertEqual(1, len(self.packages()))

    def test_an_unknown_checksum_algorithm(self) -> None:
        checksum = {"algorithm": "CRC-8", "hash": "0"}
        self.nfvo.add_package(self.csar, checksum=checksum)
        self.assertEqual(201, self.create().status)


class TestModify(PackageTest):
    def test_a_patch_fetches_the_package_it_names(self) -> None:
        instance_id = self.vnfm.create(self.vnfm.onboard())
        end = self.vnfm.modify(instance_id, {"vnfdId": self.vnfd_id})
        self.assertEqual("COMPLETED", end["operationState"], end)
        found = self.vnfm.instance(instance_id)
        self.assertEqual(self.vnfd_id, found["vnfdId"])
        self.assertEqual(2, len(self.packages()))

    def test_a_dry_run_fetches_nothing(self) -> None:
        instance_id = self.vnfm.create(self.vnfm.onboard())
        path = f"{INSTANCES}/{instance_id}?dry_run=true"
        response = self.vnfm.call("PATCH", path, {"vnfdId": self.vnfd_id})
        super(PackageTest, self).assert_problem(
            422, response, "A dry run does not fetch a package"
        )
        self.assertEqual([], self.nfvo.requests)
        self.assertEqual(1, len(self.packages()))

    def test_a_dry_run_needs_a_vim(self) -> None:
        instance_id = self.vnfm.create(self.vnfm.onboard())
        response = self.vnfm.task(
            instance_id, "instantiate?dry_run=true", {"flavourId": "simple"}
        )
        super(PackageTest, self).assert_problem(
            400, response, "name the VIM in the request"
        )

    def test_a_change_of_the_package_fetches_it(self) -> None:
        up = self.vnfm.create_instantiated()
        end = self.vnfm.run(up, "change_vnfpkg", {"vnfdId": self.vnfd_id})
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(self.vnfd_id, self.vnfm.instance(up)["vnfdId"])

    def test_nothing_is_fetched_for_an_unknown_instance(self) -> None:
        response = self.vnfm.patch("none", {"vnfdId": self.vnfd_id})
        self.assert_problem(404, response, "There is no VNF instance")
        self.assertEqual([], self.nfvo.requests)

    def test_a_package_that_cannot_be_fetched_changes_nothing(self) -> None:
        instance_id = self.vnfm.create(self.vnfm.onboard())
        before = self.vnfm.instance(instance_id)
        response = self.vnfm.patch(instance_id, {"vnfdId": "moon"})
        self.assertEqual(422, response.status, str(response.content))
        self.assertIn("here or at the NFVO", response.detail)
        self.nfvo.next_responses = [
            always_respond(problem_response(500, "broken"))
        ]
        response = self.vnfm.patch(instance_id, {"vnfdId": self.vnfd_id})
        self.assertEqual(503, response.status, str(response.content))
        self.assertEqual(before, self.vnfm.instance(instance_id))


class TestSlowNfvo(PackageTest):
    max_peer_requests = 1

    def test_few_requests_wait_for_it(self) -> None:
        may_answer = threading.Event()
        answer = self.nfvo._default_response

        def answer_late(request: ReceivedRequest) -> Response:
            may_answer.wait(60.0)
            return answer(request)

        self.nfvo.responder = answer_late
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(self.create)
            waiting.until(
                lambda: bool(self.nfvo.requests), "a request to the NFVO"
            )
            second = self.create()
            may_answer.set()
        self.assertEqual(503, second.status, str(second.content))
        self.assertIn("[api] max_peer_requests", second.detail)
        self.assertEqual(201, first.result().status)


class TestVersion1(PackageTest):
    version = "1.2.0"

    def test_packages_are_named_by_their_ids(self) -> None:
        self.assertEqual(201, self.create().status)
        self.assertEqual(
            [
                f"{PACKAGES}?filter=%28eq%2CvnfdId%2C{self.vnfd_id}%29",
                f"{PACKAGES}/id-of-{self.vnfd_id}/package_content",
            ],
            [request.path for request in self.nfvo.requests],
        )


class TestNotUsable(PackageTest):
    def test_a_package_that_does_not_exist(self) -> None:
        for vnfd_id in ("moon", "a 'strange', (one)"):
            self.assert_problem(
                422, self.create(vnfd_id), "here or at the NFVO"
            )

    def test_a_package_that_is_not_ready(self) -> None:
        for more, message in (
            ({"operationalState": "DISABLED"}, "is disabled"),
            ({"onboardingState": "PROCESSING"}, "is PROCESSING"),
            ({"vnfdId": "other"}, "here or at the NFVO"),
        ):
            self.nfvo.add_package(self.csar, **more)
            self.assert_problem(422, self.create(), message)

    def test_a_checksum_that_does_not_match(self) -> None:
        checksum = {"algorithm": "SHA-512", "hash": "00"}
        self.nfvo.add_package(self.csar, checksum=checksum)
        self.assert_problem(422, self.create(), "its checksum differs")

    def test_a_package_that_contains_another_vnfd(self) -> None:
        other = self.useFixture(Csar()).read()
        self.nfvo.packages[self.vnfd_id] = other, {}
        self.assert_problem(
            422, self.create(), "The package contains the VNFD"
        )

    def test_content_that_is_no_package(self) -> None:
        self.nfvo.packages[self.vnfd_id] = b"garbage", {}
        self.assert_problem(422, self.create(), "is not valid: ")

    def test_a_package_that_is_too_large(self) -> None:
        small = self.useFixture(
            Vnfm(
                api={"endpoint": "http://vnfm.example"},
                nfvo={"endpoint": self.nfvo.url},
                catalogue={"max_package_bytes": 5},
            )
        )
        response = small.call("POST", INSTANCES, {"vnfdId": self.vnfd_id})
        self.assertEqual(422, response.status)
        self.assertIn("5 bytes at most", response.detail)


class TestPackageDeleted(PackageTest):
    def test_the_nfvo_is_unreachable(self) -> None:
        self.nfvo.stop()
        self.assert_problem(503, self.create(), "cannot be reached")
        self.useFixture(NfvoServer(port=self.nfvo.port)).add_package(self.csar)
        self.assertEqual(201, self.create().status)

    def test_invalid_responses(self) -> None:
        for response, message in (
            (
                problem_response(500, "I am on fire"),
                "responded 500 to the package query: I am on fire",
            ),
            (problem_response(401, "who?"), "The NFVO responded 401"),
            ((200, {}, b"garbage"), "list of packages is not valid"),
            (json_response({"id": 5}), "list of packages is not valid"),
            (json_response([{"id": 5}]), "`str`, got `int` - at `$[0].id`"),
        ):
            self.nfvo.next_responses = [always_respond(response)]
            self.assert_problem(503, self.create(), message)

    def test_the_content_is_not_found(self) -> None:
        ask = self.nfvo._default_response
        self.nfvo.responder = lambda request: (
            problem_response(404, "gone")
            if request.path.endswith("package_content")
            else ask(request)
        )
        self.assert_problem(503, self.create(), "The NFVO responded 404")

    def test_the_connection_breaks(self) -> None:
        ask = self.nfvo._default_response

        def break_off(request: ReceivedRequest) -> Response:
            status, headers, body = ask(request)
            if request.path.endswith("package_content"):
                cut = {"Content-Length": "999999", "Connection": "close"}
                return status, headers | cut, body
            return status, headers, body

        self.nfvo.responder = break_off
        self.assert_problem(503, self.create(), "response is incomplete")
        incoming = Path(self.vnfm.state_path) / "packages" / "incoming"
        self.assertEqual([], list(incoming.iterdir()))
