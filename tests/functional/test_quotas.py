"""Quotas of projects: what they may have, at most."""

import contextlib
import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Final

import fixtures
import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db import models, quotas
from tacker_cnf.db.quotas import Resource
from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Response

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"
SUBSCRIPTIONS: Final = "/vnflcm/v2/subscriptions"
VIMS: Final = "/v1.0/vims"
INSTANTIATION: Final = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}


class QuotaCase(ApiCase):
    options: ClassVar[dict[str, dict[str, Any]]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(
            Projects(notification={"test_callback": False}, **self.options)
        )

    def limit(self, resource: Resource, limit: int | None) -> None:
        """Set a quota of the first project."""
        store = self.vnfm.parts.store
        store.write(None, quotas.set_limit, OWNER, resource, limit)

    def in_use(self, resource: Resource, project: str = OWNER) -> int:
        store = self.vnfm.parts.store
        return store.read(None, quotas.in_use, project, resource)

    def upload(self, content: bytes) -> tuple[str, Response]:
        """Create a package and upload its content."""
        created = self.vnfm.call("POST", PACKAGES, {}).json
        path = f"{PACKAGES}/{created['id']}"
        zipped = {"Content-Type": "application/zip"}
        return path, self.vnfm.call(
            "PUT", f"{path}/package_content", content, zipped
        )

    def contents(self) -> list[str]:
        return self.vnfm.parts.catalogue.content.ids()


class TestNumbers(QuotaCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfd_id = self.vnfm.onboard()
        self.number = 0

    def create(self, resource: Resource) -> Response:
        self.number += 1
        call = self.vnfm.call
        match resource:
            case Resource.VNF_INSTANCES:
                return call("POST", INSTANCES, {"vnfdId": self.vnfd_id})
            case Resource.VNF_PACKAGES:
                return call("POST", PACKAGES, {})
            case Resource.VIMS:
                vim = {
                    "name": f"vim-{self.number}",
                    "type": "fake",
                    "auth_url": "http://127.0.0.1",
                    "auth_cred": {},
                }
                return call("POST", VIMS, {"vim": vim})
            case _:
                uri = f"http://127.0.0.1/{self.number}"
                return call("POST", SUBSCRIPTIONS, {"callbackUri": uri})

    counted = (
        (Resource.VNF_INSTANCES, INSTANCES),
        (Resource.VNF_PACKAGES, PACKAGES),
        (Resource.VIMS, VIMS),
        (Resource.SUBSCRIPTIONS, SUBSCRIPTIONS),
    )

    def test_no_more_than_the_quota(self) -> None:
        for resource, path in self.counted:
            self.limit(resource, self.in_use(resource) + 2)
            made = [self.create(resource) for _ in range(2)]
            self.assertEqual([201, 201], [m.status for m in made], resource)
            refused = self.create(resource)
            used = self.in_use(resource)
            self.assert_problem(
                403, refused, f"Quota exceeded: project {OWNER} has {used} "
            )
            self.assertIn(f"it may have {used}. ", refused.detail)
            self.assertIn(f"a larger quota {resource}.", refused.detail)
            # the other project has its own
            self.vnfm.become(UNTRUSTED)
            if resource is not Resource.VNF_INSTANCES:  # it has no package
                self.assertEqual(201, self.create(resource).status)
            self.vnfm.become(OWNER)
            # a deletion makes room
            (found,) = (
                made[0].json.values() if path == VIMS else [made[0].json]
            )
            deleted = self.vnfm.call("DELETE", f"{path}/{found['id']}")
            self.assertEqual(204, deleted.status, str(deleted.content))
            self.assertEqual(201, self.create(resource).status)

    def test_no_vim_is_called_for_one_too_many(self) -> None:
        """Nor does the request wait for it."""
        self.limit(Resource.VIMS, self.in_use(Resource.VIMS))
        checked: list[object] = []
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.fake.FakeDriver.check_connection",
                lambda _, connection: checked.append(connection),
            )
        )
        self.assert_problem(403, self.create(Resource.VIMS), "Quota exceeded")
        self.assertEqual([], checked)

    def test_an_administrator_counts_for_its_project(self) -> None:
        for resource, _ in self.counted:
            self.limit(resource, self.in_use(resource))
            self.vnfm.become(OWNER, "admin", "member", "reader")
            self.assert_problem(403, self.create(resource), "Quota exceeded")
            self.vnfm.become(OWNER)

    def test_the_last_place_is_taken_once(self) -> None:
        for resource, _ in self.counted:
            self.limit(resource, self.in_use(resource) + 1)
            with ThreadPoolExecutor(4) as pool:
                made = list(pool.map(self.create, [resource] * 4))
            self.assertEqual(
                [201, 403, 403, 403], sorted(m.status for m in made), resource
            )

    def test_the_quotas_of_the_configuration(self) -> None:
        self.vnfm.parts.store.quotas = {Resource.SUBSCRIPTIONS: 1}
        subscribe = self.create
        self.assertEqual(201, subscribe(Resource.SUBSCRIPTIONS).status)
        self.assertEqual(403, subscribe(Resource.SUBSCRIPTIONS).status)
        self.limit(Resource.SUBSCRIPTIONS, 2)
        self.assertEqual(201, subscribe(Resource.SUBSCRIPTIONS).status)
        self.limit(Resource.SUBSCRIPTIONS, quotas.UNLIMITED)
        self.assertEqual(201, subscribe(Resource.SUBSCRIPTIONS).status)
        self.limit(Resource.SUBSCRIPTIONS, None)
        self.assertEqual(403, subscribe(Resource.SUBSCRIPTIONS).status)

    def test_a_package_of_another_catalogue(self) -> None:
        """As of an NFVO: it counts for the project that needs it."""
        self.limit(Resource.VNF_PACKAGES, 1)
        csar = self.useFixture(Csar())

        def fetch(project_id: str) -> None:
            self.vnfm.parts.catalogue.import_package(
                csar.vnfd_id, io.BytesIO(csar.read()), {}, project_id
            )

        self.assertRaises(errors.QuotaExceeded, fetch, OWNER)
        self.assertEqual(1, len(self.contents()))
        fetch(UNTRUSTED)
        self.limit(Resource.VNF_PACKAGES, 2)
        self.limit(Resource.PACKAGE_BYTES, 1)
        self.assertRaises(errors.QuotaExceeded, fetch, OWNER)


