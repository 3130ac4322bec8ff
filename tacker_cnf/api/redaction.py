"""What leaves this service without its secrets."""

import re
from typing import Any, Final

import msgspec

from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

_SECRET: Final = re.compile(
    r"(password|passwd|passphrase|secret|token|privatekey|clientkey)$"
)


def is_secret(name: str) -> bool:
    """Tell by its name whether an attribute holds a secret."""
    return bool(_SECRET.search(re.sub("[-_]", "", name.lower())))


def without_secrets(value: Any) -> Any:
    """Copy a JSON value without the attributes that are secrets."""
    if isinstance(value, dict):
        return {
            name: without_secrets(inner)
            for name, inner in value.items()
            if not is_secret(name)
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return value


def instance(value: VnfInstance) -> VnfInstance:
    """Take the secrets out of a VNF instance."""
    return msgspec.structs.replace(
        value,
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
        value, operation_params=without_secrets(value.operation_params)
    )
