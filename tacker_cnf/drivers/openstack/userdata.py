"""Runs the user data of an operation: the package's own, or the default."""

import dataclasses
import posixpath
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage, find_file
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.lcm import redaction
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.user_data import (
    compat,
    parameters,
    protocol,
    user_data_process,
)
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.protocol import UserDataInput, UserDataOutput
from tacker_cnf.user_data.v1.adapter import Version1UserData

PATH_PARAMETER: Final = "lcm-operation-user-data"
CLASS_PARAMETER: Final = "lcm-operation-user-data-class"
NAMES: Final = frozenset({PATH_PARAMETER, CLASS_PARAMETER})


class UserDataClass(NamedTuple):
    """A class in a file of a package."""

    path: str
    class_name: str


class ChosenUserData:
    """Runs the user data in additionalParams, or else that of version 1 which
    instantiated the VNF, or the default.
    """

    def __init__(self, limits: ScriptLimits) -> None:
        self._limits = limits

    def check(self, task: InfraTask) -> None:
        """Validate the user data in a request.

        :raises InvalidParameters: file or class is missing, or the file is
            not in the package, or not in the current package, whose user
            data a rollback runs, or the package does not name it, or its code
            does not run, or it cannot have a method for the operation
        """
        _check_operation(task)
        requested_class = _requested_class(task)
        if requested_class is None:
            return
        self._check_allowed(task.package, requested_class)
        current_package = task.current_package
        if current_package is None:
            return
        if find_file(current_package.path, requested_class.path) is None:
            raise errors.InvalidParameters(
                f"additionalParams.{PATH_PARAMETER}: file "
                f"{requested_class.path!r} is not in the current VNF package "
                f"of VNFD {current_package.vnfd.id}, whose user data a "
                "rollback runs. Set a file that both packages have."
            )
        self._check_allowed(current_package, requested_class)

    def _check_allowed(
        self, package: UnpackedPackage, requested_class: UserDataClass
    ) -> None:
        """Check that the code of a package, and this file of it, runs.

        :raises InvalidParameters: the configuration forbids it, or the
            package does not name the file
        """
        objection = self._limits.find_objection(
            package.code, requested_class.path
        )
        if objection:
            raise errors.InvalidParameters(
                f"additionalParams.{PATH_PARAMETER}: {objection}"
            )

    def fields(self, task: InfraTask, context: TaskContext) -> StackFields:
        """Compute the fields that make the stack match the desired state.

        :raises InvalidParameters: request, grant and package lack a value
        :raises ScriptFailed: the package's script failed
        """
        requested_class = _requested_class(task)
        user_data_input = _user_data_input(
            task, requested_class or UserDataClass("", "")
        )
        output = (
            self._run_script(task, context, user_data_input)
            if requested_class
            else _run_default(user_data_input)
        )
        return StackFields(
            template=output.template,
            files=output.files,
            parameters=output.parameters,
            existing=output.existing,
        )

    def _run_script(
        self,
        task: InfraTask,
        context: TaskContext,
        user_data_input: UserDataInput,
    ) -> UserDataOutput:
        with context.script_place(context.deadline.remaining):
            timeout = min(self._limits.timeout, context.deadline.remaining)
            return user_data_process.run(
                task.package.code,
                user_data_input,
                dataclasses.replace(self._limits, timeout=timeout),
                context.cancel_token,
                context.save_log,
            )


def kept_names(task: InfraTask) -> dict[str, Any]:
    """Return the parameters of user data of version 1, which later requests
    need not repeat.
    """
    if task.change.restores:
        names = _metadata(task)
    else:
        names = _names(task) if _is_version_1(task) else {}
    return {name: names[name] for name in NAMES & names.keys()}


def _names(task: InfraTask) -> Mapping[str, Any]:
    """Return the parameters of the request, or else those that are kept."""
    requested = task.change.parameters
    return requested if NAMES & requested.keys() else _metadata(task)


def _metadata(task: InfraTask) -> Mapping[str, Any]:
    info = task.instance.instantiated_vnf_info
    return info.metadata if info else {}


def _is_version_1(task: InfraTask) -> bool:
    """Check whether the user data of a task is of version 1."""
    requested = task.change.parameters
    if not NAMES & requested.keys():
        return bool(NAMES & _metadata(task).keys())
    file = find_file(task.package.path, str(requested.get(PATH_PARAMETER)))
    return file is not None and compat.is_version_1(file)


def _check_operation(task: InfraTask) -> None:
    """Check that user data of version 1 can have a method for the operation.

    :raises InvalidParameters: it cannot
    """
    assert task.package_call is not None
    operation = task.package_call.operation
    if (
        task.change.operates
        or hasattr(Version1UserData, operation)
        or not _is_version_1(task)
    ):
        return
    raise errors.InvalidParameters(
        f"additionalParams.{PATH_PARAMETER}: {_names(task)[PATH_PARAMETER]} "
        f"is user data of version 1, which does not know {operation}. Set "
        "user data of version 2 in the request, or terminate the VNF and "
        "instantiate it again."
    )


def _requested_class(task: InfraTask) -> UserDataClass | None:
    requested = _names(task)
    path, class_name = (
        requested.get(PATH_PARAMETER),
        requested.get(CLASS_PARAMETER),
    )
    if path is None and class_name is None:
        return None
    for name, value in ((PATH_PARAMETER, path), (CLASS_PARAMETER, class_name)):
        if not (isinstance(value, str) and value):
            raise errors.InvalidParameters(
                f"additionalParams.{name}: has to be a string; "
                f"{PATH_PARAMETER} and {CLASS_PARAMETER} are set together."
            )
    path = posixpath.normpath(str(path))
    task.package.file(path)
    if not str(class_name).isidentifier():
        raise errors.InvalidParameters(
            f"additionalParams.{CLASS_PARAMETER}: {class_name!r} is not a "
            "valid name of a Python class."
        )
    return UserDataClass(path, str(class_name))


def _user_data_input(
    task: InfraTask, requested_class: UserDataClass
) -> UserDataInput:
    assert task.package_call is not None
    return UserDataInput(
        operation=task.package_call.operation,
        request=dict(task.package_call.request),
        vnf_instance=_json(redaction.without_vim_secrets(task.instance)),
        grant_request=_json(task.grant_request),
        grant_response=_json(
            task.grant and redaction.without_vim_secrets(task.grant)
        ),
        package_dir=str(task.package.path),
        vnfd=task.package.vnfd,
        path=requested_class.path,
        class_name=requested_class.class_name,
    )


def _json(value: Any) -> Json:
    """Convert a value of SOL003 to JSON; None becomes {}."""
    plain: Json = msgspec.to_builtins(value, enc_hook=str) if value else {}
    return plain


def _run_default(user_data_input: UserDataInput) -> UserDataOutput:
    """Run the default user data, in this process."""
    with parameters.use_package(
        user_data_input.package_dir, user_data_input.vnfd
    ):
        method = getattr(DefaultUserData, user_data_input.operation)
        output = method(
            user_data_input.request,
            user_data_input.vnf_instance,
            user_data_input.grant_request,
            user_data_input.grant_response,
            user_data_input.package_dir,
        )
    return msgspec.convert(output, protocol.UserDataOutput)
