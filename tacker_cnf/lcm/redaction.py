"""Remove secrets from values that leave this service."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf.lcm.secret_names import (
    is_access,
    is_secret,
    is_secret_access,
)
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant
from tacker_cnf.sol.lcm_request import (
    VnfcInfoModifications,
    VnfInfoModifications,
)
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    VnfcInfo,
    VnfInstance,
)
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

Vnfc = TypeVar("Vnfc", VnfcInfo, VnfcInfoModifications)
Connected = TypeVar("Connected", VnfInstance, Grant)

SecretPredicate = Callable[[str], bool]


def without_secrets(value: Any, is_hidden: SecretPredicate = is_secret) -> Any:
    """Copy a JSON value without the attributes that are secrets.

    A pair of name and value, such as an entry of a container's env, counts as
    an attribute. Of an accessInfo only public attributes remain.

    :param is_hidden: whether an attribute of the value is a secret
    """
    if isinstance(value, dict):
        secrets = secrets_in(value, is_hidden)
        return {
            name: without_secrets(inner, predicate_below(name))
            for name, inner in value.items()
            if name not in secrets
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner, is_hidden) for inner in value]
    return value


def redact_access_info(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public attributes of an accessInfo."""
    shown: dict[str, Any] = without_secrets(dict(value), is_secret_access)
    return shown


def secrets_in(
    value: Mapping[str, Any], is_hidden: SecretPredicate
) -> frozenset[str]:
    """Return the names of the attributes that are secrets."""
    is_pair = is_secret_pair(value)
    return frozenset(
        name
        for name in value
        if is_hidden(name) or (is_pair and name == "value")
    )


def predicate_below(name: str) -> SecretPredicate:
    """Return which attributes are secrets in the value of an attribute."""
    return is_secret_access if is_access(name) else is_secret


def is_secret_pair(value: Mapping[str, Any]) -> bool:
    """Check whether a value is a name-value pair that contains a secret."""
    return is_secret(str(value.get("name", "")))


#: attributes with arbitrary content from clients, packages and scripts
_FREE_FORM: Final = ("vnf_configurable_properties", "extensions", "metadata")


def _redact_free_form(value: SolType) -> dict[str, Any]:
    return {name: without_secrets(getattr(value, name)) for name in _FREE_FORM}


def instance(value: VnfInstance) -> VnfInstance:
    """Remove the secrets from a VNF instance."""
    info = value.instantiated_vnf_info
    return msgspec.structs.replace(
        value,
        **_redact_free_form(value),
        instantiated_vnf_info=info and _info(info),
        vim_connection_info=_connections(value.vim_connection_info),
    )


def _info(value: InstantiatedVnfInfo) -> InstantiatedVnfInfo:
    return msgspec.structs.replace(
        value,
        metadata=without_secrets(value.metadata),
        vnfc_info=_vnfcs(value.vnfc_info),
    )


def _vnfcs(value: Iterable[Vnfc]) -> tuple[Vnfc, ...]:
    return tuple(
        msgspec.structs.replace(
            vnfc,
            vnfc_configurable_properties=without_secrets(
                vnfc.vnfc_configurable_properties
            ),
        )
        for vnfc in value
    )


def _connections(
    value: Mapping[str, VimConnectionInfo],
) -> dict[str, VimConnectionInfo]:
    return {
        key: msgspec.structs.replace(
            connection,
            access_info=redact_access_info(connection.access_info),
            interface_info=without_secrets(connection.interface_info),
            extra=without_secrets(connection.extra),
        )
        for key, connection in value.items()
    }


def without_vim_secrets(value: Connected) -> Connected:
    """Remove the secrets from the VIM connections of a value."""
    connections = _connections(value.vim_connection_info)
    return msgspec.structs.replace(value, vim_connection_info=connections)


def op_occ(value: VnfLcmOpOcc) -> VnfLcmOpOcc:
    """Remove the secrets from the parameters and changes of an operation."""
    info = value.changed_info
    triggered = value.modifications_triggered_by_vnf_pkg_change
    return msgspec.structs.replace(
        value,
        operation_params=without_secrets(value.operation_params),
        error=value.error and problem(value.error),
        changed_info=info and _changes(info),
        modifications_triggered_by_vnf_pkg_change=triggered
        and msgspec.structs.replace(triggered, **_redact_free_form(triggered)),
    )


def _changes(value: VnfInfoModifications) -> VnfInfoModifications:
    return msgspec.structs.replace(
        value,
        **_redact_free_form(value),
        vim_connection_info=_connections(value.vim_connection_info),
        vnfc_info_modifications=_vnfcs(value.vnfc_info_modifications),
    )


def problem(value: ProblemDetails) -> ProblemDetails:
    """Remove the secrets from a script's data for its next run."""
    return msgspec.structs.replace(
        value,
        user_script_err_handling_data=without_secrets(
            value.user_script_err_handling_data
        ),
    )
