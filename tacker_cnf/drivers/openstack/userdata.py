"""The user data that an operation asks: the package's own, or the default."""

import dataclasses
import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import find
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack.fields import Question, StackFields
from tacker_cnf.lcm import redaction
from tacker_cnf.scripts.process import Bounds
from tacker_cnf.user_data import parameters, protocol, running
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.protocol import Said, Told

PATH: Final = "lcm-operation-user-data"
CLASS: Final = "lcm-operation-user-data-class"

#: what our own answers
DEFAULT: Final[Mapping[str, Callable[..., Json]]] = {
    "instantiate": DefaultUserData.instantiate,
    "scale": DefaultUserData.scale,
    "scale_rollback": DefaultUserData.scale_rollback,
    "heal": DefaultUserData.heal,
    "change_ext_conn": DefaultUserData.change_ext_conn,
    "change_ext_conn_rollback": DefaultUserData.change_ext_conn_rollback,
    "change_vnfpkg": DefaultUserData.change_vnfpkg,
    "change_vnfpkg_rollback": DefaultUserData.change_vnfpkg_rollback,
}


class Named(NamedTuple):
    """A class in a file of a package."""

    path: str
    class_name: str


class ChosenUserData:
    """Asks the user data that additionalParams name, or ours if none."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def check(self, question: Question) -> None:
        """Refuse a request that names user data wrongly.

        :raises InvalidParameters: it names a file without a class or the
            other way round, or a file that the package does not have, or
            the former one that a rollback would ask
        """
        named = _named(question)
        former = question.task.current_package
        if named and former and find(former.path, named.path) is None:
            raise errors.InvalidParameters(
                f"additionalParams.{PATH}: the VNF package of VNFD "
                f"{former.vnfd.id}, which the VNF is of, has no file "
                f"{named.path!r}, and a rollback asks the one that is there. "
                "Name one that both packages have."
            )

    def fields(self, question: Question) -> StackFields:
        """Tell what makes the stack match ``question.task.target``.

        :raises InvalidParameters: something is missing in the request, the
            grant or the package
        :raises ScriptFailed: the package's script did not end well
        """
        named = _named(question)
        told = _told(question, named or Named("", ""))
        said = self._ask(question, told) if named else _default(told)
        return StackFields(
            template=said.template,
            files=said.files,
            parameters=said.parameters,
            existing=said.existing,
        )

    def _ask(self, question: Question, told: Told) -> Said:
        task = question.task
        timeout = min(self._bounds.timeout, task.deadline.remaining)
        return running.ask(
            question.package.path,
            told,
            dataclasses.replace(self._bounds, timeout=timeout),
            task.halt,
            task.keep_log,
        )


def _named(question: Question) -> Named | None:
    given = question.task.parameters
    path, class_name = given.get(PATH), given.get(CLASS)
    if path is None and class_name is None:
        return None
    for name, value in ((PATH, path), (CLASS, class_name)):
        if not (isinstance(value, str) and value):
            raise errors.InvalidParameters(
                f"additionalParams: {PATH} and {CLASS} go together, and each "
                f"is a text; {name} is not given so."
            )
    path = posixpath.normpath(str(path))
    question.package.file(path)
    if not str(class_name).isidentifier():
        raise errors.InvalidParameters(
            f"additionalParams: {CLASS} is to name a class of Python, which "
            f"{class_name!r} is not."
        )
    return Named(path, str(class_name))


def _told(question: Question, named: Named) -> Told:
    task = question.task
    rollback = "_rollback" if question.is_rollback else ""
    return Told(
        operation=question.operation.lower() + rollback,
        request=_request(task),
        vnf_instance=_json(redaction.unconnected(task.instance)),
        grant_request=_json(task.grant_request),
        grant_response=_json(task.grant and redaction.unconnected(task.grant)),
        package_dir=str(question.package.path),
        vnfd=question.package.vnfd,
        path=named.path,
        class_name=named.class_name,
    )


def _request(task: InfraTask) -> Json:
    request = _json(task.request)
    name = "vimConnectionInfo"
    if name in request:
        request[name] = redaction.without_secrets(request[name])
    return request


def _json(value: Any) -> Json:
    """Give a value of SOL003 as JSON; what is absent is empty."""
    plain: Json = msgspec.to_builtins(value, enc_hook=str) if value else {}
    return plain


def _default(told: Told) -> Said:
    """Ask our own, for which no process is needed."""
    with parameters.knowing(told.package_dir, told.vnfd):
        said = DEFAULT[told.operation](
            told.request,
            told.vnf_instance,
            told.grant_request,
            told.grant_response,
            told.package_dir,
        )
    return msgspec.convert(said, protocol.Said)
