"""Conditional and idempotent requests: ETag, If-Match, Idempotency-Key."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.fixtures import waiting
from tests.fixtures.statements import recorded
from tests.fixtures.vnfm import FAKE_VIM, Response
from tests.functional.test_request_checks import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    REQUESTS,
    CheckTest,
    refuse,
)

SCALE = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
RENAME = {"vnfInstanceName": "renamed"}
#: values that are the entity tag of no resource
STALE = ('"stale"', 'W/"stale"', '"a", "b"')
MALFORMED = ("5f1c", '"5f1c', '"5f1c" "5f1d"', "*, *", ",", "")


class PreconditionsTest(CheckTest):
    def tag(self, path: str) -> str:
        response = self.call("GET", path)
        self.assertEqual(200, response.status)
        tag = str(response.headers["ETag"])
        self.assertRegex(tag, '^"[^"]+"$')
        return tag

    def failed_scale(self) -> tuple[str, str]:
        """Return the paths of an instance and of its failed operation."""
        up = self.vnfm.create_instantiated()
        failed = self.run_failing(up, "scale", SCALE)
        return f"{INSTANCES}/{up}", f"{OP_OCCS}/{failed['id']}"


class TestTags(PreconditionsTest):
    def test_the_etag_of_an_instance_changes_with_each_change(self) -> None:
        instance_id = self.vnfm.create()
        path = f"{INSTANCES}/{instance_id}"
        tags = [self.tag(path)]
        self.vnfm.modify(instance_id, RENAME)
        tags.append(self.tag(path))
        for task, body in (
            (
                "instantiate",
                {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM},
            ),
            ("scale", SCALE),
            ("heal", {}),
            ("terminate", {"terminationType": "FORCEFUL"}),
        ):
            self.vnfm.run(instance_id, task, body)
            tags.append(self.tag(path))
        self.assertEqual(len(tags), len(set(tags)), str(tags))
        self.assertEqual(tags[-1], self.tag(path))

    def test_a_sync_that_finds_changes_changes_the_etag(self) -> None:
        up = self.vnfm.create_instantiated()
        path = f"{INSTANCES}/{up}"
        before = self.tag(path)
        self.vnfm.driver.vnfcs[up] = self.vnfm.driver.vnfcs[up][1:]
        self.vnfm.conductor.synchronizer.sync.sync_instance(up)
        self.assertNotEqual(before, self.tag(path))

    def test_the_etag_of_an_operation_changes_with_its_state(self) -> None:
        up = self.vnfm.create_instantiated()
        block, location = self.start_blocked(up, "scale", SCALE)
        running = self.tag(location)
        block.open()
        self.vnfm.wait_operation(location)
        done = self.tag(location)
        self.assertNotEqual(running, done)
        self.assertEqual(done, self.tag(location))

    def test_the_etag_changes_with_each_failed_retry(self) -> None:
        _, path = self.failed_scale()
        before = self.tag(path)
        self.vnfm.driver.before["apply"] = refuse
        self.vnfm.decide(path.rsplit("/", 1)[1], "retry")
        self.assertNotEqual(before, self.tag(path))

    def test_a_current_etag_gets_304(self) -> None:
        paths = self.failed_scale()
        of_v1 = [path.replace("/v2/", "/v1/") for path in paths]
        for path in (*paths, *of_v1):
            tag = self.tag(path)
            for header in (tag, f'"x", {tag}', f"W/{tag}", "*"):
                response = self.call(
                    "GET", path, None, {"If-None-Match": header}
                )
                self.assertEqual(304, response.status)
                self.assertEqual(b"", response.content)
                self.assertNotIn("Content-Length", response.headers)
                self.assertEqual(tag, response.headers["ETag"])
            for header in (*STALE, *MALFORMED):
                response = self.call(
                    "GET", path, None, {"If-None-Match": header}
                )
                self.assertEqual(200, response.status, header)

    def test_for_304_only_the_version_is_read(self) -> None:
        engine = self.vnfm.parts.store.engine
        for path, secret in zip(
            self.failed_scale(),
            ("vim_connection_info", "operation_params"),
            strict=True,
        ):
            for header, status in ((self.tag(path), 304), ('"stale"', 200)):
                with recorded(engine) as statements:
                    response = self.call(
                        "GET", path, None, {"If-None-Match": header}
                    )
                self.assertEqual(status, response.status)
                reads = [secret in statement for statement in statements]
                expected = [False] if status == 304 else [False, True]
                self.assertEqual(expected, reads, str(statements))


class TestIfMatch(PreconditionsTest):
    def wait_published(self) -> None:
        """Wait until the progress of all operations is published: it changes
        their ETags.
        """
        claims = self.vnfm.conductor.claims
        waiting.until(
            lambda: all(
                claim.progress.is_published
                for claim in claims._claimed().values()
            ),
            "the progress",
        )

    def send(self, method: str, path: str, body: Any, tag: str) -> Response:
        return self.call(method, path, body, {"If-Match": tag})

    def assert_stale(self, method: str, path: str, body: Any = None) -> None:
        """Check that a request with a stale ETag changes nothing."""
        tag = self.tag_of(path)
        for other in (*STALE, f"W/{tag}"):
            response = self.send(method, path, body, other)
            self.assert_problem(412, response, f"its ETag is {tag}")
        self.assertEqual(tag, self.tag_of(path))

    def tag_of(self, path: str) -> str:
        """Return the ETag of a resource, or of the resource of a task."""
        return self.tag(re.sub("/[a-z]+$", "", path))

    def test_malformed_tags(self) -> None:
        path = f"{INSTANCES}/{self.vnfm.create()}"
        for tag in MALFORMED:
            response = self.send("PATCH", path, RENAME, tag)
            self.assert_problem(400, response, "If-Match: the ETag")

    def test_patch(self) -> None:
        path = f"{INSTANCES}/{self.vnfm.create()}"
        self.assert_stale("PATCH", path, RENAME)
        for tag in (self.tag(path), "*"):
            response = self.send("PATCH", path, RENAME, tag)
            self.assertEqual(202, response.status, str(response.content))
            self.vnfm.wait_operation(response.headers["Location"])

    def test_delete(self) -> None:
        for tag in ("*", ""):
            path = f"{INSTANCES}/{self.vnfm.create()}"
            self.assert_stale("DELETE", path)
            several = f'"x", {tag or self.tag(path)}'
            response = self.send("DELETE", path, None, tag or several)
            self.assertEqual(204, response.status)

    def test_the_tasks_of_an_instance(self) -> None:
        idle, up = self.vnfm.create(), self.vnfm.create_instantiated()
        for task in ("scale", "heal", "sync", "terminate", "instantiate"):
            instance_id = idle if task == "instantiate" else up
            path = f"{INSTANCES}/{instance_id}"
            body, _ = REQUESTS.get(task, (None, None))
            self.assert_stale("POST", f"{path}/{task}", body)
            response = self.send(
                "POST", f"{path}/{task}", body, self.tag(path)
            )
            self.assertEqual(202, response.status, str(response.content))
            if "Location" in response.headers:
                self.vnfm.wait_operation(response.headers["Location"])

    def test_the_tasks_of_an_operation(self) -> None:
        for task, status in (("retry", 202), ("rollback", 202), ("fail", 200)):
            _, path = self.failed_scale()
            self.assert_stale("POST", f"{path}/{task}")
            response = self.send(
                "POST", f"{path}/{task}", None, self.tag(path)
            )
            self.assertEqual(status, response.status, str(response.content))
            self.vnfm.wait_operation(path)

    def test_cancel(self) -> None:
        up = self.vnfm.create_instantiated()
        block, path = self.start_blocked(up, "scale", SCALE)
        self.wait_published()
        body = {"cancelMode": "GRACEFUL"}
        self.assert_stale("POST", f"{path}/cancel", body)
        tag = self.tag(path)
        response = self.send("POST", f"{path}/cancel", body, tag)
        self.assertEqual(202, response.status, str(response.content))
        self.assertNotEqual(tag, self.tag(path))
        block.open()
        self.vnfm.wait_operation(path)

    def test_validation_errors_come_first(self) -> None:
        up = self.vnfm.create_instantiated()
        path = f"{INSTANCES}/{up}"
        invalid = {"type": "SCALE_OUT", "aspectId": "moon"}
        for method, location, body, status in (
            ("PATCH", f"{INSTANCES}/none", RENAME, 404),
            ("DELETE", path, None, 409),
            ("POST", f"{path}/scale", invalid, 400),
            ("POST", f"{path}/instantiate", REQUESTS["instantiate"][0], 409),
        ):
            response = self.send(method, location, body, '"stale"')
            self.assertEqual(status, response.status, str(response.content))

    def test_a_stale_change_does_not_undo_another(self) -> None:
        """Two clients read and change it; the second gets 412."""
        instance_id = self.vnfm.create()
        path = f"{INSTANCES}/{instance_id}"
        etag = self.tag(path)
        first = self.send("PATCH", path, {"metadata": {"a": 1}}, etag)
        self.vnfm.wait_operation(first.headers["Location"])
        second = self.send("PATCH", path, {"metadata": {"a": 2}}, etag)
        self.assert_problem(412, second, self.tag(path))
        self.assertEqual({"a": 1}, self.vnfm.instance(instance_id)["metadata"])


class TestIdempotency(PreconditionsTest):
    def send(
        self, path: str, body: Any = None, key: str = "k", method: str = "POST"
    ) -> Response:
        return self.call(method, path, body, {"Idempotency-Key": key})

    def assert_once(
        self, path: str, body: Any = None, **more: Any
    ) -> Response:
        """Send a request twice; return the response, the same for both."""
        first = self.send(path, body, **more)
        self.assertIn(first.status, {200, 201, 202}, str(first.content))
        if "Location" in first.headers:
            self.wait_end(first.headers["Location"])
        second = self.send(path, body, **more)
        self.assertEqual(first.status, second.status, str(second.content))
        self.assertEqual(first.content, second.content)
        self.assertEqual(
            first.headers.get("Location"), second.headers.get("Location")
        )
        return first

    def wait_end(self, location: str) -> None:
        if OP_OCCS in location:
            self.vnfm.wait_operation(location)

    def test_requests_that_create_resources(self) -> None:
        vnfd_id = self.vnfm.onboard()
        for path, body in (
            (INSTANCES, {"vnfdId": vnfd_id}),
            (PACKAGES, {"userDefinedData": {"a": 1}}),
        ):
            count = len(self.call("GET", path).json)
            created = self.assert_once(path, body, key=path)
            self.assertIn(created.json["id"], created.headers["Location"])
            self.assertEqual(count + 1, len(self.call("GET", path).json))
            self.send(path, body, key=f"{path}/another")
            self.call("POST", path, body)
            self.call("POST", path, body)
            self.assertEqual(count + 4, len(self.call("GET", path).json))

    def test_the_tasks_of_an_instance(self) -> None:
        path = f"{INSTANCES}/{self.vnfm.create()}"
        for number, (task, (body, _)) in enumerate(REQUESTS.items(), 1):
            self.assert_once(f"{path}/{task}", body, key=task)
            self.assertEqual(number, len(self.op_occs()))
        self.assert_once(path, RENAME, key="patch", method="PATCH")
        self.assertEqual(number + 1, len(self.op_occs()))

    def test_a_repeated_request_is_answered_while_the_operation_runs(
        self,
    ) -> None:
        up = self.vnfm.create_instantiated()
        entered, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)

        def wait(_: Any) -> None:
            entered.set()
            go_on.wait(60)

        self.vnfm.driver.before["apply"] = wait
        path = f"{INSTANCES}/{up}/scale"
        first = self.send(path, SCALE)
        self.assertTrue(entered.wait(60))
        second = self.send(path, SCALE)
        self.assertEqual(202, second.status)
        self.assertEqual(first.headers["Location"], second.headers["Location"])
        third = self.send(path, SCALE, key="another")
        self.assert_problem(409, third, "is reserved by")
        go_on.set()
        self.vnfm.wait_operation(first.headers["Location"])

    def test_the_tasks_of_an_operation(self) -> None:
        for task in ("retry", "rollback", "fail"):
            _, path = self.failed_scale()
            self.send(f"{path}/{task}", key=task)
            self.vnfm.wait_operation(path)
            self.assert_once(f"{path}/{task}", key=task)

    def test_cancel(self) -> None:
        up = self.vnfm.create_instantiated()
        block, path = self.start_blocked(up, "scale", SCALE)
        body = {"cancelMode": "GRACEFUL"}
        self.assertEqual(202, self.send(f"{path}/cancel", body).status)
        block.open()
        self.vnfm.wait_operation(path)
        self.assertEqual(202, self.send(f"{path}/cancel", body).status)
        response = self.call("POST", f"{path}/cancel", body)
        self.assertEqual(409, response.status)

    def test_a_key_belongs_to_one_request(self) -> None:
        vnfd_id = self.vnfm.onboard()
        body = {"vnfdId": vnfd_id}
        created = self.send(INSTANCES, body)
        for path, other in (
            (INSTANCES, body | {"vnfInstanceName": "a"}),
            (PACKAGES, {}),
            (
                f"{INSTANCES}/{created.json['id']}/instantiate",
                REQUESTS["instantiate"][0],
            ),
        ):
            response = self.send(path, other)
            self.assert_problem(422, response, "Idempotency-Key")
        self.assertEqual(1, len(self.call("GET", INSTANCES).json))
        self.assertEqual([], self.op_occs())

    def test_keys_differ_by_case(self) -> None:
        for key in ("key", "KEY"):
            self.assertEqual(201, self.send(PACKAGES, {}, key=key).status)
        self.assertEqual(2, len(self.call("GET", PACKAGES).json))

    def test_malformed_keys(self) -> None:
        for key in ("", "a b", "k" * 256, "ü"):
            response = self.send(PACKAGES, {}, key=key)
            self.assert_problem(400, response, "Idempotency-Key")
        self.assertEqual(201, self.send(PACKAGES, {}, key="k" * 255).status)

    def test_a_refusal_is_not_recorded(self) -> None:
        up = self.vnfm.create_instantiated()
        block, location = self.start_blocked(up, "scale", SCALE)
        path = f"{INSTANCES}/{up}/heal"
        self.assertEqual(409, self.send(path, {}).status)
        block.open()
        self.vnfm.wait_operation(location)
        self.assert_once(path, {})

    def test_the_created_resource_may_be_deleted(self) -> None:
        created = self.send(PACKAGES, {})
        self.call("DELETE", f"{PACKAGES}/{created.json['id']}")
        response = self.send(PACKAGES, {})
        self.assert_problem(404, response, created.json["id"])
        self.assertEqual([], self.call("GET", PACKAGES).json)

    def test_concurrent_requests_act_once(self) -> None:
        path = f"{INSTANCES}/{self.vnfm.create_instantiated()}/scale"
        together = threading.Barrier(8)

        def send(_: int) -> Response:
            together.wait(60)
            return self.send(path, SCALE)

        with ThreadPoolExecutor(8) as pool:
            responses = list(pool.map(send, range(8)))
        self.assertEqual({202}, {response.status for response in responses})
        (location,) = {response.headers["Location"] for response in responses}
        self.vnfm.wait_operation(location)
        self.assertEqual(2, len(self.op_occs()))

    def test_old_keys_are_deleted(self) -> None:
        self.send(PACKAGES, {})
        conductor = self.vnfm.conductor
        conductor.delete_expired_keys()
        self.send(PACKAGES, {})
        self.assertEqual(1, len(self.call("GET", PACKAGES).json))
        conductor._key_lifetime = 0.0
        conductor.delete_expired_keys()
        self.send(PACKAGES, {})
        self.assertEqual(2, len(self.call("GET", PACKAGES).json))
