"""What leaves this service without its secrets."""

import re
from typing import Any, Final

import msgspec

from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

_SECRET: Final = re.compile(
    r"(password|passwd|pwd|passphrase|secret|secretkey|token|privatekey"
    r"|clientkey|clientkeydata|apikey|kubeconfig)$"
)


def is_secret(name: str) -> bool:
    """Tell by its name whether an attribute holds a secret."""
    return bool(_SECRET.search(re.sub("[-_]", "", name.lower())))


def without_secrets(value: Any) -> Any:
    """Copy a JSON value without the attributes that are secrets.

    A pair of name and value, as the env of a container is, counts as an
    attribute.
    """
    if isinstance(value, dict):
        pair = is_secret(str(value.get("name", "")))
        return {
            name: without_secrets(inner)
            for name, inner in value.items()
            if not is_secret(name) and not (pair and name == "value")
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return value


def instance(value: VnfInstance) -> VnfInstance:
    """Take the secrets out of a VNF instance."""
    info = value.instantiated_vnf_info
    return msgspec.structs.replace(
        value,
        instantiated_vnf_info=info
        and msgspec.structs.replace(
            info, metadata=without_secrets(info.metadata)
        ),
        vim_connection_info={
            key: msgspec.structs.replace(
                connection,
                access_info=without_secrets(connection.access_info),
                interface_info=without_secrets(connection.interface_info),
                extra=without_secrets(connection.extra),
            )
            for key, connection in value.vim_connection_info.items()
        },
    )


def op_occ(value: VnfLcmOpOcc) -> VnfLcmOpOcc:
    """Take the secrets out of what an operation was asked."""
    return msgspec.structs.replace(
        value,
        operation_params=without_secrets(value.operation_params),
        error=value.error and problem(value.error),
    )


def problem(value: ProblemDetails) -> ProblemDetails:
    """Take the secrets out of what a script wants to be told again."""
    return msgspec.structs.replace(
        value,
        user_script_err_handling_data=without_secrets(
            value.user_script_err_handling_data
        ),
    )
