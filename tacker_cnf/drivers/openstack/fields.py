"""What a stack is to be made of: asked of user data, told by it."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaseHot:
    """The Heat templates of a flavour, as they stand in a package.

    They are BaseHOT/<flavour>/*.yaml, of which there is one, and
    BaseHOT/<flavour>/nested/*.yaml.
    """

    template: str
    #: file name, as resources name it as their type -> nested template
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
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
    package: PackageTree
    #: of that package and the task's flavour
    base_hot: BaseHot


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackFields:
    """What is given to Heat."""

    #: None: the template that the stack has, or BaseHOT where there is none;
    #: of a stack that is there, a JSON merge patch of its template if
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


class UserData(Protocol):
    """Tells what a stack is to be made of."""

    def check(self, question: Question) -> None:
        """Refuse what cannot work, without running anything.

        :raises InvalidParameters: the request names user data wrongly
        """

    def fields(self, question: Question) -> StackFields:
        """Tell what makes the stack match ``question.task.target``.

        :raises InvalidParameters: something is missing in the request, the
            grant or the package
        :raises ScriptFailed: the package's script did not end well
        """
