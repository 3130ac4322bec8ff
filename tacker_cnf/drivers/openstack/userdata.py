"""Runs the user data of an operation: the package's own, or the default."""

import dataclasses
import posixpath
import re
from typing import Any, Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage, find_file
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.lcm import redaction
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.user_data import parameters, protocol, user_data_process
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.protocol import UserDataInput, UserDataOutput

PATH_PARAMETER: Final = "lcm-operation-user-data"
CLASS_PARAMETER: Final = "lcm-operation-user-data-class"
#: user data of version 1 of Tacker's API import their base class from here
_VERSION_1: Final = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+tacker\.vnfm\.lcm_user_data\b", re.MULTILINE
)


class UserDataClass(NamedTuple):
    """A class in a file of a package."""

    path: str
    class_name: str


class ChosenUserData:
    """Runs the user data in additionalParams, or the default."""

    def __init__(self, limits: ScriptLimits) -> None:
        self._limits = limits

    def check(self, task: InfraTask) -> None:
        """Validate the user data in a request.

        :raises InvalidParameters: file or class is missing, or the file is
            not in the package, or not in the current package, whose user
            data a rollback runs, or the package does not name it, or its code
            does not run
        """
        requested_class = _requested_class(task)
        if requested_class is None:
            return
        self._check_allowed(task.package, requested_class)
        _check_interface(task.package, requested_class)
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


def _requested_class(task: InfraTask) -> UserDataClass | None:
    additional_params = task.change.parameters
    path, class_name = (
        additional_params.get(PATH_PARAMETER),
        additional_params.get(CLASS_PARAMETER),
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


def _check_interface(
    package: UnpackedPackage, requested_class: UserDataClass
) -> None:
    """Check that user data are not those of version 1 of Tacker's API, whose
    methods have other arguments and results.

    :raises InvalidParameters: they are
    """
    if _VERSION_1.search(package.file(requested_class.path).read_bytes()):
        raise errors.InvalidParameters(
            f"additionalParams.{PATH_PARAMETER}: {requested_class.path!r} is "
            "user data of version 1 of Tacker's API, which this service does "
            "not run. Use a class of version 2, such as StandardUserData, or "
            f"leave out {PATH_PARAMETER} and {CLASS_PARAMETER} for the "
            "default user data."
        )


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