class TestOperations(QuotaCase):
    options: ClassVar = {
        "quotas": {"operations": 2},
        "conductor": {"workers": 8},
    }

    def setUp(self) -> None:
        super().setUp()
        vnfd_id = self.vnfm.onboard()
        self.instances = [self.vnfm.create(vnfd_id) for _ in range(4)]

    def start(self, number: int) -> Response:
        return self.vnfm.task(
            self.instances[number], "instantiate", INSTANTIATION
        )

    @contextlib.contextmanager
    def waiting_driver(self) -> Iterator[None]:
        """Let the operations wait within this block."""
        may_continue = threading.Event()

        def wait(_: object) -> None:
            may_continue.wait(120)

        self.vnfm.driver.before["apply"] = wait
        try:
            yield
        finally:
            del self.vnfm.driver.before["apply"]
            may_continue.set()

    def test_operations_at_once(self) -> None:
        with self.waiting_driver():
            started = [self.start(n) for n in range(2)]
            self.assertEqual([202, 202], [s.status for s in started])
            refused = self.start(2)
            self.assert_problem(
                429, refused, "has 2 lifecycle operations at once; it may have"
            )
            self.assertIn("Wait until one has ended", refused.detail)
            self.assertEqual("10", refused.headers["Retry-After"])
            # nothing was reserved
            instance = self.vnfm.instance(self.instances[2])
            self.assertEqual(
                "NOT_INSTANTIATED", instance["instantiationState"]
            )
        for response in started:
            self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual(202, self.start(2).status)

    def test_one_of_concurrent_requests_is_accepted(self) -> None:
        self.limit(Resource.OPERATIONS, 1)
        with self.waiting_driver(), ThreadPoolExecutor(4) as pool:
            found = sorted(r.status for r in pool.map(self.start, range(4)))
        self.assertEqual([202, 429, 429, 429], found)

    def test_a_retry_is_an_operation(self) -> None:
        def fail(_: object) -> None:
            raise errors.VimRejected("no")

        self.vnfm.driver.before["apply"] = fail
        failed = self.vnfm.run(self.instances[0], "instantiate", INSTANTIATION)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        path = f"{OP_OCCS}/{failed['id']}"
        with self.waiting_driver():
            # a failed one does not count
            started = [self.start(n) for n in (1, 2)]
            self.assertEqual([202, 202], [s.status for s in started])
            for decision in ("retry", "rollback"):
                refused = self.vnfm.call("POST", f"{path}/{decision}")
                self.assert_problem(429, refused, "has 2 lifecycle operations")
                state = self.vnfm.call("GET", path).json["operationState"]
                self.assertEqual("FAILED_TEMP", state)
        for response in started:
            self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual(
            "COMPLETED",
            self.vnfm.decide(failed["id"], "retry")["operationState"],
        )


