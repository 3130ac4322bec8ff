"""The web page in a browser, against the sandbox and a real Keystone."""

import base64
import json
import os
import urllib.parse
from pathlib import Path
from typing import Any, Final

import testtools
import urllib3
import yaml
from testtools.content import text_content

from tests.fixtures import openstack
from tests.fixtures.api_server import ApiServer
from tests.fixtures.chromium import (
    NARROW,
    TIMEOUT_MS,
    WIDE,
    Chromium,
    require_chromium,
)
from tests.fixtures.cluster import DEF_FILES
from tests.fixtures.vnfm import Csar
from tests.services.test_openstack_cli import Sandbox

#: directory of the pictures of the documentation; they are written if it is
#: set
PICTURES: Final = os.environ.get("TACKER_CNF_TEST_PICTURES")
SETTINGS: Final = "[kubernetes]\nfailure_grace = 0.5\n"
PARAMETERS: Final = json.dumps(
    {"namespace": "default", "lcm-kubernetes-def-files": DEF_FILES}
)
#: label of a field
CERTIFICATES: Final = (
    "Certificates of its authorities (PEM); empty: those of the operating "
    "system"
)
NODES: Final = ("sandbox-node-1", "sandbox-node-2")
APPEARANCES: Final = {
    "narrow": ("light", NARROW),
    "dark": ("dark", WIDE),
    "": ("light", WIDE),
}
#: pictures in another appearance
OTHER_PICTURES: Final = ("web-failure-dark", "web-list-narrow")


#: returns what is dropped: a file with this content
TRANSFER: Final = """content => {
    const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "vnf.csar"));
    return transfer;
}"""

