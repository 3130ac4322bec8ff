"""The policy of an OpenStack: which resources Heat templates may have.

Heat acts with the credentials of the VIM: a template can do all that these
allow. A type that needs an administrator, or reaches beyond the project, is
refused unless the policy allows it, and so is what Heat would fetch from a URL.
"""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, Self

import msgspec

from tacker_cnf.drivers.openstack import stack_fields
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol.common import VimConnectionInfo

#: types of the servers, networks and volumes of a project
RESOURCE_TYPES: Final = frozenset(
    {
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::AutoScaling::LaunchConfiguration",
        "AWS::AutoScaling::ScalingPolicy",
        "OS::Cinder::Volume",
        "OS::Cinder::VolumeAttachment",
        "OS::Heat::AutoScalingGroup",
        "OS::Heat::CloudConfig",
        "OS::Heat::InstanceGroup",
        "OS::Heat::MultipartMime",
        "OS::Heat::None",
        "OS::Heat::RandomString",
        "OS::Heat::ResourceChain",
        "OS::Heat::ResourceGroup",
        "OS::Heat::ScalingPolicy",
        "OS::Heat::SoftwareComponent",
        "OS::Heat::SoftwareConfig",
        "OS::Heat::SoftwareDeployment",
        "OS::Heat::SoftwareDeploymentGroup",
        "OS::Heat::StructuredConfig",
        "OS::Heat::StructuredDeployment",
        "OS::Heat::StructuredDeploymentGroup",
        "OS::Heat::UpdateWaitConditionHandle",
        "OS::Heat::Value",
        "OS::Heat::WaitCondition",
        "OS::Heat::WaitConditionHandle",
        "OS::Neutron::ExtraRouteSet",
        "OS::Neutron::FloatingIP",
        "OS::Neutron::FloatingIPAssociation",
        "OS::Neutron::Net",
        "OS::Neutron::Port",
        "OS::Neutron::Router",
        "OS::Neutron::RouterInterface",
        "OS::Neutron::SecurityGroup",
        "OS::Neutron::SecurityGroupRule",
        "OS::Neutron::Subnet",
        "OS::Neutron::Trunk",
        "OS::Nova::Server",
        "OS::Nova::ServerGroup",
    }
)
#: property of a group -> it defines the members: a map with their type, or a
#: list of types
MEMBER_PROPERTIES: Final = frozenset({"resource", "resource_def", "resources"})
#: types whose properties define members
GROUP_TYPES: Final = frozenset(
    {
        "OS::Heat::AutoScalingGroup",
        "OS::Heat::ResourceChain",
        "OS::Heat::ResourceGroup",
    }
)
_URL: Final = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|file:)", re.IGNORECASE)

#: a template and its files
Template = tuple[str, Mapping[str, str]]
TypePattern = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9:*]+$")]


class ResourcePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Which resources Heat templates may have; [openstack] has the default."""

    #: patterns of types beside RESOURCE_TYPES
    allowed_resource_types: tuple[TypePattern, ...] = ()

    @classmethod
    def of_connection(
        cls, info: VimConnectionInfo, defaults: Mapping[str, Any]
    ) -> Self:
        """Return the policy of the VIM of a connection.

        :param defaults: the options of [openstack]
        :raises InvalidVimConnection: it is not valid
        """
        return vim_policy.read(info.extra, cls, defaults)

    def allows(self, kind: str) -> bool:
        """Return whether templates may have resources of a type."""
        return kind in RESOURCE_TYPES or any(
            fnmatch.fnmatchcase(kind, pattern)
            for pattern in self.allowed_resource_types
        )

    def check(
        self,
        template: str,
        files: Mapping[str, str],
        name: str = "template",
        had: Iterable[Template] = (),
    ) -> None:
        """Check a template, and the nested templates that it uses.

        :param files: name in the template -> text of a file that is sent
        :param name: of the template, for errors
        :param had: what the stack had before a rollback, in any place: the
            rollback may have it even if the policy became stricter; read only
            if there is a problem
        :raises VimPolicyViolation: the policy does not allow a part of it
        :raises InvalidPackage: a template cannot be parsed
        """
        problems = list(_Templates(self, files).problems(name, template))
        known = {
            one.problem
            for old_template, old_files in (had if problems else ())
            for one in _Templates(self, old_files).problems("", old_template)
        }
        vim_policy.refuse_package(
            [str(one) for one in problems if one.problem not in known],
            "the VIM",
            "Change the package, or have the policy changed: extra.policy of "
            "the registered VIM, or [openstack] allowed_resource_types.",
        )


class _Problem(NamedTuple):
    """What a policy does not allow, and where."""

    #: name of the template and path in it
    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


class _Templates:
    """A template and its files; each file is checked once."""

    def __init__(
        self, policy: ResourcePolicy, files: Mapping[str, str]
    ) -> None:
        self._policy = policy
        self._files = files
        self._checked: set[str] = set()

    def problems(self, name: str, text: str) -> Iterator[_Problem]:
        """Yield what the policy does not allow in a template and below it."""
        template = stack_fields.read(text, name)
        for path, url in _urls(template, ""):
            yield _Problem(f"{name}: {path}", _a_url(url))
        for section in ("resources", "Resources"):
            resources = template.get(section)
            if isinstance(resources, Mapping):
                for key, resource in resources.items():
                    yield from self._resource(
                        name, f"{section}.{key}", resource
                    )
        yield from self._registry(name, template.get("resource_registry"))

    def _resource(
        self, name: str, path: str, resource: Any
    ) -> Iterator[_Problem]:
        if not isinstance(resource, Mapping):
            return
        types = _spelled(resource, "type")
        for key, kind in types:
            yield from self._type(name, f"{path}.{key}", kind)
        if GROUP_TYPES.intersection(k for _, k in types if isinstance(k, str)):
            for key, properties in _spelled(resource, "properties"):
                yield from self._members(name, f"{path}.{key}", properties)

    def _members(
        self, name: str, path: str, properties: Any
    ) -> Iterator[_Problem]:
        """Yield the problems of the members of a group. Their types have to be
        literal: Heat would resolve functions only after this check.
        """
        found = MEMBER_PROPERTIES & (
            properties.keys() if isinstance(properties, Mapping) else set()
        )
        if not found:
            yield _Problem(
                f"{name}: {path}", "has to define the members of the group"
            )
        for key in sorted(found):
            value, where = properties[key], f"{path}.{key}"
            if key == "resources":
                types = value if isinstance(value, list) else [value]
                for number, kind in enumerate(types):
                    yield from self._type(name, f"{where}[{number}]", kind)
            elif isinstance(value, Mapping) and "type" in value:
                yield from self._resource(name, where, value)
            else:
                yield _Problem(
                    f"{name}: {where}", "has to be a map with a type"
                )

    def _type(self, name: str, path: str, kind: Any) -> Iterator[_Problem]:
        if not isinstance(kind, str):
            yield _Problem(
                f"{name}: {path}", "has to be a string, not a function"
            )
        elif _URL.match(kind):
            return  # a URL, which is found anyway
        elif kind in self._files and "::" not in kind:
            if kind not in self._checked:
                self._checked.add(kind)
                yield from self.problems(kind, self._files[kind])
        elif not self._policy.allows(kind):
            yield _Problem(
                f"{name}: {path}", f"resources of type {kind} are not allowed"
            )

    def _registry(self, name: str, registry: Any) -> Iterator[_Problem]:
        """Yield the problems of a resource_registry, as an environment has."""
        if not isinstance(registry, Mapping):
            return
        for key, target in registry.items():
            path = f"resource_registry.{key}"
            if key == "resources" and isinstance(target, Mapping):
                for inner in target.values():
                    yield from self._registry(name, inner)
            elif isinstance(target, str) and _URL.match(target):
                yield _Problem(f"{name}: {path}", _a_url(target))
            elif isinstance(target, str):
                yield from self._type(name, path, target)


def _spelled(
    resource: Mapping[str, Any], key: str
) -> Sequence[tuple[str, Any]]:
    """Return (key, value) of each spelling of a key: that of HOT, and that of
    CloudFormation. Heat reads the one of the template's version only.
    """
    keys = [one for one in (key, key.capitalize()) if one in resource]
    return [(one, resource[one]) for one in keys] or [(key, None)]


def _a_url(url: str) -> str:
    return f"{url!r} is a URL; name a file of the package"


def _urls(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the URLs that Heat would read, by their paths: types of resources
    and arguments of get_file.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{path}.{key}" if path else key
            if (
                key in {"type", "Type", "get_file", "TemplateURL"}
                and isinstance(inner, str)
                and _URL.match(inner)
            ):
                yield where, inner
            yield from _urls(inner, where)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _urls(item, f"{path}[{number}]")
