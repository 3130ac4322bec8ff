"""The addresses that a Heat without a cloud assigns, as tests see them."""

from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.openstack import Project

CIDR = "203.0.113.0/29"


def a_port(**properties: Any) -> dict[str, Any]:
    return {
        "type": "OS::Neutron::Port",
        "properties": {"network": "net", **properties},
    }


def a_server(*networks: dict[str, Any]) -> dict[str, Any]:
    properties = {"name": "one", "flavor": "f", "networks": networks}
    return {
        "type": "OS::Nova::Server",
        "properties": {**properties, "image": "i"},
    }


FLOATING = {
    "type": "OS::Neutron::FloatingIP",
    "properties": {
        "floating_network": "out",
        "port_id": {"get_resource": "a"},
    },
}


class TestAddresses(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.project = self.useFixture(Project(self))
        self.project.subnet(CIDR)

    def put_stack(
        self, name: str, end: str, **resources: Any
    ) -> dict[str, Any]:
        """Create or update a stack; wait for this status; return the outputs."""
        existing = self.project.stacks().get(name)
        template = {
            "heat_template_version": "2021-04-16",
            "resources": resources,
            "outputs": {
                each: {"value": {"get_attr": [each, attribute]}}
                for each, attribute in (
                    ("a", "fixed_ips"),
                    ("b", "fixed_ips"),
                    ("floating", "floating_ip_address"),
                    ("server", "first_address"),
                )
                if each in resources
            },
        }
        body = {"stack_name": name, "template": template}
        if existing:
            self.project.heat("PUT", f"/stacks/{name}/{existing['id']}", body)
        else:
            self.project.heat("POST", "/stacks", body)
        waiting.until(lambda: self.status(name) == end, end)
        path = f"/stacks/{name}/{self.project.stacks()[name]['id']}"
        outputs = self.project.heat("GET", path)["stack"]["outputs"]
        return {
            output["output_key"]: output["output_value"] for output in outputs
        }

    def status(self, name: str) -> str:
        return str(self.project.stacks()[name]["stack_status"])

    def delete(self, name: str) -> None:
        path = f"/stacks/{name}/{self.project.stacks()[name]['id']}"
        self.project.heat("DELETE", path)
        waiting.until(
            lambda: name not in self.project.stacks(), "the deletion"
        )

    def test_addresses_are_unique_and_listed_with_the_server(self) -> None:
        port = {"port": {"get_resource": "a"}}
        attributes = self.put_stack(
            "first",
            "CREATE_COMPLETE",
            a=a_port(),
            b=a_port(fixed_ips=[{"ip_address": "203.0.113.5"}]),
            floating=FLOATING,
            server=a_server(port, {"network": "net"}),
        )
        ((a,), (b,)) = attributes["a"], attributes["b"]
        self.assertEqual("203.0.113.5", b["ip_address"])
        self.assertEqual(a["ip_address"], attributes["server"])
        ((server, seen),) = self.project.visible("servers").items()
        self.assertIn(server, self.project.servers("first"))
        self.assertEqual("one", seen["name"])
        of_port, own = seen["networks"]
        self.assertEqual([a["ip_address"]], of_port["addresses"])
        (floating,) = self.project.visible("floating").values()
        self.assertEqual(of_port["port"], floating["port"])
        self.assertEqual(attributes["floating"], floating["address"])
        assigned = {a["ip_address"], b["ip_address"], attributes["floating"]}
        self.assertEqual(4, len(assigned | set(own["addresses"])))
        self.delete("first")
        for kind in ("servers", "ports", "floating"):
            self.assertEqual({}, self.project.visible(kind))

    def test_an_address_in_use_is_rejected_until_it_is_released(self) -> None:
        port_request = a_port(fixed_ips=[{"ip_address": "203.0.113.4"}])
        self.put_stack("first", "CREATE_COMPLETE", a=port_request)
        self.put_stack("second", "CREATE_FAILED", a=port_request)
        self.assertEqual(1, len(self.project.visible("ports")))
        self.delete("first")
        self.put_stack("third", "CREATE_COMPLETE", a=port_request)

    def test_a_port_that_changes_releases_its_old_address(self) -> None:
        before = a_port(fixed_ips=[{"ip_address": "203.0.113.4"}])
        after = a_port(fixed_ips=[{"ip_address": "203.0.113.5"}])
        self.put_stack("first", "CREATE_COMPLETE", a=before)
        attributes = self.put_stack("first", "UPDATE_COMPLETE", a=after)
        self.assertEqual("203.0.113.5", attributes["a"][0]["ip_address"])
        self.put_stack("second", "CREATE_COMPLETE", a=before)
