"""Runs the user data of an operation: the package's own, or the default."""

import dataclasses
import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import find_file
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack.stack_fields import (
    StackFields,
    UserDataRequest,
)
from tacker_cnf.lcm import redaction
from tacker_cnf.scripts.process import ScriptLimits
from tacker_cnf.user_data import parameters, protocol, user_data_process
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.protocol import UserDataInput, UserDataOutput

PATH_PARAMETER: Final = "lcm-operation-user-data"
CLASS_PARAMETER: Final = "lcm-operation-user-data-class"

#: operation -> method of the built-in user data
DEFAULT_METHODS: Final[Mapping[str, Callable[..., Json]]] = {
    "instantiate": DefaultUserData.instantiate,
    "scale": DefaultUserData.scale,
    "scale_rollback": DefaultUserData.scale_rollback,
    "heal": DefaultUserData.heal,
    "change_ext_conn": DefaultUserData.change_ext_conn,
    "change_ext_conn_rollback": DefaultUserData.change_ext_conn_rollback,
    "change_vnfpkg": DefaultUserData.change_vnfpkg,
    "change_vnfpkg_rollback": DefaultUserData.change_vnfpkg_rollback,
}


class UserDataClass(NamedTuple):
    """A class in a file of a package."""

    path: str
    class_name: str


class ChosenUserData:
    """Runs the user data in additionalParams, or the default."""

    def __init__(self, limits: ScriptLimits) -> None:
        self._limits = limits

    def check(self, request: UserDataRequest) -> None:
        """Validate the user data in a request.

        :raises InvalidParameters: file or class is missing, or the file is
            not in the package, or not in the current package, whose user
            data a rollback runs
        """
        requested_class = _requested_class(request)
        current_package = request.task.current_package
        if (
            requested_class
            and current_package
            and find_file(current_package.path, requested_class.path) is None
        ):
            raise errors.InvalidParameters(
                f"additionalParams.{PATH_PARAMETER}: file "
                f"{requested_class.path!r} is not in the current VNF package "
                f"of VNFD {current_package.vnfd.id}, whose user data a "
                "rollback runs. Set a file that both packages have."
            )

    def fields(self, request: UserDataRequest) -> StackFields:
        """Compute the fields that make the stack match
        ``request.task.target``.

        :raises InvalidParameters: request, grant and package lack a value
        :raises ScriptFailed: the package's script failed
        """
        requested_class = _requested_class(request)
        user_data_input = _user_data_input(
            request, requested_class or UserDataClass("", "")
        )
        output = (
            self._run_script(request, user_data_input)
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
        self, request: UserDataRequest, user_data_input: UserDataInput
    ) -> UserDataOutput:
        task = request.task
        timeout = min(self._limits.timeout, task.deadline.remaining)
        return user_data_process.run(
            request.package.path,
            user_data_input,
            dataclasses.replace(self._limits, timeout=timeout),
            task.cancel_token,
            task.save_log,
        )


def _requested_class(request: UserDataRequest) -> UserDataClass | None:
    additional_params = request.task.parameters
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
    request.package.file(path)
    if not str(class_name).isidentifier():
        raise errors.InvalidParameters(
            f"additionalParams.{CLASS_PARAMETER}: {class_name!r} is not a "
            "valid name of a Python class."
        )
    return UserDataClass(path, str(class_name))


def _user_data_input(
    request: UserDataRequest, requested_class: UserDataClass
) -> UserDataInput:
    task = request.task
    rollback = "_rollback" if request.is_rollback else ""
    return UserDataInput(
        operation=request.operation.lower() + rollback,
        request=_request(task),
        vnf_instance=_json(redaction.without_vim_secrets(task.instance)),
        grant_request=_json(task.grant_request),
        grant_response=_json(
            task.grant and redaction.without_vim_secrets(task.grant)
        ),
        package_dir=str(request.package.path),
        vnfd=request.package.vnfd,
        path=requested_class.path,
        class_name=requested_class.class_name,
    )


def _request(task: InfraTask) -> Json:
    request = _json(task.request)
    name = "vimConnectionInfo"
    if name in request:
        request[name] = redaction.without_secrets(request[name])
    return request


def _json(value: Any) -> Json:
    """Convert a value of SOL003 to JSON; None becomes {}."""
    plain: Json = msgspec.to_builtins(value, enc_hook=str) if value else {}
    return plain


def _run_default(user_data_input: UserDataInput) -> UserDataOutput:
    """Run the default user data, in this process."""
    with parameters.use_package(
        user_data_input.package_dir, user_data_input.vnfd
    ):
        output = DEFAULT_METHODS[user_data_input.operation](
            user_data_input.request,
            user_data_input.vnf_instance,
            user_data_input.grant_request,
            user_data_input.grant_response,
            user_data_input.package_dir,
        )
    return msgspec.convert(output, protocol.UserDataOutput)
