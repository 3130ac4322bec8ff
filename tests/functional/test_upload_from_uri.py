"""Uploads of packages from a URI (upload_from_uri)."""

import select
import socket
import threading
from pathlib import Path
from typing import Any, ClassVar
from urllib import parse

import fixtures
from trustme import CA

from tacker_cnf import errors
from tacker_cnf.catalogue.uploads import MAX_ATTEMPTS, Uploads
from tacker_cnf.cmd import compose
from tacker_cnf.db import leases, packages
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.sol.vnf_package import OnboardingState
from tests.fixtures import waiting
from tests.fixtures.clock import ManualClock
from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.http_receiver import Response as ServerResponse
from tests.fixtures.ports import ReservedPort
from tests.fixtures.vnfm import Response, Vnfm
from tests.functional import test_packages
from tests.functional.test_packages import PACKAGES

USER, PASSWORD = "a-user", "hunter2-secret"
BUSY = {"UPLOADING", "PROCESSING"}


class UploadTest(test_packages.PackageTest):
    more: ClassVar[dict[str, Any]] = {}
    clock: Clock = SYSTEM_CLOCK

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.source = self.useFixture(HttpReceiver(basic=(USER, PASSWORD)))
        self.source.responder = self.serve_package
        self.content = self.good
        self.serve(upload_hosts=["127.0.0.1"], upload_schemes=["http"])

    def serve(self, outgoing: Any = None, **options: Any) -> None:
        self.vnfm = self.useFixture(
            Vnfm(
                self.clock,
                catalogue=options | self.more,
                outgoing=outgoing or {},
            )
        )
        self.call = self.vnfm.call

    def serve_package(self, request: ReceivedRequest) -> ServerResponse:
        if not self.source._is_authorized(request):
            return 401, {}, b"who?"
        return 200, {"Content-Type": "application/zip"}, self.content

    def request_upload(
        self, path: str, url: str | None = None, **more: Any
    ) -> Response:
        body = {
            "addressInformation": url or f"{self.source.url}/vnf.csar?t=tok",
            "userName": USER,
            "password": PASSWORD,
        }
        body = {k: v for k, v in (body | more).items() if v is not None}
        return self.call(
            "POST", f"{path}/package_content/upload_from_uri", body
        )

    def wait_upload(self, path: str) -> Any:
        def ended() -> Any:
            shown = self.call("GET", path).json
            return None if shown["onboardingState"] in BUSY else shown

        return waiting.until(ended, "the end of the upload")

    def assert_failed(self, path: str, message: str) -> None:
        """Wait until a fetch has failed, and check its error."""
        shown = self.wait_upload(path)
        self.assertEqual("CREATED", shown["onboardingState"])
        self.assertIn(message, shown["onboardingFailureDetails"]["detail"])
        self.assertEqual(set(), self.list_contents())
        self.assert_no_secret(shown)

    def assert_no_secret(self, shown: Any) -> None:
        for secret in (PASSWORD, "t=tok"):
            self.assertNotIn(secret, str(shown))
            self.assertNotIn(secret, self.log.output)
        with self.vnfm.parts.store.engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT * FROM vnf_packages")
            self.assertNotIn(PASSWORD, str(rows.fetchall()))


