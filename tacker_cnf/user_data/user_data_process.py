"""Runs a package's user data in a separate process."""

from collections.abc import Callable

import msgspec

from tacker_cnf.lcm import secret_masking
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.scripts import runner
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.scripts.runner import ScriptCallbacks
from tacker_cnf.scripts.workdir import Workspace
from tacker_cnf.sol import base
from tacker_cnf.user_data import protocol
from tacker_cnf.user_data.protocol import UserDataInput, UserDataOutput


def run(
    package: PackageCode,
    user_data_input: UserDataInput,
    limits: ScriptLimits,
    cancel_token: CancelToken,
    save_log: Callable[[str], None] = lambda _: None,
) -> UserDataOutput:
    """Run user data of an unpacked package.

    :param cancel_token: kills the process at a FORCEFUL cancel
    :param save_log: called with the process's output, also after a failure
    :raises ScriptFailed: the process failed, timed out or returned a result
        that is not valid
    """
    return runner.execute(
        [package],
        lambda workspace: _script_run(user_data_input, workspace),
        limits,
        cancel_token,
        ScriptCallbacks(save=save_log),
        requested_file=user_data_input.path,
    )


def _script_run(
    user_data_input: UserDataInput, workspace: Workspace
) -> runner.ScriptRun[UserDataOutput]:
    user_data_input = msgspec.structs.replace(
        user_data_input, package_dir=str(workspace.package_dirs[0])
    )
    secrets = secret_masking.secrets_of(
        msgspec.to_builtins(user_data_input),
        names=ShownNames(vnfd=user_data_input.vnfd.public_names),
    )
    return runner.ScriptRun(
        name=f"{user_data_input.path}, {user_data_input.class_name}",
        operation=user_data_input.operation,
        command=("-m", "tacker_cnf.user_data.child"),
        input=base.encode(user_data_input),
        read=protocol.read,
        masker=SecretMasker(secrets),
    )