#: sets whether a tab is in the background
HIDE: Final = """hidden => {
    Object.defineProperty(document, "hidden", {
        configurable: true, get: () => hidden,
    });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


class PageCase(testtools.TestCase):
    """A browser at a server."""

    def setUp(self) -> None:
        super().setUp()
        self._chromium = require_chromium(self)

    def open_browser(self, api: str) -> None:
        self.root = f"{api}/ui"
        origin = urllib.parse.urlsplit(api).netloc
        self.browser = self.useFixture(Chromium(self._chromium, origin))
        self.page = self.browser.page
        self.addOnException(self.show_page)

    def show_page(self, _: Any) -> None:
        """Add the page to the report of a test that fails."""
        text = f"{self.page.url}\n{self.page.inner_text('body')}"
        self.addDetail("page", text_content(text))

    def goto(self, path: str = "/") -> None:
        self.page.goto(self.root + path)

    def click(self, name: str, role: Any = "link") -> None:
        self.page.get_by_role(role, name=name, exact=True).click()

    def press(self, name: str) -> None:
        self.click(name, "button")

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).fill(text)

    def see(self, text: str) -> None:
        """Wait for a text."""
        self.page.get_by_text(text).first.wait_for()

    def see_state(self, state: str) -> None:
        """Wait for the state of the operation that the page shows."""
        chip = self.page.get_by_role("status").get_by_text(state, exact=True)
        chip.wait_for()

    def check_page(self, name: str = "") -> None:
        """Check the page in each appearance.

        :param name: of its picture in the documentation
        """
        for suffix, appearance in APPEARANCES.items():
            self.browser.set_appearance(*appearance)
            self.assertEqual([], self.browser.violations(), self.page.url)
            if f"{name}-{suffix}" in OTHER_PICTURES:
                self.take_picture(f"{name}-{suffix}")
        self.take_picture(name)

    def take_picture(self, name: str) -> None:
        if PICTURES and name:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    def upload(self, csar: Csar) -> None:
        self.goto("/vnf_packages")
        field = self.page.get_by_label("CSAR of a VNF package")
        field.set_input_files(csar.path)
        self.press("Upload")
        self.see("Onboarded")

    def create(self, name: str) -> None:
        self.click("Create VNF")
        self.fill("Name", name)
        self.press("Create")
        self.see("Not instantiated")


class TestOperator(PageCase):
    """What an operator does with VNFs on the sandbox."""

    def setUp(self) -> None:
        super().setUp()
        self.sandbox = self.useFixture(Sandbox(SETTINGS))
        self.open_browser(self.sandbox.facts["api"])

    def test_story(self) -> None:
        self.goto()
        self.check_page()
        self.register_vim()
        self.drop(self.useFixture(Csar()))
        self.check_page()
        package = self.page.url
        self.create("voice-gateway")
        self.page.goto(package)
        self.create("web-frontend")
        self.check_page()
        self.instantiate()
        self.watch_without_loading()
        self.fail_and_roll_back()
        self.heal_one_vnfc()
        self.walk_by_keyboard()
        self.terminate()
        self.assertEqual([], self.browser.faults)

    def test_a_long_name_without_spaces(self) -> None:
        self.upload(self.useFixture(Csar()))
        self.create("W" * 250)
        path = self.page.url.removeprefix(self.root)
        for shown in ("/", path, f"{path}/instantiate", f"{path}/delete"):
            self.goto(shown)
            self.check_page()

    def register_vim(self) -> None:
        vim = yaml.safe_load(Path(self.sandbox.facts["vim"]).read_text())
        self.goto("/vims/new")
        self.check_page()
        self.fill("Name", "sandbox")
        self.page.get_by_label("Type").select_option("kubernetes")
        self.fill("Address", vim["auth_url"])
        self.fill(CERTIFICATES, vim["ssl_ca_cert"])
        self.fill("Token of a service account", vim["bearer_token"])
        self.page.get_by_label("Use it for VNFs that name no VIM").check()
        self.press("Register")
        self.see(vim["auth_url"])
        self.check_page()

    def drop(self, csar: Csar) -> None:
        """Drop a package on the form."""
        self.goto("/vnf_packages")
        content = base64.b64encode(csar.read()).decode()
        transfer = self.page.evaluate_handle(TRANSFER, content)
        form = self.page.locator("[data-drop]")
        form.dispatch_event("drop", {"dataTransfer": transfer})
        self.see("Onboarded")

    def instantiate(self) -> None:
        self.click("Instantiate")
        self.fill("additionalParams, as JSON or YAML", PARAMETERS)
        self.check_page()
        self.press("Show the plan")
        self.see("Nothing has changed yet")
        self.check_page("web-plan")
        self.inject("pod-start-delay", seconds=3600.0)
        self.press("Instantiate")
        self.see("In progress")
        self.see("0 of 6 pods are ready")
        self.take_picture("web-operation")
        self.start_pods()
        self.see_state("Completed")
        self.check_page()
        self.see("Instantiate: Completed")

    def start_pods(self) -> None:
        """Start the pods that wait, and later ones at once."""
        self.inject("pod-start-delay", seconds=0.1)
        for node in NODES:
            # a kubelet that reports again starts its pods
            self.inject("lose-node", name=node, detection_delay=3600.0)
            self.inject("restore-node", name=node)

    def watch_without_loading(self) -> None:
        """Scale the VNF; another tab shows it, and is not loaded again."""
        self.click("web-frontend")
        self.check_page("web-vnf")
        other = self.page.context.new_page()
        other.goto(self.root + "/")
        other.evaluate("window.isSame = true")
        self.click("Scale out web_aspect")
        self.press("Show the plan")
        self.see("spec.replicas")
        self.press("Scale")
        self.see_state("Completed")
        other.get_by_text("web_aspect 1").wait_for()
        self.assertTrue(other.evaluate("window.isSame"))
        other.close()

    def fail_and_roll_back(self) -> None:
        """Scale the VNF to a cluster without space."""
        for node in NODES:
            self.inject("node-capacity", name=node, pods=3)
        self.click("web-frontend")
        self.click("Scale out web_aspect")
        self.press("Start without a plan")
        self.see_state("Failed temp")
        self.see("Unschedulable")
        self.check_page("web-failure")
        self.goto()
        self.see("Failed temp")
        self.check_page("web-list")
        self.click("Scale")
        self.click("Roll back")
        self.check_page()
        self.press("Roll back")
        self.see_state("Rolled back")
        for node in NODES:
            self.inject("node-capacity", name=node, pods=110)

    def inject(self, fault: str, **arguments: Any) -> None:
        """Send a request for a fault to the sandbox."""
        vim = yaml.safe_load(Path(self.sandbox.facts["vim"]).read_text())
        pool = urllib3.PoolManager(ca_cert_data=vim["ssl_ca_cert"])
        response = pool.request(
            "POST",
            f"{self.sandbox.facts['cluster']}/sandbox/{fault}",
            json=arguments,
            headers={"Authorization": f"Bearer {vim['bearer_token']}"},
        )
        self.assertLess(response.status, 300)
        pool.clear()

    def heal_one_vnfc(self) -> None:
        self.click("web-frontend")
        self.click("Heal probe")
        self.check_page()
        self.press("Show the plan")
        self.press("Heal")
        self.see_state("Completed")

    def walk_by_keyboard(self) -> None:
        """Start an operation without a mouse."""
        self.click("web-frontend")
        self.page.keyboard.press("Tab")
        self.assertEqual("Skip to the content", self.focused())
        self.page.keyboard.press("Enter")
        self.tab_to("Synchronize")
        for name in ("Terminate", "Start or stop", "Heal"):
            self.page.keyboard.press("Shift+Tab")
            self.assertEqual(name, self.focused())
        self.page.keyboard.press("Enter")
        self.see("What to heal")
        self.tab_to("Start without a plan")
        self.page.keyboard.press("Enter")
        self.see_state("Completed")

    def tab_to(self, name: str) -> None:
        for _ in range(100):
            self.page.keyboard.press("Tab")
            outline = self.page.evaluate(
                "getComputedStyle(document.activeElement).outlineStyle"
            )
            self.assertNotEqual("none", outline, self.focused())
            if self.focused() == name:
                return
        self.fail(f"the focus never is at {name}")

    def focused(self) -> str:
        return str(
            self.page.evaluate("document.activeElement.textContent.trim()")
        )

    def terminate(self) -> None:
        self.click("web-frontend")
        self.click("Terminate")
        self.press("Show the plan")
        self.check_page()
        self.press("Terminate")
        self.see_state("Completed")
        self.click("web-frontend")
        self.click("Delete")
        self.check_page()
        self.press("Delete")
        self.see("voice-gateway")
        deleted = self.page.get_by_text("web-frontend")
        self.assertEqual(0, deleted.count())


class TestTabs(PageCase):
    """Several tabs, and links of other sites."""

    def setUp(self) -> None:
        super().setUp()
        self.sandbox = self.useFixture(Sandbox())
        self.open_browser(self.sandbox.facts["api"])

    def test_more_tabs_than_connections(self) -> None:
        self.goto("/vnf_packages")
        self.hide(self.page, hidden=True)
        for _ in range(7):
            other = self.page.context.new_page()
            other.set_default_timeout(TIMEOUT_MS)
            other.goto(self.root + "/vnf_packages")
            self.hide(other, hidden=True)
        last = self.page.context.new_page()
        last.goto(self.root + "/vnf_packages")
        csar = self.useFixture(Csar())
        last.get_by_label("CSAR of a VNF package").set_input_files(csar.path)
        last.get_by_role("button", name="Upload").click()
        last.get_by_text("Onboarded").first.wait_for()
        self.assertEqual(0, self.page.get_by_text("Onboarded").count())
        self.hide(self.page, hidden=False)
        self.see("Onboarded")
        self.assertEqual([], self.browser.faults)

    def hide(self, page: Any, *, hidden: bool) -> None:
        """Let a tab be in the background, or not."""
        page.evaluate(HIDE, hidden)

    def test_a_link_of_another_site_keeps_the_session(self) -> None:
        self.goto()
        before = self.page.context.cookies(self.root)
        self.page.goto(self.root.replace("127.0.0.1", "localhost"))
        with self.page.expect_navigation():
            self.page.evaluate("url => { location = url; }", f"{self.root}/")
        self.assertEqual(before, self.page.context.cookies(self.root))


class TestLogIn(PageCase):
    """Users of a real Keystone."""

    def setUp(self) -> None:
        super().setUp()
        settings = openstack.read_settings(self)
        self.project = self.useFixture(openstack.Project(self))
        server = self.useFixture(
            ApiServer(
                self,
                api={"auth_strategy": "keystone", "port": 0, "web_page": True},
                keystone_authtoken={
                    "www_authenticate_uri": settings["OS_AUTH_URL"],
                    "auth_url": settings["OS_AUTH_URL"],
                    "auth_type": "password",
                    "username": settings["OS_USERNAME"],
                    "password": settings["OS_PASSWORD"],
                    "user_domain_name": "Default",
                    "project_name": settings["OS_PROJECT_NAME"],
                    "project_domain_name": "Default",
                },
            )
        )
        self.open_browser(server.url)

    def log_in(self, project: openstack.Project, password: str = "") -> None:
        self.fill("User", project.name)
        self.fill("Password", password or project.password)
        self.fill("Project", project.name)
        self.press("Log in")

    def test_users_of_two_projects(self) -> None:
        self.goto("/vnf_packages")
        self.check_page()
        self.log_in(self.project, "wrong")
        self.see("Keystone rejects")
        self.check_page()
        self.log_in(self.project)
        self.page.wait_for_url("**/ui/vnf_packages")
        self.upload(self.useFixture(Csar()))
        self.create("own")
        own = self.page.url.removeprefix(self.root)
        self.assertEqual("", self.page.evaluate("document.cookie"))
        self.press("Log out")
        self.goto(own)
        self.log_in(self.useFixture(openstack.Project(self)))
        self.see("Not Found")
        self.goto()
        self.see("There is no VNF instance yet")
        self.assertEqual([], self.browser.faults)
