"""Input and output of user data: the fields of a stack."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.lcm import merge
from tacker_cnf.vnfd import bounded_yaml


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackFields:
    """The fields of a request to create or update a stack."""

    #: YAML or JSON. None: the current template of the stack, or BaseHOT for
    #: a new one. With `existing` a JSON merge patch of the current template:
    #: user data written for Tacker removes a VNFC by
    #: {"resources": {"VDU1-1": None}}
    template: str | None = None
    #: name in the template -> nested template; ignored without `template`
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: parameters of the stack. "nfv" is a dictionary: a JSON merge patch of
    #: the current one with `existing`, otherwise the complete value
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: keep what template and parameters do not contain
    existing: bool = True

    def full_template(
        self, current: str, files: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Return the complete template and its files.

        :param current: current or previous template of the stack
        :param files: its nested templates
        :raises InvalidPackage: a template cannot be parsed
        """
        if self.template is None:
            return current, files
        if not self.existing:
            return self.template, self.files
        patched = merge.patched(read(current), read(self.template))
        template = msgspec.json.encode(patched).decode()
        return template, {**files, **self.files}


def read(template: str, name: str = "the template") -> Mapping[str, Any]:
    """Parse a template, YAML or JSON.

    :param name: for errors
    :raises InvalidPackage: it cannot be parsed
    """
    read = bounded_yaml.load(template, name)
    if not isinstance(read, Mapping):
        raise errors.InvalidPackage(f"{name}: has to be a map")
    return read


class UserData(Protocol):
    """Computes the fields of a stack."""

    def check(self, task: InfraTask) -> None:
        """Validate the user data in a request, without running it.

        :raises InvalidParameters: the user data is not in the package, or
            its name is not valid
        """

    def fields(self, task: InfraTask, context: TaskContext) -> StackFields:
        """Compute the fields that make the stack match the desired state.

        :raises InvalidParameters: request, grant and package lack a value
        :raises ScriptFailed: the package's script failed
        """
