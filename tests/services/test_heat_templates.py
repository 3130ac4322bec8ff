"""The sample VNF's templates, filled by user data, on a real Heat."""

from typing import Any

import yaml
from testtools.content import text_content

from tacker_cnf.lcm import merge
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.standard import StandardUserData
from tests.fixtures import waiting
from tests.fixtures.openstack import PATIENCE, Project
from tests.fixtures.user_data import LINK, UserDataCase, computes

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
        there = STACK in self.project.stacks()
        for one in self.project.resources(STACK) if there else ():
            why = f"{one['resource_status']}: {one['resource_status_reason']}"
            self.addDetail(one["resource_name"], text_content(why))

    def make(self, said: Any) -> str:
        """Make a stack of what user data says; give how that ended."""
        nfv = said["parameters"]["nfv"]
        body = {
            "stack_name": STACK,
            "template": said["template"],
            "files": said["files"],
            "parameters": {"nfv": nfv},
        }
        self.project.heat("POST", "/stacks", body)
        return self.ended("CREATE")

    def change(self, said: Any) -> str:
        """Change the stack as user data says; give how that ended."""
        stack = self.project.stacks()[STACK]
        path = f"/stacks/{STACK}/{stack['id']}"
        there = self.project.heat("GET", path)["stack"]["parameters"]["nfv"]
        own = said["parameters"]["nfv"]
        nfv = merge.patched(yaml.safe_load(there), own)
        body: Any = {"parameters": {"nfv": nfv}, "existing": True}
        if "template" in said:
            now = self.project.heat("GET", f"{path}/template")
            body["template"] = merge.patched(now, said["template"])
            body["files"] = self.project.heat("GET", f"{path}/files")
        self.project.heat("PATCH", path, body)
        return self.ended("UPDATE")

    def ended(self, action: str) -> str:
        def look() -> str | None:
            status = str(self.project.stacks()[STACK]["stack_status"])
            going = not status.startswith(action) or "PROGRESS" in status
            return None if going else status

        return waiting.until(look, f"the end of {action}", PATIENCE)

    def names(self) -> list[str]:
        """Tell what the servers are called in their templates."""
        return sorted(self.project.servers(STACK).values())


class TestSimple(TemplatesCase):
    def test_it_is_made_and_grows(self) -> None:
        added = {"addResources": computes(front=1, store=1)}
        said = self.ask(DefaultUserData.instantiate, grant_req=added)
        self.assertEqual("CREATE_COMPLETE", self.make(said))
        self.assertEqual(["front", "store"], self.names())
        store = {s for s, n in self.servers().items() if n == "store"}
        inst = self.instance({"a": ("front", None), "b": ("store", None)})
        said = self.ask(
            DefaultUserData.scale,
            inst,
            {"type": "SCALE_OUT"},
            {"addResources": computes(front=2)},
        )
        self.assertEqual("UPDATE_COMPLETE", self.change(said))
        self.assertEqual(["front", "front", "front", "store"], self.names())
        self.assertLessEqual(store, self.servers().keys())

    def servers(self) -> dict[str, str]:
        return self.project.servers(STACK)

    def test_a_failure_and_its_reason(self) -> None:
        self.project.fail("front", "the quota is used up")
        added = {"addResources": computes(front=1, store=1)}
        said = self.ask(DefaultUserData.instantiate, grant_req=added)
        self.assertEqual("CREATE_FAILED", self.make(said))
        why = self.project.stacks()[STACK]["stack_status_reason"]
        self.assertIn("the quota is used up", why)


class TestSingle(TemplatesCase):
    flavour = "single"

    def test_it_is_made_and_grows_and_shrinks(self) -> None:
        added = {"addResources": computes(front=1, store=1)}
        said = self.ask(StandardUserData.instantiate, grant_req=added)
        self.assertEqual("CREATE_COMPLETE", self.make(said))
        before = self.project.servers(STACK)
        self.assertEqual(["front", "store"], self.names())
        there = {
            "id": "outside",
            "resourceHandle": {"resourceId": self.network},
            "currentVnfExtCpData": LINK["extCps"],
        }
        inst = self.instance(
            {"a": ("front", 0), "b": ("store", 0)},
            extVirtualLinkInfo=[there],
        )
        grant_req = {"addResources": computes(front=1)}
        said = self.ask(
            StandardUserData.scale, inst, {"type": "SCALE_OUT"}, grant_req
        )
        self.assertEqual("UPDATE_COMPLETE", self.change(said))
        self.assertEqual(["front", "front", "store"], self.names())
        said = self.ask(StandardUserData.scale_rollback, inst, {}, grant_req)
        self.assertEqual("UPDATE_COMPLETE", self.change(said))
        self.assertEqual(before, self.project.servers(STACK))
