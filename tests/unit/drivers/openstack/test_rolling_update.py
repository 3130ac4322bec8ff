"""A change of package that replaces VNFCs one after the other."""

from typing import Any

import testtools
import yaml

from tacker_cnf.drivers.openstack import rolling_update
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tests.factories import a_flavour

RESOURCES: dict[str, Any] = {
    "web-0": {"type": "a.yaml"},
    "web-2": {"type": "a.yaml", "depends_on": "net"},
    "web-10": {"type": "a.yaml", "depends_on": ["net", "disk"]},
    "agent-0": {"type": "b.yaml"},
    "net": {"type": "OS::Neutron::Net"},
    "net-1": {"type": "OS::Neutron::Net"},
}


def to_stack_fields(resources: Any, *, existing: bool = False) -> StackFields:
    template = yaml.safe_dump({"resources": resources})
    return StackFields(
        template=template, parameters={"nfv": {}}, existing=existing
    )


class TestStages(testtools.TestCase):
    def test_each_vnfc_depends_on_the_previous_one(self) -> None:
        fields = to_stack_fields(RESOURCES)
        first, last = rolling_update.stages(fields, a_flavour())
        self.assertIs(fields, last)
        self.assertEqual(fields.parameters, first.parameters)
        resources = yaml.safe_load(str(first.template))["resources"]
        dependencies = {
            name: resource["depends_on"]
            for name, resource in resources.items()
            if "depends_on" in resource
        }
        self.assertEqual(
            {"web-2": ["net", "web-0"], "web-10": ["net", "disk", "web-2"]},
            dependencies,
        )

    def test_without_dependencies_there_is_one_update(self) -> None:
        alone = {name: RESOURCES[name] for name in ("web-0", "agent-0", "net")}
        for fields in (
            to_stack_fields(alone),
            to_stack_fields(RESOURCES, existing=True),
            StackFields(parameters={"nfv": {}}),
        ):
            stages = list(rolling_update.stages(fields, a_flavour()))
            self.assertEqual([fields], stages)
