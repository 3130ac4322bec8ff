"""Hide what is not shown in values that leave this service.

In a free-form attribute of a VNF, the value of a hidden name is replaced by
stars; of a VIM connection, hidden names are left out.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf.lcm import shown_names, vim_policy
from tacker_cnf.lcm.shown_names import DEFAULT, HIDDEN, ShownNames
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

VIM_CONNECTIONS: Final = "vimConnectionInfo"


def masked(
    values: Mapping[str, Any], attribute: str, names: ShownNames
) -> dict[str, Any]:
    """Replace the hidden values of a free-form attribute by stars."""
    return {
        name: value
        # null: a name that was removed
        if value is None or names.shows(attribute, name)
        else HIDDEN
        for name, value in values.items()
    }


def shown_only(
    values: Mapping[str, Any], attribute: str, names: ShownNames
) -> dict[str, Any]:
    """Leave out the hidden values of a free-form attribute."""
    return {
        name: value
        for name, value in values.items()
        if names.shows(attribute, name)
    }


def redact_vim_attribute(
    values: Mapping[str, Any],
    attribute: str,
    names: ShownNames = DEFAULT,
) -> dict[str, Any]:
    """Leave out the hidden values of an attribute of a VIM connection."""
    return {
        name: value
        for name, value in values.items()
        if shown_names.is_shown_of_vim(attribute, name)
        or (attribute == "extra" and name in names.operator)
    }


def redact_json(value: Any, names: ShownNames = DEFAULT) -> Any:
    """Redact each free-form attribute in the JSON of SOL003 values, such as a
    request.
    """
    if isinstance(value, Mapping):
        return {
            name: _redact_member(name, inner, names)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_json(inner, names) for inner in value]
    return value


def _redact_member(name: str, value: Any, names: ShownNames) -> Any:
    if not isinstance(value, Mapping):
        return redact_json(value, names)
    if name in shown_names.FREE_FORM:
        return masked(value, name, names)
    if name == VIM_CONNECTIONS:  # its keys are those of the client
        return redact_connections(value, names)
    return redact_json(value, names)


def redact_connections(
    value: Mapping[str, Any], names: ShownNames = DEFAULT
) -> dict[str, Any]:
    """Redact the JSON of vimConnectionInfo."""
    return {
        key: {
            name: redact_vim_attribute(inner, name, names)
            if name in shown_names.VIM_NAMES and isinstance(inner, Mapping)
            else inner
            for name, inner in (connection or {}).items()
        }
        for key, connection in value.items()
    }


@functools.cache
def _fields_of(kind: type[SolType]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a type with names of their own, as (name, name in
    JSON): cached, since reading a type takes longer than redacting a value.
    """
    return tuple(
        (field.name, field.encode_name)
        for field in msgspec.structs.fields(kind)
        if field.encode_name in shown_names.FREE_FORM
        or field.encode_name in shown_names.VIM_NAMES
    )


def _redact_free_form(value: SolType, names: ShownNames) -> dict[str, Any]:
    return {
        name: masked(values, encoded, names)
        for name, encoded in _fields_of(type(value))
        if (values := getattr(value, name))
    }


def instance(value: VnfInstance, names: ShownNames) -> VnfInstance:
    """Redact a VNF instance."""
    info = value.instantiated_vnf_info
    return msgspec.structs.replace(
        value,
        **_redact_free_form(value, names),
        instantiated_vnf_info=info and _info(info, names),
        vim_connection_info=_connections(value.vim_connection_info, names),
    )


def _info(
    value: InstantiatedVnfInfo, names: ShownNames
) -> InstantiatedVnfInfo:
    return msgspec.structs.replace(
        value,
        metadata=masked(value.metadata, shown_names.INFO_METADATA, names),
        vnfc_info=_vnfcs(value.vnfc_info, names),
    )


def _vnfcs(value: Iterable[Vnfc], names: ShownNames) -> tuple[Vnfc, ...]:
    return tuple(
        msgspec.structs.replace(vnfc, **_redact_free_form(vnfc, names))
        for vnfc in value
    )


def _connections(
    value: Mapping[str, VimConnectionInfo], names: ShownNames = DEFAULT
) -> dict[str, VimConnectionInfo]:
    return {
        key: msgspec.structs.replace(
            connection,
            **{
                name: redact_vim_attribute(
                    getattr(connection, name), encoded, names
                )
                for name, encoded in _fields_of(VimConnectionInfo)
            },
        )
        for key, connection in value.items()
    }


def without_vim_secrets(value: Connected) -> Connected:
    """Leave out what is hidden of the VIM connections of a value, and the
    policies of the VIMs.
    """
    connections = vim_policy.without_policies(
        _connections(value.vim_connection_info)
    )
    return msgspec.structs.replace(value, vim_connection_info=connections)


def op_occ(value: VnfLcmOpOcc, names: ShownNames) -> VnfLcmOpOcc:
    """Redact the parameters, the changes and the error of an operation."""
    info = value.changed_info
    triggered = value.modifications_triggered_by_vnf_pkg_change
    return msgspec.structs.replace(
        value,
        operation_params=redact_json(value.operation_params, names),
        error=value.error and problem(value.error, names),
        changed_info=info and _changes(info, names),
        modifications_triggered_by_vnf_pkg_change=triggered
        and msgspec.structs.replace(
            triggered, **_redact_free_form(triggered, names)
        ),
    )


def _changes(
    value: VnfInfoModifications, names: ShownNames
) -> VnfInfoModifications:
    return msgspec.structs.replace(
        value,
        **_redact_free_form(value, names),
        vim_connection_info=_connections(value.vim_connection_info, names),
        vnfc_info_modifications=_vnfcs(value.vnfc_info_modifications, names),
    )


def problem(value: ProblemDetails, names: ShownNames) -> ProblemDetails:
    """Redact a script's data for its next run."""
    data = value.user_script_err_handling_data
    return msgspec.structs.replace(
        value,
        user_script_err_handling_data=data
        and masked(data, shown_names.SCRIPT_DATA, names),
    )