class TestFetch(UploadTest):
    def test_a_package_is_fetched_and_onboarded(self) -> None:
        path = self.create_package()
        response = self.request_upload(path)
        self.assertEqual((202, b""), (response.status, response.content))
        shown = self.wait_upload(path)
        self.assertEqual("ONBOARDED", shown["onboardingState"])
        self.assertEqual("ENABLED", shown["operationalState"])
        self.assertEqual(self.csar.vnfd_id, shown["vnfdId"])
        self.assertNotIn("onboardingFailureDetails", shown)
        self.assert_no_secret(shown)
        content = self.call("GET", f"{path}/package_content").content
        self.assertEqual(self.good, content)
        (request,) = self.source.requests
        self.assertEqual("/vnf.csar?t=tok", request.path)
        self.assertEqual("identity", request.headers["Accept-Encoding"])
        host = f"127.0.0.1:{self.source.port}"
        self.assertEqual(host, request.headers["Host"])
        with self.vnfm.parts.store.reader() as session:
            row = packages.get(session, shown["id"])
        self.assertIsNone(row.upload)

    def test_failures_are_reported_and_can_be_retried(self) -> None:
        path = self.create_package()
        for content, message in (
            (b"no zip", "cannot be read as zip"),
            (b"", "The upload is empty"),
            (self.good[:-100], "cannot be read as zip"),
        ):
            self.content = content
            self.assertEqual(202, self.request_upload(path).status)
            self.assert_failed(path, message)
        self.content = self.good
        self.assertEqual(202, self.request_upload(path).status)
        shown = self.wait_upload(path)
        self.assertEqual("ONBOARDED", shown["onboardingState"])
        self.assertNotIn("onboardingFailureDetails", shown)

    def test_responses_of_the_server(self) -> None:
        inside = {"Location": "http://127.0.0.1/secret"}
        zipped = {"Content-Encoding": "gzip"}
        for given, message in (
            ((404, {}, b"no"), "answered 404; the file does not exist"),
            ((500, {}, b"no"), "answered 500"),
            ((302, inside, b""), "302; redirects are not followed"),
            ((206, {}, b"x"), "answered 206"),
            ((200, zipped, self.good), "answered with a Content-Encoding"),
        ):
            self.source.responder = lambda _, given=given: given  # type: ignore[misc]
            path = self.create_package()
            self.request_upload(path)
            self.assert_failed(path, message)
        self.source.responder = self.close_connection
        path = self.create_package()
        self.request_upload(path)
        self.assert_failed(path, "127.0.0.1")

    def close_connection(self, _: ReceivedRequest) -> ServerResponse:
        raise ConnectionError

    def test_wrong_credentials(self) -> None:
        path = self.create_package()
        self.request_upload(path, password="wrong")
        self.assert_failed(path, "answered 401; it rejects userName and")
        self.request_upload(path, userName=None, password=None)
        self.assert_failed(path, "answered 401")

    def test_the_server_is_unreachable(self) -> None:
        port = self.useFixture(ReservedPort()).port
        path = self.create_package()
        self.request_upload(path, f"http://127.0.0.1:{port}/")
        self.assert_failed(path, "cannot be reached")

    def test_states_during_the_fetch(self) -> None:
        proceed, requested = threading.Event(), threading.Event()
        self.addCleanup(proceed.set)

        def slowly(request: ReceivedRequest) -> ServerResponse:
            requested.set()
            proceed.wait(60)
            return self.serve_package(request)

        self.source.responder = slowly
        path = self.create_package()
        self.request_upload(path)
        self.assertTrue(requested.wait(60))
        shown = self.call("GET", path).json
        self.assertEqual("UPLOADING", shown["onboardingState"])
        self.assertNotIn("vnfd", shown["_links"])
        self.assert_problem(409, self.request_upload(path), "is UPLOADING")
        self.assert_problem(409, self.upload(path, self.good), "is UPLOADING")
        response = self.modify(path, operationalState="ENABLED")
        self.assert_problem(409, response, "is UPLOADING, not ONBOARDED")
        response = self.call("GET", f"{path}/package_content")
        self.assert_problem(409, response, "has no content yet")
        found = "filter=(eq,onboardingState,UPLOADING)"
        listed = self.call("GET", f"{PACKAGES}?{found}").json
        self.assertEqual([shown["id"]], [one["id"] for one in listed])
        proceed.set()
        self.assertEqual(
            "ONBOARDED", self.wait_upload(path)["onboardingState"]
        )
        self.assert_problem(
            409, self.request_upload(path), "already has its content"
        )

    def test_a_package_that_is_deleted_during_the_fetch(self) -> None:
        path = self.create_package()

        def serve_package(request: ReceivedRequest) -> ServerResponse:
            self.assertEqual(204, self.call("DELETE", path).status)
            return self.serve_package(request)

        self.source.responder = serve_package
        self.request_upload(path)
        self.wait_until_idle(path)
        self.assertEqual(404, self.call("GET", path).status)
        self.assertEqual(set(), self.list_contents())

    def wait_until_idle(self, path: str) -> None:
        package_id = path.rpartition("/")[2]
        line = self.vnfm.conductor.package_fetcher.queue
        waiting.until(
            lambda: self.source.requests and package_id not in line,
            "the end of the fetch",
        )

    def test_invalid_requests(self) -> None:
        path = self.create_package()
        for more, message in (
            ({"authType": "OAUTH2_CLIENT_CREDENTIALS"}, "only BASIC"),
            ({"password": None}, "userName and password require each other"),
            ({"addressInformation": 5}, "$.addressInformation"),
            (
                {"addressInformation": "http://u:p@127.0.0.1/"},
                "contains a user",
            ),
        ):
            self.assert_problem(
                400, self.request_upload(path, **more), message
            )
        response = self.request_upload(f"{PACKAGES}/none")
        self.assert_problem(404, response, "There is no VNF package none")

    def test_addresses_that_are_not_allowed(self) -> None:
        path = self.create_package()
        for url in (
            "http://127.0.0.2/",
            "http://169.254.169.254/latest/meta-data",
            "http://localhost/",
            "http://example.com/",
            "https://127.0.0.1/",
            "file:///etc/passwd",
        ):
            self.assert_problem(403, self.request_upload(path, url), "")
        shown = self.call("GET", path).json
        self.assertEqual("CREATED", shown["onboardingState"])
        self.assertEqual([], self.source.requests)


