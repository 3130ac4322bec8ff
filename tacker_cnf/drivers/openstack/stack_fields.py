"""What a stack is to be made of: asked of user data, told by it."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.lcm import merge
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.base_hot import BaseHot


@dataclasses.dataclass(frozen=True, kw_only=True)
class UserDataRequest:
    """What user data is asked: what makes a stack match a task's target."""

    #: INSTANTIATE, SCALE, HEAL, CHANGE_EXT_CONN or CHANGE_VNFPKG
    operation: LcmOperationType
    #: whether what the operation did is to be undone
    is_rollback: bool
    #: task.request is the request; task.parameters its additionalParams and,
    #: over them, the grant's; task.instance, until an instantiation has
    #: ended, knows no stack
    task: InfraTask
    #: that of what is to be
    package: UnpackedPackage
    #: of that package and the task's flavour
    base_hot: BaseHot


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackFields:
    """What is given to Heat."""

    #: None: the template that the stack has, or BaseHOT where there is none;
    #: of a stack that is there, or is made anew, a JSON merge patch of its template if
    #: `existing`: user data written for Tacker takes a VNFC away by
    #: {"resources": {"VDU1-1": None}}
    template: str | None = None
    #: nested templates, as the template names them; of no use without one
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: parameters of the stack. "nfv" is a dictionary: a JSON merge patch of
    #: what the stack has if `existing`, the whole of it if not
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: whether what is not told stays as it is
    existing: bool = True

    def full_template(
        self, current: str, files: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Give the whole template that this means, and its files.

        :param current: the template that a stack has, or had
        :raises InvalidPackage: what is told of it cannot be read
        """
        if self.template is None:
            return current, files
        if not self.existing:
            return self.template, self.files
        patched = merge.patched(_read(current), _read(self.template))
        template = msgspec.json.encode(patched).decode()
        return template, {**files, **self.files}


def _read(template: str) -> Mapping[str, Any]:
    """Read a template, which may be JSON."""
    read = bounded_yaml.load(template, "the template")
    if not isinstance(read, Mapping):
        raise errors.InvalidPackage("the template: it is no map")
    return read


class UserData(Protocol):
    """Tells what a stack is to be made of."""

    def check(self, request: UserDataRequest) -> None:
        """Refuse what cannot work, without running anything.

        :raises InvalidParameters: the request names user data wrongly
        """

    def fields(self, request: UserDataRequest) -> StackFields:
        """Tell what makes the stack match ``request.task.target``.

        :raises InvalidParameters: something is missing in the request, the
            grant or the package
        :raises ScriptFailed: the package's script did not end well
        """
