"""The types of resources that Heat templates may have."""

import json
from typing import Any

import testtools
import yaml

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.resource_policy import ResourcePolicy
from tests.fixtures.vnfm import SAMPLES

USER = {"type": "OS::Keystone::User", "properties": {"name": "attack"}}
SERVER = {"type": "OS::Nova::Server", "properties": {"flavor": "m1"}}
URL = "http://attack.example/nested.yaml"


def a_template(**resources: Any) -> str:
    return json.dumps(
        {"heat_template_version": "2021-04-16", "resources": resources}
    )


def a_group(kind: str, **properties: Any) -> dict[str, Any]:
    return {"type": f"OS::Heat::{kind}", "properties": properties}


class TestTemplates(testtools.TestCase):
    policy = ResourcePolicy()

    def check_refused(self, message: str, template: str, **files: str) -> None:
        named = {f"{name}.yaml": text for name, text in files.items()}
        error = self.assertRaises(
            errors.VimPolicyViolation,
            self.policy.check,
            template,
            named,
            "top.yaml",
        )
        self.assertIn(message, str(error))
        self.assertEqual(422, error.status)

    def test_samples(self) -> None:
        for path in SAMPLES.glob("*/BaseHOT/*/*.yaml"):
            nested = {
                one.name: one.read_text()
                for one in (path.parent / "nested").glob("*.yaml")
            }
            self.policy.check(path.read_text(), nested, path.name)

    def test_types_of_resources(self) -> None:
        for kind in (
            "OS::Keystone::User",
            "OS::Nova::Flavor",
            "OS::Nova::Quota",
            "OS::Nova::KeyPair",
            "OS::Heat::Stack",
            "OS::Neutron::RBACPolicy",
            "OS::Neutron::ProviderNet",
            "OS::Cinder::VolumeType",
            "OS::Mistral::Workflow",
            "OS::Glance::WebImage",
            "AWS::CloudFormation::Stack",
            "Vendor::Own::Type",
            "os::nova::server",
        ):
            template = a_template(ok=SERVER, attack={"type": kind})
            self.check_refused(
                f"top.yaml: resources.attack.type: resources of type {kind} "
                "are not allowed",
                template,
            )

    def test_a_nested_template(self) -> None:
        inner = a_template(attack=USER)
        middle = a_template(
            group=a_group("ResourceGroup", resource_def={"type": "inner.yaml"})
        )
        top = a_template(member={"type": "middle.yaml"})
        self.check_refused(
            "inner.yaml: resources.attack.type: resources of type "
            "OS::Keystone::User",
            top,
            middle=middle,
            inner=inner,
        )
        # a template may contain itself: Heat limits the depth
        self.policy.check(
            a_template(a={"type": "a.yaml"}),
            {"a.yaml": a_template(b={"type": "a.yaml"})},
        )

    def test_members_of_groups(self) -> None:
        for group in (
            a_group("ResourceGroup", resource_def=USER),
            a_group("AutoScalingGroup", resource=USER),
            a_group("ResourceChain", resources=["OS::Keystone::User"]),
            a_group(
                "ResourceGroup",
                resource_def=a_group("ResourceGroup", resource_def=USER),
            ),
        ):
            self.check_refused("OS::Keystone::User", a_template(group=group))

    def test_members_whose_type_only_heat_knows(self) -> None:
        function = {"get_param": "attack"}
        for group in (
            a_group("ResourceGroup", resource_def={"type": function}),
            a_group("ResourceGroup", resource_def=function),
            a_group("ResourceGroup", get_param="attack"),
            a_group("AutoScalingGroup", resource={"type": function}),
            a_group("ResourceChain", resources=function),
            a_group("ResourceChain", resources=[function]),
            {"type": "OS::Heat::ResourceGroup"},
        ):
            self.check_refused("group.properties", a_template(group=group))

    def test_urls(self) -> None:
        for value in (
            URL,
            URL.upper(),
            "https://attack.example/x",
            "file:///etc/heat/heat.conf",
            "FILE:/etc/passwd",
        ):
            self.check_refused("is a URL", a_template(a={"type": value}))
            self.check_refused(
                "resources.a.properties.user_data.get_file",
                a_template(
                    a={
                        "type": "OS::Nova::Server",
                        "properties": {"user_data": {"get_file": value}},
                    }
                ),
            )
            self.check_refused(
                "is a URL",
                a_template(
                    a=a_group("ResourceGroup", resource_def={"type": value})
                ),
            )

    def test_a_file_with_a_resource_registry(self) -> None:
        for registry in (
            {"OS::Nova::Server": "OS::Keystone::User"},
            {"resources": {"a": {"OS::Nova::Server": "OS::Keystone::User"}}},
            {"OS::Nova::Server": "evil.yaml"},
        ):
            template = yaml.safe_dump({"resource_registry": registry})
            self.check_refused(
                "OS::Keystone::User", template, evil=a_template(a=USER)
            )
        template = yaml.safe_dump({"resource_registry": {"A::B::C": URL}})
        self.assertRaises(
            errors.VimPolicyViolation, self.policy.check, template, {}
        )

    def test_a_file_named_like_a_type(self) -> None:
        error = self.assertRaises(
            errors.VimPolicyViolation,
            self.policy.check,
            a_template(a=USER),
            {"OS::Keystone::User": a_template(a=SERVER)},
        )
        self.assertIn("resources of type OS::Keystone::User", str(error))

    def test_cloud_formation_templates(self) -> None:
        template = json.dumps(
            {
                "HeatTemplateFormatVersion": "2012-12-12",
                "Resources": {"a": {"Type": "AWS::IAM::User"}},
            }
        )
        self.check_refused("AWS::IAM::User", template)

    def test_both_spellings_of_a_resource(self) -> None:
        """Heat reads that of the version of the template only."""
        members = {"resource_def": SERVER}
        attack = {"resource_def": USER}
        kind = "OS::Heat::ResourceGroup"
        for resource in (
            {"type": "OS::Nova::Server", "Type": "OS::Keystone::User"},
            {"Type": "OS::Nova::Server", "type": "OS::Keystone::User"},
            {"Type": kind, "Properties": attack},
            {"Type": kind, "Properties": attack, "properties": members},
            {"type": kind, "Properties": members, "properties": attack},
            {"type": "OS::Nova::Server", "Type": kind, "Properties": attack},
        ):
            for section in ("resources", "Resources"):
                text = json.dumps({section: {"attack": resource}})
                self.check_refused("OS::Keystone::User", text)
                self.check_refused(
                    "inner.yaml: ",
                    json.dumps({"Resources": {"a": {"Type": "inner.yaml"}}}),
                    inner=text,
                )

    def test_functions_of_cloud_formation(self) -> None:
        function = {"Fn::If": ["c", {"resource_def": USER}, {}]}
        kind = "OS::Heat::ResourceGroup"
        for resource, message in (
            ({"Type": {"Ref": "a"}}, "Type: has to be a string"),
            ({"Fn::If": ["c", USER, USER]}, "type: has to be a string"),
            ({"Type": kind, "Properties": function}, "Properties: has to"),
            ({"Type": kind}, "properties: has to define the members"),
        ):
            text = json.dumps({"Resources": {"attack": resource}})
            self.check_refused(message, text)

    def test_what_a_policy_allows(self) -> None:
        template = a_template(a=USER, b={"type": "OS::Nova::Flavor"})
        for patterns in (("OS::Keystone::*", "OS::Nova::Flavor"), ("*",)):
            ResourcePolicy(allowed_resource_types=patterns).check(template, {})