class TestRebinding(UploadTest):
    def test_the_checked_address_is_connected_to(self) -> None:
        """The name resolves to another address the second time."""
        looked_up: list[str] = []
        getaddrinfo = socket.getaddrinfo

        def resolve(host: str, port: int, *rest: Any, **more: Any) -> Any:
            if host != "packages.example":
                return getaddrinfo(host, port, *rest, **more)
            looked_up.append(host)
            first = len(looked_up) == 1
            address = "10.255.255.1" if first else "127.0.0.1"
            return getaddrinfo(address, port, *rest, **more)

        def refuse(address: tuple[str, int], *_: Any, **__: Any) -> None:
            connected_to.add(address)
            raise ConnectionRefusedError

        connected_to: set[tuple[str, int]] = set()
        self.useFixture(fixtures.MonkeyPatch("socket.getaddrinfo", resolve))
        self.useFixture(
            fixtures.MonkeyPatch("socket.create_connection", refuse)
        )
        self.serve(upload_hosts=["packages.example"], upload_schemes=["http"])
        path = self.create_package()
        port = self.source.port
        self.request_upload(path, f"http://packages.example:{port}/")
        self.assert_failed(path, "packages.example")
        self.assertEqual(["packages.example"], looked_up)
        self.assertEqual({("10.255.255.1", port)}, connected_to)
        self.request_upload(path, f"http://packages.example:{port}/")
        self.assert_failed(
            path, "has an address from which packages cannot be"
        )
        self.assertEqual([], self.source.requests)


