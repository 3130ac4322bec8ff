"""Hostile requests; each is refused and costs little."""

import io
from typing import Any

import webob

from tests.fixtures.vnfm import FAKE_VIM, Response
from tests.functional import test_http, test_lifecycle, test_packages

DEEP = b"[" * 100_000 + b"]" * 100_000
BRACES = (
    "/vnflcm/v2/vnf_instances/%7Bid%7D",
    "/v1.0/vims/%7Bid%7D",
    "/vnfpkgm/v1/vnf_packages/x/artifacts/%7Bpath%7D",
)
NUL_PATHS = (
    "/vnflcm/v2/vnf_instances/%00",
    "/vnflcm/v2/vnf_lcm_op_occs/%00",
    "/vnfpkgm/v1/vnf_packages/%00",
    "/v1.0/vims/%00",
)


class EndlessBody(io.RawIOBase):
    """An endless body that counts the bytes that are read."""

    bytes_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.bytes_read > 20_000_000:
            return 0
        self.bytes_read += len(buffer)
        buffer[:] = b"x" * len(buffer)
        return len(buffer)


class TestBodies(test_http.HttpTest):
    def send(
        self, kind: str, length: str | None
    ) -> tuple[Response, EndlessBody]:
        source = EndlessBody()
        request = webob.Request.blank(test_http.INSTANCES, method="POST")
        request.headers["Version"] = "2.0.0"
        environ = request.environ
        environ["wsgi.input"] = io.BufferedReader(source)
        environ.pop("CONTENT_LENGTH", None)
        environ["wsgi.input_terminated"] = True
        if length:
            environ["CONTENT_LENGTH"] = length
        if kind:
            environ["CONTENT_TYPE"] = kind
        return Response(request.get_response(self.vnfm.app)), source

    def test_a_body_over_the_limit_is_not_read(self) -> None:
        form = "application/x-www-form-urlencoded"
        for kind in ("application/json", "", form, "text/plain"):
            for length in ("20000000", None):
                response, source = self.send(kind, length)
                self.assertIn(response.status, {413, 415})
                self.assertLess(
                    source.bytes_read, 1_200_000, f"{kind} {length}"
                )

    def test_a_body_without_a_type_is_json(self) -> None:
        body = b'{"userDefinedData": {"a": 1}}'
        response = self.call("POST", test_http.PACKAGES, body)
        self.assertEqual(201, response.status, str(response.content))
        self.assertEqual({"a": 1}, response.json["userDefinedData"])

    def test_bodies_that_are_not_json(self) -> None:
        for body, message in (
            (b"\xff\xfe", "The body is not JSON"),
            (b'{"vnfdId": "\xff"}', "The body is not JSON"),
            (b'{"vnfdId": "\\u0000"}', "a NUL character"),
            (b'{"vnfdId": "x", "metadata": {"a": %s}}' % DEEP, "nested"),
            (b'{"vnfdId": "x", "unknown": %s}' % DEEP, "nested"),
        ):
            response = self.call(
                "POST", test_http.INSTANCES, body, test_http.JSON
            )
            self.assert_problem(400, response, message)

    def test_a_form_with_parts(self) -> None:
        kind = {"Content-Type": "multipart/form-data"}
        response = self.call("POST", test_http.INSTANCES, b"x", kind)
        self.assert_problem(415, response)

    def test_names_that_are_too_long(self) -> None:
        body = {"vnfdId": "x", "vnfInstanceName": "n" * 256}
        response = self.vnfm.call("POST", test_http.INSTANCES, body)
        self.assert_problem(400, response, "$.vnfInstanceName")
        vim = {"name": "n" * 256, "type": "fake", "auth_url": "x"}
        vim_request = {"vim": {**vim, "auth_cred": {}}}
        response = self.vnfm.call("POST", "/v1.0/vims", vim_request)
        self.assert_problem(400, response, "$.vim.name")

    def test_paths_that_are_no_names(self) -> None:
        for path in (*BRACES, *NUL_PATHS):
            self.assert_problem(404, self.call("GET", path))
        response = self.call("GET", "/v1.0/vims?name=%00")
        self.assert_problem(400, response, "NUL")

    def test_a_charset_can_be_requested(self) -> None:
        kind = {"Accept": "application/json; charset=utf-8"}
        response = self.call("GET", test_http.INSTANCES, None, kind)
        self.assertEqual(200, response.status)

    def test_an_additional_slash_needs_no_version(self) -> None:
        request = webob.Request.blank("/vnflcm/v2/api_versions/")
        response = Response(request.get_response(self.vnfm.app))
        self.assertEqual(200, response.status)


class TestPackages(test_packages.PackageTest):
    def test_names_that_no_file_can_have(self) -> None:
        path = self.onboard_content()
        for name in ("a%00b", "a" * 300, "a/" * 3000 + "b"):
            response = self.call("GET", f"{path}/artifacts/{name}")
            self.assert_problem(404, response, "")

    def test_an_empty_artifact_is_found(self) -> None:
        files = self.files | {"Files/empty": b""}
        path = self.onboard_content(test_packages.build_zip(files))
        response = self.call("GET", f"{path}/artifacts/Files/empty")
        self.assertEqual((200, b""), (response.status, response.content))
        self.assertEqual("0", response.headers["Content-Length"])

    def test_a_download_has_a_content_length(self) -> None:
        path = self.onboard_content()
        response = self.call("GET", f"{path}/package_content")
        self.assertEqual(
            str(len(response.content)), response.headers["Content-Length"]
        )

    def test_a_refused_upload_leaves_nothing(self) -> None:
        self.onboard_content()
        before = self.list_contents()
        other = test_packages.build_zip(self.files | {"more": b"x"})
        for content in (other, self.good):
            response = self.upload(self.create_package(), content)
            self.assertEqual(409, response.status)
            self.assertEqual(before, self.list_contents())


class TestSecrets(test_lifecycle.LifecycleTest):
    def test_secrets_are_stored_encrypted_and_not_shown(self) -> None:
        instance_id = self.vnfm.create()
        done = self.vnfm.run(
            instance_id,
            "instantiate",
            {
                "flavourId": "simple",
                "vimConnectionInfo": FAKE_VIM,
                "additionalParams": {
                    "vnf_password": "hunter2",
                    "env": [{"name": "DB_PASSWORD", "value": "hunter2"}],
                },
            },
        )
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertNotIn("hunter2", str(done))
        self.assertNotIn("hunter2", str(self.vnfm.instance(instance_id)))
        with self.vnfm.parts.store.engine.connect() as connection:
            for table in ("vnf_lcm_op_occs", "vnf_instances"):
                rows = connection.exec_driver_sql(f"SELECT * FROM {table}")  # noqa: S608
                self.assertNotIn("hunter2", str(rows.fetchall()))


class TestUnexpectedErrors(test_lifecycle.LifecycleTest):
    def test_a_bug_in_observe_does_not_hide_the_failure(self) -> None:
        def bug(_task: Any) -> None:
            raise RuntimeError

        instance_id = self.vnfm.create_instantiated()
        self.inject_fault("apply")
        self.vnfm.driver.before["observe"] = bug
        response = self.vnfm.task(
            instance_id, "scale", test_lifecycle.SCALE_OUT
        )
        end = self.vnfm.wait_operation(response.headers["Location"], 10.0)
        self.assert_failed(end)
