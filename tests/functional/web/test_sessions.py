"""Sessions of the web page: log in, cookies, forms of other pages, headers."""

import json
import re
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import fixtures
import testtools

from tacker_cnf.api.http import BINARY
from tacker_cnf.db.types import VAULT
from tacker_cnf.web import app, assets, security_headers, sessions
from tests.fixtures import keystone, waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.page_browser import ROOT, Browser
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.vnfm import Vnfm

PASSWORD = "hunter2"
PACKAGES = "/vnfpkgm/v1/vnf_packages"


class Service(Projects):
    """The service of several projects, with the page and a Keystone.

    A user logs in with the name of a project; the token is that of
    Projects.become.
    """

    def __init__(self, **api: Any) -> None:
        super().__init__(api={"web_page": True, **api})
        #: whether it answers a request to log in
        self.is_open = threading.Event()
        self.is_open.set()

    def restart_api(self) -> None:
        self.keystone.responder = self._respond
        super().restart_api()

    def _setUp(self) -> None:
        self.keystone = self.useFixture(HttpReceiver())
        super()._setUp()

    def _configuration(self) -> Any:
        conf = super()._configuration()
        from keystonemiddleware import opts

        for group, options in opts.list_auth_token_opts():
            conf.register_opts(options, group)
        group = "keystone_authtoken"
        conf.set_override("auth_type", "password", group)
        from keystoneauth1 import loading

        plugin = loading.get_auth_plugin_conf_options("password")
        conf.register_opts(plugin, group)
        conf.set_override("auth_url", f"{self.keystone.url}/v3", group)
        return conf

    def _respond(self, request: ReceivedRequest) -> Response:
        if request.method == "DELETE":
            return 204, {}, b""
        self.is_open.wait(60)
        identity = request.json["auth"]["identity"]["password"]["user"]
        if identity["password"] != PASSWORD:
            return 401, {}, b"{}"
        project = request.json["auth"]["scope"]["project"]["name"]
        self.become(project)
        status, headers, body = keystone.token("x", "http://x", request)
        return status, headers | {"X-Subject-Token": self.token}, body


def _always(response: Response) -> Callable[[ReceivedRequest], Response]:
    return lambda _: response


class SessionCase(testtools.TestCase):
    """A browser before the log in."""

    #: options of [api]
    api: Mapping[str, Any] = types.MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Service(**self.api))
        self.browser = Browser(self.vnfm)

    def log_in(self, project: str = OWNER, **fields: str) -> None:
        self.browser.get("/login")
        page = self.browser.post(
            "/login",
            user="me",
            password=PASSWORD,
            project=project,
            **fields,
        )
        self.assertEqual(303, page.status, page.text)
        # the token is known to keystonemiddleware
        self.vnfm.become(project)
        self.vnfm.call("GET", "/vnflcm/v2/vnf_instances")