class TestTimeLimit(UploadTest):
    more: ClassVar[dict[str, Any]] = {"upload_timeout": 10.0}

    def setUp(self) -> None:
        self.clock = self.manual_clock = ManualClock()
        super().setUp()

    def test_the_time_of_a_download_is_limited(self) -> None:
        """Each byte arrives in time, and the download does not end."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(
                target=self.send_bytewise, args=(server,)
            )
            thread.start()
            path = self.create_package()
            self.request_upload(
                path, f"http://127.0.0.1:{server.getsockname()[1]}/"
            )
            self.assert_failed(path, "was not received within")
            thread.join(60)

    def send_bytewise(self, server: socket.socket) -> None:
        def accept() -> socket.socket | None:
            # the first service of the test may have received the message
            self.manual_clock.advance(1.0)
            readable, _, _ = select.select([server], [], [], 0)
            return server.accept()[0] if readable else None

        with waiting.until(accept, "a connection") as connection:
            connection.recv(9999)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

            def is_closed() -> bool:
                try:
                    connection.sendall(b"x")
                except OSError:
                    return True
                self.manual_clock.advance(1.0)
                return False

            waiting.until(is_closed, "the end of the connection")


class TestTooLarge(UploadTest):
    more: ClassVar[dict[str, Any]] = {"max_package_bytes": 100}

    def test_the_size_of_a_download_is_limited(self) -> None:
        path = self.create_package()
        self.request_upload(path)
        self.assert_failed(path, "100 bytes at most")


class TestTls(UploadTest):
    def use(self, authority: CA, *names: str) -> None:
        self.source = self.useFixture(
            HttpReceiver(authority=authority, names=names)
        )
        self.source.responder = self.serve_package

    def test_the_certificate_has_to_match_the_name(self) -> None:
        authority = CA()
        file = Path(self.useFixture(fixtures.TempDir()).path) / "ca.pem"
        authority.cert_pem.write_to_path(file)
        self.serve(outgoing={"ca_file": str(file)}, upload_hosts=["localhost"])
        path = self.create_package()
        self.use(authority, "127.0.0.1")
        url = f"https://localhost:{self.source.port}/"
        self.request_upload(path, url)
        self.assert_failed(path, "localhost")
        self.use(CA(), "localhost")
        self.request_upload(path, f"https://localhost:{self.source.port}/")
        self.assert_failed(path, "localhost")
        self.use(authority, "localhost")
        self.request_upload(path, f"https://localhost:{self.source.port}/")
        self.assertEqual(
            "ONBOARDED", self.wait_upload(path)["onboardingState"]
        )


class TestDisabled(test_packages.PackageTest):
    def test_an_upload_without_allowed_hosts_is_rejected(self) -> None:
        path = self.create_package()
        response = self.call(
            "POST",
            f"{path}/package_content/upload_from_uri",
            {"addressInformation": "https://example.com/"},
        )
        self.assert_problem(403, response, "upload_hosts is empty")


class TestLostConductors(UploadTest):
    """Lost conductors: another continues, or the package is CREATED again."""

    def setUp(self) -> None:
        super().setUp()
        self.path = self.create_package()
        self.package_id = self.path.rpartition("/")[2]
        self.store = self.vnfm.parts.store

    def insert_stale_upload(
        self, state: str, attempt: int, owner: str | None
    ) -> None:
        """Insert the rows that a killed conductor leaves."""
        self.vnfm.conductor.stop()
        self.request_upload(self.path)
        with self.store.writer() as session:
            row = packages.get(session, self.package_id)
            row.onboarding_state = OnboardingState(state)
            row.upload_attempt = attempt
        if owner:
            leases.acquire(self.store, f"upload {self.package_id}", owner, 1.0)

    def start_conductor(self) -> None:
        conductor = compose.conductor(self.vnfm.parts, self.vnfm.nfvo)
        conductor.start(self.vnfm.parts.transport)
        self.addCleanup(conductor.stop)
        # the next conductor to be lost
        self.vnfm.conductor = conductor

    def test_another_conductor_starts_again_after_the_lease_has_expired(
        self,
    ) -> None:
        for state in ("UPLOADING", "PROCESSING"):
            with self.subTest(state):
                self.insert_stale_upload(state, 1, "a lost conductor")
                self.start_conductor()
                shown = self.wait_upload(self.path)
                self.assertEqual("ONBOARDED", shown["onboardingState"])
                self.disable(self.path)
                self.call("DELETE", self.path)
                self.path = self.create_package()
                self.package_id = self.path.rpartition("/")[2]

    def test_while_the_lease_lasts_no_other_conductor_starts(self) -> None:
        self.insert_stale_upload("UPLOADING", 1, None)
        lease_name, owner = f"upload {self.package_id}", "another conductor"
        leases.acquire(self.store, lease_name, owner, 60.0)
        self.start_conductor()
        fetcher = self.vnfm.conductor.package_fetcher
        fetcher.sweep()
        waiting.until(
            lambda: self.package_id not in fetcher.queue, "the refused claim"
        )
        shown = self.call("GET", self.path).json
        self.assertEqual("UPLOADING", shown["onboardingState"])
        self.assertEqual([], self.source.requests)
        leases.release(self.store, [lease_name], owner)
        self.assertEqual(
            "ONBOARDED", self.wait_upload(self.path)["onboardingState"]
        )

    def test_a_package_that_kills_conductors_is_failed(self) -> None:
        self.insert_stale_upload("PROCESSING", 3, "the third")
        self.start_conductor()
        self.assert_failed(self.path, "3 conductors were lost")
        self.assertEqual([], self.source.requests)

    def test_a_previous_owner_changes_nothing(self) -> None:
        self.vnfm.conductor.stop()
        self.request_upload(self.path)
        uploads = Uploads(
            self.store, self.vnfm.conf, self.vnfm.parts.catalogue
        )

        def serve_package(request: ReceivedRequest) -> ServerResponse:
            with self.store.writer() as session:
                self.assertEqual(
                    2,
                    (
                        packages.claim_upload(session, self.package_id)
                        or (0, 0)
                    )[1],
                )
            return self.serve_package(request)

        self.source.responder = serve_package
        try:
            uploads.fetch(self.package_id, CancelToken())
        except errors.WrongState as error:
            self.assertIn("or another conductor fetches it", str(error))
        else:
            self.fail("The fetch continued")
        with self.store.reader() as session:
            row = packages.get(session, self.package_id)
        self.assertEqual("UPLOADING", row.onboarding_state)
        self.assertIsNone(row.onboarding_failure_details)
        self.assertEqual(set(), self.list_contents())

    def test_a_stopped_conductor_leaves_the_upload_to_another(self) -> None:
        self.vnfm.conductor.stop()
        self.request_upload(self.path)
        uploads = Uploads(
            self.store, self.vnfm.conf, self.vnfm.parts.catalogue
        )
        cancel_token = CancelToken()
        cancel_token.cancel(errors.Cancelled(), forceful=True)
        for _ in range(
            MAX_ATTEMPTS + 1
        ):  # no conductor is lost: all of them may stop
            self.assertRaises(
                errors.Cancelled, uploads.fetch, self.package_id, cancel_token
            )
            shown = self.call("GET", self.path).json
            self.assertEqual("UPLOADING", shown["onboardingState"])
        self.start_conductor()
        self.assertEqual(
            "ONBOARDED", self.wait_upload(self.path)["onboardingState"]
        )


class TestQuery(UploadTest):
    def test_failures_are_shown_in_lists(self) -> None:
        self.content = b"no zip"
        path = self.create_package()
        self.request_upload(path)
        self.assert_failed(path, "zip")
        query = parse.quote("(cont,onboardingFailureDetails/detail,zip)")
        listed = self.call("GET", f"{PACKAGES}?filter={query}").json
        self.assertEqual([path.rpartition("/")[2]], [o["id"] for o in listed])
        self.assertNotIn("onboardingFailureDetails", listed[0])
        (whole,) = self.call("GET", f"{PACKAGES}?all_fields").json
        self.assertIn("onboardingFailureDetails", whole)