class TestPackageBytes(QuotaCase):
    def setUp(self) -> None:
        super().setUp()
        self.csar = self.useFixture(Csar()).read()
        self.upload(self.csar)
        #: as it was uploaded, and unpacked
        self.size = self.in_use(Resource.PACKAGE_BYTES)
        self.other = self.useFixture(Csar()).read()

    def assert_refused(self, response: Response) -> None:
        self.assert_problem(403, response, "Quota exceeded: project project-a")
        self.assertIn("bytes of VNF packages", response.detail)
        self.assertEqual(1, len(self.contents()))
        incoming = self.vnfm.parts.catalogue.content._root / "incoming"
        self.assertEqual([], list(incoming.iterdir()))

    def test_the_uploaded_and_the_unpacked_files_count(self) -> None:
        (content,) = self.contents()
        root = self.vnfm.parts.catalogue.content._root / content
        found = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
        self.assertEqual(found, self.size)
        self.assertGreater(found, 2 * len(self.csar))

    def test_an_upload_that_is_too_large(self) -> None:
        """By its Content-Length, while it is received, and unpacked."""
        for left in (10, len(self.other) - 1, len(self.other)):
            self.limit(Resource.PACKAGE_BYTES, self.size + left)
            _, response = self.upload(self.other)
            self.assert_refused(response)
        self.limit(Resource.PACKAGE_BYTES, 3 * self.size)
        path, response = self.upload(self.other)
        self.assertEqual(202, response.status, str(response.content))
        # a deletion makes room
        self.limit(Resource.PACKAGE_BYTES, 2 * self.size + 100)
        third = self.useFixture(Csar()).read()
        self.assertEqual(403, self.upload(third)[1].status)
        merge = {"Content-Type": "application/merge-patch+json"}
        disable = {"operationalState": "DISABLED"}
        self.vnfm.call("PATCH", path, disable, merge)
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)
        self.assertEqual(202, self.upload(third)[1].status)

    def test_a_stream_without_a_length(self) -> None:
        self.limit(Resource.PACKAGE_BYTES, self.size + 100)
        created = self.vnfm.call("POST", PACKAGES, {}).json

        class Endless(io.RawIOBase):
            read_bytes = 0

            def read(self, size: int = -1) -> bytes:
                self.read_bytes += size
                return b"x" * size

        stream = Endless()
        error = self.assertRaises(
            errors.QuotaExceeded,
            self.vnfm.parts.catalogue.onboard,
            created["id"],
            stream,
            None,
            allows_code=True,
        )
        self.assertIn("bytes of VNF packages", str(error))
        self.assertLessEqual(stream.read_bytes, 1024**2)

    def test_two_uploads_at_once(self) -> None:
        """Each alone has room."""
        self.limit(Resource.PACKAGE_BYTES, self.size * 2 + 1000)
        csars = [self.useFixture(Csar()).read() for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            found = [r.status for _, r in pool.map(self.upload, csars)]
        self.assertEqual([202, 403, 403], sorted(found))
        self.assertEqual(2, len(self.contents()))

    def test_content_of_an_earlier_release_is_measured(self) -> None:
        store = self.vnfm.parts.store
        with store.engine.begin() as connection:
            connection.execute(
                sa.update(models.VnfPackage).values(content_bytes=None)
            )
        self.assertEqual(0, self.in_use(Resource.PACKAGE_BYTES))
        self.vnfm.parts.catalogue.sweep()
        self.assertEqual(self.size, self.in_use(Resource.PACKAGE_BYTES))


class FetchCase(QuotaCase):
    options: ClassVar = {
        "catalogue": {
            "upload_hosts": ["127.0.0.1"],
            "upload_schemes": ["http"],
        }
    }

    def fetch(self) -> tuple[str, Response]:
        server = self.useFixture(HttpReceiver())
        content = self.useFixture(Csar()).read()
        zipped = {"Content-Type": "application/zip"}
        server.responder = lambda _: (200, zipped, content)
        created = self.vnfm.call("POST", PACKAGES, {}).json
        path = f"{PACKAGES}/{created['id']}"
        body = {"addressInformation": f"{server.url}/x.csar"}
        return path, self.vnfm.call(
            "POST", f"{path}/package_content/upload_from_uri", body
        )

    def fail_to_fetch(self) -> dict[str, Any]:
        """Fetch a package; return why it failed."""
        path, response = self.fetch()
        self.assertEqual(202, response.status, str(response.content))
        details: dict[str, Any] = waiting.until(
            lambda: self.vnfm.call("GET", path).json.get(
                "onboardingFailureDetails"
            ),
            "the failure",
        )
        return details


class TestFetchedBytes(FetchCase):
    def test_a_package_from_a_uri(self) -> None:
        self.limit(Resource.PACKAGE_BYTES, 100)
        details = self.fail_to_fetch()
        self.assertEqual(403, details["status"])
        self.assertIn("Quota exceeded", details["detail"])
        self.assertEqual([], self.contents())
        self.limit(Resource.PACKAGE_BYTES, 0)
        self.assert_problem(403, self.fetch()[1], "Quota exceeded")


class TestFullDisk(FetchCase):
    options: ClassVar = {
        "catalogue": FetchCase.options["catalogue"] | {"min_free_bytes": 2**62}
    }

    def test_an_upload(self) -> None:
        _, response = self.upload(self.useFixture(Csar()).read())
        self.assert_problem(507, response, "[catalogue] min_free_bytes")
        self.assert_no_files()

    def test_a_package_from_a_uri(self) -> None:
        details = self.fail_to_fetch()
        self.assertEqual(507, details["status"])
        self.assertIn("[catalogue] min_free_bytes", details["detail"])
        self.assert_no_files()

    def assert_no_files(self) -> None:
        self.assertEqual([], self.contents())
        incoming = self.vnfm.parts.catalogue.content._root / "incoming"
        self.assertEqual([], list(incoming.iterdir()))
