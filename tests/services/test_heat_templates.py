"""The sample VNF's templates with user data, on a real Heat."""

from typing import Any

import yaml
from testtools.content import text_content

from tacker_cnf.lcm import merge
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.standard import StandardUserData
from tests.fixtures import waiting
from tests.fixtures.openstack import TIMEOUT_S, Project
from tests.fixtures.user_data import LINK, UserDataCase, added_computes

STACK = "vnf-templates"


class TemplatesCase(UserDataCase):
    def setUp(self) -> None:
        super().setUp()
        self.project = self.useFixture(Project(self))
        self.network = self.project.network()
        self.addOnException(self._show)
        link = {**LINK, "resourceId": self.network}
        self.request["extVirtualLinks"] = [link]

    def _show(self, _: object) -> None:
        exists = STACK in self.project.stacks()
        for item in self.project.resources(STACK) if exists else ():
            reason = (
                f"{item['resource_status']}: {item['resource_status_reason']}"
            )
            self.addDetail(item["resource_name"], text_content(reason))

    def create_stack(self, user_data: Any) -> str:
        """Create a stack from user data; return its final status."""
        nfv = user_data["parameters"]["nfv"]
        body = {
            "stack_name": STACK,
            "template": user_data["template"],
            "files": user_data["files"],
            "parameters": {"nfv": nfv},
        }
        self.project.heat("POST", "/stacks", body)
        return self.wait_stack("CREATE")

    def update_stack(self, user_data: Any) -> str:
        """Update the stack from user data; return its final status."""
        stack = self.project.stacks()[STACK]
        path = f"/stacks/{STACK}/{stack['id']}"
        current = self.project.heat("GET", path)["stack"]["parameters"]["nfv"]
        patch = user_data["parameters"]["nfv"]
        nfv = merge.patched(yaml.safe_load(current), patch)
        body: Any = {"parameters": {"nfv": nfv}, "existing": True}
        if "template" in user_data:
            template = self.project.heat("GET", f"{path}/template")
            body["template"] = merge.patched(template, user_data["template"])
            body["files"] = self.project.heat("GET", f"{path}/files")
        self.project.heat("PATCH", path, body)
        return self.wait_stack("UPDATE")

    def wait_stack(self, action: str) -> str:
        def final_status() -> str | None:
            status = str(self.project.stacks()[STACK]["stack_status"])
            is_busy = not status.startswith(action) or "PROGRESS" in status
            return None if is_busy else status

        return waiting.until(final_status, f"the end of {action}", TIMEOUT_S)

    def names(self) -> list[str]:
        """Return the names of the servers in their templates."""
        return sorted(self.project.servers(STACK).values())


class TestSimple(TemplatesCase):
    def test_create_and_scale_out(self) -> None:
        added = {"addResources": added_computes(front=1, store=1)}
        user_data = self.call_user_data(
            DefaultUserData.instantiate, grant_req=added
        )
        self.assertEqual("CREATE_COMPLETE", self.create_stack(user_data))
        self.assertEqual(["front", "store"], self.names())
        store = {s for s, n in self.servers().items() if n == "store"}
        inst = self.instance({"a": ("front", None), "b": ("store", None)})
        user_data = self.call_user_data(
            DefaultUserData.scale,
            inst,
            {"type": "SCALE_OUT"},
            {"addResources": added_computes(front=2)},
        )
        self.assertEqual("UPDATE_COMPLETE", self.update_stack(user_data))
        self.assertEqual(["front", "front", "front", "store"], self.names())
        self.assertLessEqual(store, self.servers().keys())

    def servers(self) -> dict[str, str]:
        return self.project.servers(STACK)

    def test_the_reason_of_a_failure_is_returned(self) -> None:
        self.project.fail("front", "the quota is used up")
        added = {"addResources": added_computes(front=1, store=1)}
        user_data = self.call_user_data(
            DefaultUserData.instantiate, grant_req=added
        )
        self.assertEqual("CREATE_FAILED", self.create_stack(user_data))
        reason = self.project.stacks()[STACK]["stack_status_reason"]
        self.assertIn("the quota is used up", reason)


class TestSingle(TemplatesCase):
    flavour = "single"

    def test_create_scale_out_and_roll_back(self) -> None:
        added = {"addResources": added_computes(front=1, store=1)}
        user_data = self.call_user_data(
            StandardUserData.instantiate, grant_req=added
        )
        self.assertEqual("CREATE_COMPLETE", self.create_stack(user_data))
        before = self.project.servers(STACK)
        self.assertEqual(["front", "store"], self.names())
        servers = {
            "id": "outside",
            "resourceHandle": {"resourceId": self.network},
            "currentVnfExtCpData": LINK["extCps"],
        }
        inst = self.instance(
            {"a": ("front", 0), "b": ("store", 0)},
            extVirtualLinkInfo=[servers],
        )
        grant_req = {"addResources": added_computes(front=1)}
        user_data = self.call_user_data(
            StandardUserData.scale, inst, {"type": "SCALE_OUT"}, grant_req
        )
        self.assertEqual("UPDATE_COMPLETE", self.update_stack(user_data))
        self.assertEqual(["front", "front", "store"], self.names())
        user_data = self.call_user_data(
            StandardUserData.scale_rollback, inst, {}, grant_req
        )
        self.assertEqual("UPDATE_COMPLETE", self.update_stack(user_data))
        self.assertEqual(before, self.project.servers(STACK))