class TestLogIn(SessionCase):
    """Log in and out."""

    def test_the_page_that_was_requested_follows(self) -> None:
        page = self.browser.get("/vims?x=1")
        self.assertEqual("/ui/login?next=%2Fvims%3Fx%3D1", page.location)
        page = self.browser.follow()
        self.assertEqual("/vims?x=1", page.hidden["next"])
        self.log_in(next="/vims?x=1")
        self.assertEqual("/ui/vims?x=1", self.browser.page.location)
        self.assertIn("me", self.browser.follow().text)

    def test_a_page_of_another_site_does_not_follow(self) -> None:
        for target in ("//evil.example/", "/\\evil.example", "http://evil/"):
            self.log_in(next=target)
            self.assertEqual("/ui/", self.browser.page.location)

    def test_wrong_credentials(self) -> None:
        self.browser.get("/login")
        page = self.browser.post(
            "/login", user="me", password="guess", project=OWNER
        )
        self.assertEqual(401, page.status)
        self.assertIn("Keystone rejects", page.text)
        self.assertIn('value="me"', page.source)
        self.assertNotIn("guess", page.source)
        self.assertEqual("/ui/login", self.browser.get().location)

    def test_log_out_revokes_the_token(self) -> None:
        self.log_in()
        token = self.vnfm.token
        self.browser.get()
        self.browser.post("/logout")
        revoked = [
            request.headers["X-Subject-Token"]
            for request in self.vnfm.keystone.requests
            if request.method == "DELETE"
        ]
        self.assertEqual([token], revoked)
        self.assertEqual("/ui/login", self.browser.get().location)

    def test_a_token_that_cannot_be_revoked(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        self.log_in()
        self.browser.get()
        self.vnfm.keystone.responder = _always((500, {}, b""))
        page = self.browser.post("/logout")
        self.assertEqual("/ui/login", page.location)
        self.assertIn("Token not revoked at log out", log.output)
        self.assertEqual("/ui/login", self.browser.get().location)

    def test_a_keystone_that_does_not_answer(self) -> None:
        self.vnfm.keystone.stop()
        self.browser.get("/login")
        page = self.browser.post(
            "/login", user="me", password=PASSWORD, project=OWNER
        )
        self.assertEqual(503, page.status)

    def test_responses_of_keystone_that_are_not_valid(self) -> None:
        self.browser.get("/login")
        headers = {"X-Subject-Token": "a-token"}
        responses: tuple[Response, ...] = (
            (500, {}, b""),
            (201, {}, b"{}"),
            (201, headers, b"no JSON"),
            (201, headers, b'{"token": {}}'),
        )
        for response in responses:
            self.vnfm.keystone.responder = _always(response)
            page = self.browser.post(
                "/login", user="me", password=PASSWORD, project=OWNER
            )
            self.assertEqual(503, page.status, page.text)

    def test_a_token_that_no_cookie_can_have(self) -> None:
        headers = {"X-Subject-Token": "x" * 4000}
        _, _, body = keystone.token("x", "http://x", None)  # type: ignore[arg-type]
        self.vnfm.keystone.responder = lambda _: (201, headers, body)
        self.browser.get("/login")
        page = self.browser.post(
            "/login", user="me", password=PASSWORD, project=OWNER
        )
        self.assertEqual(503, page.status)
        self.assertIn("too long for a cookie", page.text)

    def test_attempts_are_limited(self) -> None:
        self.log_in()
        self.browser.get()
        self.vnfm.keystone.requests.clear()
        self.vnfm.is_open.clear()
        self.addCleanup(self.vnfm.is_open.set)
        threads = []
        for _ in range(2):
            browser = Browser(self.vnfm)
            browser.get("/login")
            thread = threading.Thread(
                target=browser.post,
                args=["/login"],
                kwargs={"user": "x", "password": "x", "project": "x"},
            )
            thread.start()
            threads.append(thread)
        waiting.until(
            lambda: len(self.vnfm.keystone.requests) == 2, "the attempts"
        )
        self.browser.post("/logout")
        self.assertEqual("DELETE", self.vnfm.keystone.requests[-1].method)
        self.browser.get("/login")
        page = self.browser.post(
            "/login", user="me", password=PASSWORD, project=OWNER
        )
        self.assertEqual(503, page.status)
        self.assertIn("at most 2 do so at once", page.text)
        self.vnfm.is_open.set()
        for thread in threads:
            thread.join()


class TestTokens(SessionCase):
    """What a session is good for."""

    def test_the_api_does_not_accept_the_cookie(self) -> None:
        self.log_in()
        self.assertEqual(200, self.browser.get().status)
        response = Vnfm.call(
            self.vnfm,
            "GET",
            "/vnflcm/v2/vnf_instances",
            headers={"Cookie": self.browser.cookie},
        )
        self.assertEqual(401, response.status)

    def test_the_page_does_not_accept_the_header(self) -> None:
        token = {"X-Auth-Token": self.vnfm.token}
        page = self.browser.get("/", **token)
        self.assertEqual("/ui/login", page.location)

    def test_a_revoked_token(self) -> None:
        self.log_in()
        self.use(sessions.new_session(token="revoked"))
        self.assertEqual("/ui/login", self.browser.get().location)
        page = self.browser.get("/events")
        self.assertEqual("/ui/login?next=%2Fevents", page.location)

    def test_an_expired_session(self) -> None:
        self.use(
            sessions.new_session(
                token=self.vnfm.token, expires_at="2020-01-01T00:00:00Z"
            )
        )
        self.assertEqual("/ui/login", self.browser.get().location)

    def test_cookies_that_are_none(self) -> None:
        self.vnfm.call("GET", PACKAGES)  # the token is known
        contents = (
            {"csrf": "x", "token": self.vnfm.token},
            {"name": "x", "token": self.vnfm.token},
            {"csrf": "x", "token": self.vnfm.token, "kind": "other"},
        )
        values = [
            VAULT.fernet.encrypt(json.dumps(c).encode()) for c in contents
        ]
        for value in ("", "x", "\xe4", *(v.decode() for v in values)):
            self.browser.cookie = f"{sessions.COOKIE}={value}"
            page = self.browser.get()
            self.assertEqual("/ui/login", page.location)

    def test_a_cookie_of_another_service_before_the_own_one(self) -> None:
        self.log_in()
        self.browser.cookie = f"{sessions.COOKIE}=x; {self.browser.cookie}"
        self.assertEqual(200, self.browser.get().status)

    def use(self, session: sessions.Session) -> None:
        """Replace the session of the browser."""
        cookies = sessions.SessionCookies(VAULT.fernet)
        cookie = cookies.write(session, ROOT, is_secure=False)
        self.browser.cookie = cookie.partition(";")[0]


class TestProjects(SessionCase):
    """What belongs to others does not exist."""

    def test_another_project(self) -> None:
        self.vnfm.become(OWNER)
        instance_id = self.vnfm.create()
        (package,) = self.vnfm.call("GET", PACKAGES).json
        own = [
            f"/vnf_instances/{instance_id}",
            f"/vnf_packages/{package['id']}",
        ]
        self.log_in()
        for path in own:
            self.assertEqual(200, self.browser.get(path).status)
        self.log_in(UNTRUSTED)
        for path in own:
            self.assertEqual(404, self.browser.get(path).status)
            page = self.browser.get("/")
            page = self.browser.post(f"{path}/delete")
            self.assertEqual(404, page.status)
        self.assertNotIn(instance_id, self.browser.get().source)

    def test_a_package_that_is_shared(self) -> None:
        self.vnfm.become(OWNER, "member", "manager")
        self.vnfm.onboard()
        (package,) = self.vnfm.call("GET", PACKAGES).json
        path = f"{PACKAGES}/{package['id']}"
        shared = {"sharedWith": [UNTRUSTED]}
        self.assertEqual(200, self.vnfm.call("PATCH", path, shared).status)
        self.log_in(UNTRUSTED)
        self.browser.get("/vnf_instances/new")
        page = self.browser.post("/vnf_instances", package=package["id"])
        path = page.location.removeprefix(ROOT)
        page = self.browser.get(f"{path}/instantiate")
        self.assertEqual(200, page.status)
        self.assertIn("Files/kubernetes/pod.yaml", page.source)
        page = self.browser.get(f"/vnf_packages/{package['id']}")
        self.assertNotIn("Disable", page.text)

    def test_a_reader_gets_no_buttons(self) -> None:
        instance_id = self.vnfm.create()
        self.log_in()
        path = f"/vnf_instances/{instance_id}"
        self.assertIn(f"/ui{path}/instantiate", self.browser.get(path).links)
        self.vnfm.become(OWNER, "reader")
        self.vnfm.call("GET", "/vnflcm/v2/vnf_instances")
        cookies = sessions.SessionCookies(VAULT.fernet)
        session = sessions.new_session(token=self.vnfm.token)
        cookie = cookies.write(session, ROOT, is_secure=False)
        self.browser.cookie = cookie.partition(";")[0]
        page = self.browser.get(path)
        self.assertEqual(200, page.status)
        self.assertNotIn(f"/ui{path}/instantiate", page.links)
        self.assertEqual(403, self.browser.get(f"{path}/instantiate").status)
        page = self.browser.post(f"{path}/delete")
        self.assertEqual(403, page.status)


class TestForeignForms(testtools.TestCase):
    """Forms that are not of this page, for a session that may do all."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm(api={"web_page": True}))
        self.browser = Browser(self.vnfm)
        self.instance_id = self.vnfm.create()

    def test_every_form_needs_the_secret(self) -> None:
        other = Browser(self.vnfm)
        other.get("/vnf_packages")
        self.browser.get()
        for path in _posts():
            for secret in (
                {},
                {"csrf": ""},
                {"csrf": other.page.hidden["csrf"]},
            ):
                page = self.browser.send_form(
                    path.replace("{id}", self.instance_id), secret
                )
                self.assertIn(page.status, {403, 415}, path)
        self.browser.page = other.page
        self.assertEqual(403, self.browser.upload(b"x").status)
        self.assertEqual(1, len(self._packages()))

    def _packages(self) -> Any:
        return self.vnfm.call("GET", PACKAGES).json

    def test_forms_of_other_sites(self) -> None:
        path = f"/vnf_instances/{self.instance_id}/delete"
        self.browser.get(path)
        for header in (
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "same-site"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://["},
            {"Origin": "//localhost:80"},
            {"Origin": "http://localhost:80@evil.example"},
        ):
            page = self.browser.send_form(
                path, self.browser.page.hidden, **header
            )
            self.assertEqual(403, page.status, str(header))
            self.browser.get(path)
        page = self.browser.send_form(
            path,
            self.browser.page.hidden,
            Origin="http://localhost:80",
            Sec_Fetch_Site="same-origin",
        )
        self.assertEqual(303, page.status)

    def test_bodies_that_are_no_forms(self) -> None:
        self.browser.get()
        page = self.browser.send_form("/vims", {}, Content_Type=BINARY)
        self.assertEqual(415, page.status)
        page = self.browser.send_form("/vims", {"csrf": "\0"})
        self.assertEqual(400, page.status)
        many = {f"a{number}": "x" for number in range(2000)}
        self.assertEqual(400, self.browser.send_form("/vims", many).status)


def _posts() -> Iterator[str]:
    """Yield the paths of all forms."""
    services: Any = _AnyService()
    for path, methods in app.routes(services).items():
        if "POST" in methods:
            yield path


class _AnyService:
    """Stands for all services: their methods are not called."""

    def __getattr__(self, name: str) -> Any:
        return self


class TestResponses(SessionCase):
    """Headers and cookies."""

    def test_headers(self) -> None:
        self.log_in()
        icon = assets.path_of("icon.svg")
        for path in ("/", "/nothing", "/login", "/vims/new", icon, ""):
            page = self.browser.get(path)
            for name, value in security_headers.HEADERS:
                self.assertEqual(value, page.headers[name], path)
            self.assertIn("Cache-Control", page.headers)
            self.assertIn("X-Openstack-Request-Id", page.headers)

    def test_cookie(self) -> None:
        cookie = self.browser.get("/login").headers["Set-Cookie"]
        self.assertTrue(
            cookie.endswith("; Path=/ui; HttpOnly; SameSite=Lax"), cookie
        )
        self.assertNotIn("Set-Cookie", self.browser.get("/login").headers)

    def test_static_files(self) -> None:
        path = assets.path_of("style.css")
        page = self.browser.get(path)
        self.assertEqual(
            "text/css; charset=utf-8", page.headers["Content-Type"]
        )
        self.assertIn("immutable", page.headers["Cache-Control"])
        self.assertNotIn("Set-Cookie", page.headers)
        page = self.browser.get(path, If_None_Match=page.headers["ETag"])
        self.assertEqual((304, ""), (page.status, page.source))
        for other in (re.sub("/[0-9a-f]+/", "/0/", path), "/static/x/y/z"):
            self.assertEqual(404, self.browser.get(other).status)

    def test_no_page_has_what_the_policy_forbids(self) -> None:
        self.log_in()
        for path in ("/", "/login", "/vims", "/vims/new", "/vnf_packages"):
            source = self.browser.get(path).source
            self.assertNotIn("style=", source)
            self.assertNotRegex(source, r"\son\w+=")
            self.assertNotRegex(source, '<script(?! type="module" src=)')


class TestProxy(SessionCase):
    """A proxy in front, with TLS and a path of its own."""

    api = types.MappingProxyType({"endpoint": "https://vnfm.example/nfv"})

    def test_paths_and_cookies(self) -> None:
        page = self.browser.get()
        self.assertEqual("/nfv/ui/login", page.location)
        cookie = page.headers["Set-Cookie"]
        page = self.browser.get("/login")
        self.assertIn("; Path=/nfv/ui; HttpOnly", cookie)
        self.assertTrue(cookie.endswith("; Secure"), cookie)
        self.assertIn("/nfv/ui/login", page.links)
        page = self.browser.send_form(
            "/login",
            {
                "csrf": page.hidden["csrf"],
                "user": "me",
                "password": PASSWORD,
                "project": OWNER,
            },
            Origin="https://vnfm.example",
        )
        self.assertEqual(
            "https://vnfm.example/nfv/ui/", page.headers["Location"]
        )
        instance_id = self.vnfm.create()
        self.vnfm.call("GET", "/vnflcm/v2/vnf_instances")
        for path in ("/", f"/vnf_instances/{instance_id}/delete", "/vims"):
            page = self.browser.get(path)
            self.assertEqual(200, page.status)
            for link in page.links:
                self.assertTrue(link.startswith(("/nfv/ui", "#")), link)


class TestDisabled(testtools.TestCase):
    """Without the option, there is no page."""

    def test_there_is_no_page(self) -> None:
        vnfm = self.useFixture(Vnfm())
        page = Browser(vnfm).get("/login")
        self.assertEqual(404, page.status)
        self.assertEqual(
            "application/problem+json", page.headers["Content-Type"]
        )
