"""HTTP: paths, negotiation, versions, headers, and invalid requests."""

import io
import json
from typing import Any, ClassVar

import fixtures
import webob
from keystonemiddleware import fixture as keystone

from tacker_cnf.cmd import compose
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Response, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
VIMS = "/v1.0/vims"
PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}
SUCCESSES = ("200", "201", "202", "204")


class HttpTest(ApiCase):
    #: configuration, as {group: {option: value}}
    options: ClassVar[dict[str, dict[str, Any]]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.vnfm = self.useFixture(Vnfm(**self.options))
        self.call = self.vnfm.call


class TestPaths(HttpTest):
    def test_unknown_paths(self) -> None:
        for path in (
            "/",
            "//",
            "/vnflcm",
            "/vnflcm/v2",
            "/v2",
            "/vnflcm/v2/vnf_instance",
            "/vnflcm/v2/vnf_instances.json",
            "/vnflcm/v2/vnf_instances/x/y",
            "/vnflcm/v2/vnf_instances//scale",
            "/vnfpkgm/v3/vnf_packages",
            "/v1.0/vims/x/y",
        ):
            self.assert_problem(
                404, self.call("GET", path), "No resource has the path /"
            )

    def test_an_unknown_id(self) -> None:
        for path in (
            INSTANCES,
            OP_OCCS,
            PACKAGES,
            VIMS,
        ):
            for name in ("none", "%00", "a" * 5000, "%C3%BC", "%25", "a%0Ab"):
                response = self.call("GET", f"{path}/{name}")
                self.assert_problem(404, response, "There is no ")

    def test_other_methods_get_an_allow_header(self) -> None:
        task = f"{INSTANCES}/x/instantiate"
        for method, path, allowed in (
            ("PUT", INSTANCES, "GET, POST"),
            ("DELETE", INSTANCES, "GET, POST"),
            ("OPTIONS", INSTANCES, "GET, POST"),
            ("POST", f"{INSTANCES}/x", "DELETE, GET, PATCH"),
            ("GET", task, "POST"),
            ("FOO", task, "POST"),
            ("DELETE", f"{OP_OCCS}/x", "GET"),
            ("POST", f"{PACKAGES}/x/package_content", "GET, HEAD, PUT"),
            ("PATCH", VIMS, "GET, POST"),
            ("POST", "/healthcheck", "GET"),
        ):
            response = self.call(method, path)
            self.assert_problem(
                405, response, f"{method} is not possible here"
            )
            self.assertEqual(allowed, response.headers["Allow"])

    def test_a_path_and_a_query_are_utf_8(self) -> None:
        for path in (
            f"{INSTANCES}/%FF",
            f"{INSTANCES}?filter=%FF",
            f"{VIMS}?name=%C3",
            f"{PACKAGES}/x/artifacts/%FE%FF",
        ):
            self.assert_problem(400, self.call("GET", path))

    def test_a_slash_at_the_end_does_not_matter(self) -> None:
        self.assertEqual(200, self.call("GET", f"{INSTANCES}/").status)

    def test_both_roots_are_the_same(self) -> None:
        vnfd_id = self.vnfm.onboard()
        body = {"vnfdId": vnfd_id}
        created = self.call("POST", "/v2/vnf_instances", body)
        self.assertEqual(201, created.status)
        path = f"/vnf_instances/{created.json['id']}"
        short = self.call("GET", f"/v2{path}")
        long = self.call("GET", f"/vnflcm/v2{path}")
        self.assertEqual(200, long.status)
        self.assertEqual(long.json, short.json)
        for response in (created, short):
            self.assertEqual("2.0.0", response.headers["Version"])


class TestNegotiation(HttpTest):
    def test_a_type_that_is_not_available_is_not_acceptable(self) -> None:
        for path, accept in (
            (INSTANCES, "text/html"),
            (INSTANCES, "application/xml, text/*"),
            (INSTANCES, "application/json;q=0"),
            (f"{PACKAGES}/x/package_content", "application/json"),
            ("/healthcheck", "image/png"),
        ):
            response = self.call("GET", path, headers={"Accept": accept})
            self.assert_problem(406, response, f"the request accepts {accept}")

    def test_a_success_without_a_body_is_accepted_as_any_type(self) -> None:
        zipped = {"Accept": "application/zip"}
        csar = self.useFixture(Csar())
        package = f"{PACKAGES}/{self.call('POST', PACKAGES, {}).json['id']}"
        kind = zipped | {"Content-Type": "application/zip"}
        content = f"{package}/package_content"
        response = self.call("PUT", content, csar.read(), kind)
        self.assertEqual(202, response.status, str(response.content))
        instance = f"{INSTANCES}/{self.vnfm.create(csar.vnfd_id)}"
        request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        response = self.call(
            "POST", f"{instance}/instantiate", request, zipped
        )
        self.assertEqual(202, response.status, str(response.content))
        self.vnfm.wait_operation(response.headers["Location"])
        other = f"{INSTANCES}/{self.vnfm.create(csar.vnfd_id)}"
        response = self.call("DELETE", other, headers=zipped)
        self.assertEqual(204, response.status, str(response.content))

    def test_every_route_without_a_body_ignores_accept(self) -> None:
        found = 0
        paths = self.call("GET", "/openapi.json").json["paths"]
        for path, methods in paths.items():
            for method in methods.keys() & {"put", "post", "patch", "delete"}:
                responses = methods[method]["responses"]
                # 200 is the response to a dry run
                statuses = ("202",) if "202" in responses else SUCCESSES
                if any("content" in responses.get(s, {}) for s in statuses):
                    continue
                found += 1
                url = path.replace("{id}", "x")
                zipped = {"Accept": "application/zip"}
                response = self.call(method.upper(), url, headers=zipped)
                self.assertIn(response.status, {400, 404}, url)
        self.assertLess(15, found)

    def test_a_type_that_is_available_is_acceptable(self) -> None:
        for accept in (
            "*/*",
            "application/*",
            "application/json",
            "text/html, application/json;q=0.1",
        ):
            response = self.call("GET", INSTANCES, headers={"Accept": accept})
            self.assertEqual((200, "application/json"), to_respond(response))

    def test_bodies_of_other_types_are_not_read(self) -> None:
        for method, path, kind in (
            ("POST", INSTANCES, "application/xml"),
            ("POST", INSTANCES, "application/x-www-form-urlencoded"),
            ("POST", INSTANCES, "application/merge-patch+json"),
            ("POST", f"{INSTANCES}/x/instantiate", "application/zip"),
            ("PATCH", f"{PACKAGES}/x", "text/plain"),
            ("PUT", f"{PACKAGES}/x/package_content", "application/json"),
            ("POST", VIMS, "application/yaml"),
        ):
            response = self.call(method, path, b"{}", {"Content-Type": kind})
            self.assert_problem(415, response, f"not {kind}")

    def test_json_can_be_sent_as_text(self) -> None:
        for kind, status in (
            ("text/plain", 415),  # web pages can send it
            ("Application/JSON", 201),
            ("application/json; charset=utf-8", 201),
        ):
            response = self.call(
                "POST", PACKAGES, b"{}", {"Content-Type": kind}
            )
            self.assertEqual(status, response.status, kind)
        # as if the client had been authenticated
        self.vnfm.conf.set_override("auth_strategy", "keystone", "api")
        response = self.call(
            "POST", PACKAGES, b"{}", {"Content-Type": "text/plain"}
        )
        self.assertEqual(201, response.status)


def to_respond(response: Response) -> tuple[int, str]:
    return response.status, response.type


class TestBodies(HttpTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "api": {"max_body_bytes": 1000}
    }

    def send(self, body: bytes, **environ: Any) -> Response:
        request = webob.Request.blank(INSTANCES, method="POST", headers=JSON)
        request.headers["Version"] = "2.0.0"
        request.body = body
        for name, value in environ.items():
            request.environ.pop(name, None)
            if value is not None:
                request.environ[name] = value
        return Response(request.get_response(self.vnfm.app))

    def test_bodies_that_are_not_json(self) -> None:
        self.assert_problem(400, self.send(b""), "The body is empty")
        for body in (
            b"{",
            b"{'a': 1}",
            b'{"vnfdId": "x"} {}',
            b"<xml/>",
            b'{"vnfdId": "\\ud800"}',
        ):
            self.assert_problem(400, self.send(body), "The body is not JSON")

    def test_wrong_types_are_reported_with_their_path(self) -> None:
        for body, message in (
            ("[]", "Expected `object`, got `array`"),
            ("null", "Expected `object`, got `null`"),
            ("{}", "missing required field `vnfdId`"),
            ('{"vnfdId": 5}', "got `int` - at `$.vnfdId`"),
            ('{"vnfdId": null}', "got `null` - at `$.vnfdId`"),
            ('{"vnfdId": ""}', "at `$.vnfdId`"),
            (f'{{"vnfdId": "{"x" * 256}"}}', "at `$.vnfdId`"),
            ('{"vnfdId": "x", "metadata": []}', "at `$.metadata`"),
            ('{"vnfdId": "x", "vnfInstanceName": 1}', "$.vnfInstanceName`"),
            ('{"vnfdId": "x", "metadata": {"a": 1e400}}', "$.metadata"),
        ):
            self.assert_problem(400, self.send(body.encode()), message)

    def test_the_path_of_a_nested_error(self) -> None:
        path = f"{INSTANCES}/x/instantiate"
        for body, message in (
            ({}, "missing required field `flavourId`"),
            (
                {"flavourId": "a", "vimConnectionInfo": {"v": {"vimId": 1}}},
                "`$.vimConnectionInfo[...].vimId`",
            ),
            (
                {"flavourId": "a", "vimConnectionInfo": {"v": {}}},
                "of a registered VIM, is required - at `$.vimConnectionInfo[...]`",
            ),
            (
                {"flavourId": "a", "extVirtualLinks": [{"id": "1"}]},
                "at `$.extVirtualLinks[0]`",
            ),
        ):
            self.assert_problem(400, self.call("POST", path, body), message)

    def test_unknown_attributes_are_ignored(self) -> None:
        body = {"userDefinedData": {"a": 1}, "more": {"deep": [1]}}
        response = self.call("POST", PACKAGES, body)
        self.assertEqual(201, response.status)
        self.assertEqual({"a": 1}, response.json["userDefinedData"])

    def test_a_body_over_the_limit(self) -> None:
        body = json.dumps({"vnfdId": "x" * 2000}).encode()
        response = self.send(body)
        self.assert_problem(413, response, "1000")
        chunked = {
            "CONTENT_LENGTH": None,
            "wsgi.input": io.BytesIO(body),
            "wsgi.input_terminated": True,
        }
        self.assert_problem(413, self.send(body, **chunked), "1000")

    def test_a_body_at_the_limit(self) -> None:
        body = b'{"vnfdId": "x"}'.ljust(1000)
        # it is read, and the VNFD is not found
        self.assert_problem(422, self.send(body))
        self.assert_problem(413, self.send(body + b" "))

    def test_a_body_in_chunks(self) -> None:
        response = self.send(
            b"",
            **{
                "CONTENT_LENGTH": None,
                "wsgi.input": io.BytesIO(b'{"vnfdId": "x"}'),
                "wsgi.input_terminated": True,
            },
        )
        self.assert_problem(422, response)


class TestVersion(HttpTest):
    def get_with_version(
        self, version: str | None, path: str = INSTANCES
    ) -> Response:
        request = webob.Request.blank(path)
        if version is not None:
            request.headers["Version"] = version
        return Response(request.get_response(self.vnfm.app))

    def test_the_version_is_required(self) -> None:
        for path in (INSTANCES, "/v2/vnf_instances", f"{OP_OCCS}/x"):
            response = self.get_with_version(None, path)
            self.assert_problem(
                400, response, "Version: the header is required"
            )

    def test_malformed_versions(self) -> None:
        for version in ("", "2", "2.0", "v2.0.0", "2.0.0-", "2.0.0 ", "2.0.x"):
            self.assert_problem(
                400, self.get_with_version(version), "not of the form x.y.z"
            )

    def test_the_supported_version(self) -> None:
        for version in ("1.0.0", "2.1.0", "2.0.1", "3.0.0", "20.0.0"):
            response = self.get_with_version(version)
            self.assert_problem(406, response, "is not supported, only 2.0.0")
        for version in ("2.0.0", "2.0.0-impl:tacker:1.0"):
            self.assertEqual(200, self.get_with_version(version).status)

    def test_paths_without_a_version(self) -> None:
        for path in (
            "/vnflcm/api_versions",
            "/vnflcm/v1/api_versions",
            "/vnflcm/v2/api_versions",
            "/vnfpkgm/api_versions",
            "/vnfpkgm/v1/api_versions",
            "/vnfpkgm/v2/api_versions",
            "/healthcheck",
            PACKAGES,
            VIMS,
        ):
            self.assertEqual(
                200, self.get_with_version(None, path).status, path
            )

    def test_the_versions_are_listed(self) -> None:
        for prefix, numbers in (
            ("/vnflcm", ("1.3.0", "2.0.0")),
            ("/vnflcm/v1", ("1.3.0",)),
            ("/vnflcm/v2", ("2.0.0",)),
            ("/vnfpkgm", ("1.2.0", "2.1.0")),
            ("/vnfpkgm/v1", ("1.2.0",)),
            ("/vnfpkgm/v2", ("2.1.0",)),
        ):
            path = f"{prefix}/api_versions"
            response = self.get_with_version(None, path)
            self.assertEqual(numbers[-1], response.headers["Version"])
            self.assertEqual(
                {
                    "uriPrefix": prefix,
                    "apiVersions": [
                        {"version": number, "isDeprecated": False}
                        for number in numbers
                    ],
                },
                response.json,
            )
            # the openstack command sends 2.0.0 to each list
            for other in ("2.0.0", "9.0.0"):
                response = self.get_with_version(other, path)
                self.assertEqual(200, response.status)

    def test_responses_and_errors_have_the_version(self) -> None:
        for version, path, status in (
            ("2.0.0", INSTANCES, 200),
            ("2.0.0", "/v2/vnf_instances", 200),
            ("2.0.0", f"{INSTANCES}/none", 404),
            ("2.0.0", "/vnflcm/v2/nowhere", 404),
            ("9.0.0", INSTANCES, 406),
            (None, INSTANCES, 400),
        ):
            response = self.get_with_version(version, path)
            self.assertEqual(status, response.status)
            self.assertEqual("2.0.0", response.headers["Version"])
            self.assertEqual("none", response.headers["Accept-Ranges"])

    def test_packages_have_a_version_of_their_own(self) -> None:
        # clients send none, or that of the lifecycle API
        for version in (None, "1.2.0", "2.0.0"):
            response = self.get_with_version(version, PACKAGES)
            self.assertEqual(200, response.status)
            self.assertEqual("1.2.0", response.headers["Version"])

    def test_version_2_of_packages_requires_the_header(self) -> None:
        path = PACKAGES.replace("v1", "v2")
        for version, status in (
            ("2.1.0", 200),
            ("2.1.0-impl:x:1", 200),
            (None, 400),
            ("2", 400),
            ("1.2.0", 406),
            ("2.0.0", 406),
        ):
            response = self.get_with_version(version, path)
            self.assertEqual(status, response.status, str(version))
            self.assertEqual("2.1.0", response.headers["Version"])

    def test_a_resource_without_versions(self) -> None:
        self.assertNotIn("Version", self.get_with_version(None, VIMS).headers)


class TestResponses(HttpTest):
    def test_location_of_a_created_resource(self) -> None:
        vnfd_id = self.vnfm.onboard()
        created = self.call("POST", INSTANCES, {"vnfdId": vnfd_id})
        location = f"http://localhost{INSTANCES}/{created.json['id']}"
        self.assertEqual(location, created.headers["Location"])
        self.assertEqual(location, created.json["_links"]["self"]["href"])
        self.assertEqual(200, self.call("GET", location).status)

    def test_an_accepted_task_has_no_body(self) -> None:
        request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assertEqual((202, b""), (response.status, response.content))
        self.assertNotIn("Content-Type", response.headers)
        location = response.headers["Location"]
        self.assertTrue(location.startswith(f"http://localhost{OP_OCCS}/"))
        self.vnfm.wait_operation(location)

    def test_a_deletion_has_no_body(self) -> None:
        instance_id = self.vnfm.create()
        response = self.call("DELETE", f"{INSTANCES}/{instance_id}")
        self.assertEqual((204, b""), (response.status, response.content))
        self.assertNotIn("Content-Type", response.headers)
        response = self.call("GET", f"{INSTANCES}/{instance_id}")
        self.assert_problem(404, response)

    def test_every_response_has_a_request_id(self) -> None:
        ids = {
            self.call("GET", path).headers["X-Openstack-Request-Id"]
            for path in (INSTANCES, INSTANCES, "/nowhere", "/healthcheck")
        }
        self.assertEqual(4, len(ids))


class TestEndpoint(HttpTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "api": {"endpoint": "https://vnfm.example/proxy/"}
    }

    def test_links_use_the_configured_endpoint(self) -> None:
        vnfd_id = self.vnfm.onboard()
        created = self.call("POST", INSTANCES, {"vnfdId": vnfd_id})
        location = (
            f"https://vnfm.example/proxy{INSTANCES}/{created.json['id']}"
        )
        self.assertEqual(location, created.headers["Location"])
        self.assertEqual(location, created.json["_links"]["self"]["href"])
        (listed,) = self.call("GET", INSTANCES).json
        self.assertEqual(location, listed["_links"]["self"]["href"])


class TestUnexpectedErrors(HttpTest):
    def test_a_bug_is_not_exposed(self) -> None:
        def bug(_: Any) -> None:
            raise RuntimeError("hunter2")

        self.vnfm.driver.before["plan"] = bug
        request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assert_problem(500, response, "The server failed")
        request_id = response.headers["X-Openstack-Request-Id"]
        self.assertIn(request_id, response.detail)
        for inside in (b"hunter2", b"RuntimeError", b"Traceback", b".py"):
            self.assertNotIn(inside, response.content)
        # the instance is as it was
        self.vnfm.driver.before.clear()
        done = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", done["operationState"])

    def test_a_bug_is_logged(self) -> None:
        def bug(_: Any) -> None:
            raise RuntimeError("a bug")

        self.vnfm.driver.before["plan"] = bug
        request = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(self.vnfm.create(), "instantiate", request)
        request_id = response.headers["X-Openstack-Request-Id"]
        self.assertIn(
            f"Request failed: request_id={request_id}", self.log.output
        )
        self.assertIn("RuntimeError: a bug", self.log.output)


class TestPolicy(HttpTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "api": {"auth_strategy": "keystone"}
    }

    def setUp(self) -> None:
        self.tokens = keystone.AuthTokenFixture()
        super().setUp()
        self.useFixture(self.tokens)
        for role in ("admin", "member", "reader", "unknown"):
            self.tokens.add_token_data(
                token_id=role, role_list=[role], project_id="a-project"
            )
        self.vnfm.conf.set_override(
            "www_authenticate_uri", "http://keystone", "keystone_authtoken"
        )
        self.vnfm.app = compose.application(self.vnfm.parts)

    def call_as(self, role: str, method: str, path: str) -> Response:
        body: Any = None if method in {"GET", "DELETE"} else {}
        return self.call(method, path, body, {"X-Auth-Token": role})

    def test_a_read_only_role(self) -> None:
        for path in (INSTANCES, OP_OCCS, PACKAGES, VIMS):
            self.assertEqual(200, self.call_as("reader", "GET", path).status)
        for method, path in (
            ("DELETE", f"{INSTANCES}/x"),
            ("POST", f"{INSTANCES}/x/heal"),
            ("POST", f"{OP_OCCS}/x/retry"),
            ("POST", f"{OP_OCCS}/x/rollback"),
            ("POST", f"{OP_OCCS}/x/fail"),
            ("POST", PACKAGES),
            ("DELETE", f"{PACKAGES}/x"),
            ("DELETE", f"{VIMS}/x"),
        ):
            response = self.call_as("reader", method, path)
            self.assert_problem(403, response, "does not allow this")

    def test_a_forbidden_request_is_refused_before_its_body_is_read(
        self,
    ) -> None:
        token = {"X-Auth-Token": "reader"}
        for method, path in (
            ("POST", INSTANCES),
            ("PATCH", f"{INSTANCES}/x"),
            ("POST", f"{INSTANCES}/x/scale"),
            ("POST", f"{OP_OCCS}/x/cancel"),
            ("POST", VIMS),
            ("PUT", f"{VIMS}/x"),
            ("POST", PACKAGES),
        ):
            response = self.call(method, path, b"{", token)
            self.assert_problem(403, response, "does not allow this")

    def test_a_writing_role(self) -> None:
        for role in ("admin", "member"):
            self.assertEqual(201, self.call_as(role, "POST", PACKAGES).status)
            response = self.call_as(role, "DELETE", f"{VIMS}/x")
            self.assert_problem(404, response)

    def test_a_role_without_permissions(self) -> None:
        for path in (INSTANCES, OP_OCCS, PACKAGES, VIMS):
            self.assert_problem(403, self.call_as("unknown", "GET", path))

    def test_an_upload_is_not_even_read(self) -> None:
        created = self.call_as("member", "POST", PACKAGES).json
        response = self.call(
            "PUT",
            f"{PACKAGES}/{created['id']}/package_content",
            b"zip",
            {"X-Auth-Token": "reader", "Content-Type": "application/zip"},
        )
        self.assert_problem(403, response)

    def test_versions_and_health_without_a_token(self) -> None:
        for path in (
            "/healthcheck",
            "/vnflcm/api_versions",
            "/vnflcm/v2/api_versions",
            "/vnfpkgm/api_versions",
            "/vnfpkgm/v1/api_versions",
        ):
            self.assertEqual(200, self.call("GET", path).status)
        for headers in ({}, {"X-Auth-Token": "forged"}):
            response = self.call("GET", INSTANCES, headers=headers)
            self.assert_problem(401, response)
            self.assertIn("WWW-Authenticate", response.headers)
