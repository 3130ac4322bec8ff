"""Values of SOL003 as objects whose attributes are in snake case."""

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from tacker_cnf.user_data.base import Json

#: attributes whose names are not those of SOL003
FREE_FORM: Final = frozenset(
    {
        "access_info",
        "additional_params",
        "extensions",
        "extra",
        "interface_info",
        "metadata",
        "vnf_configurable_properties",
    }
)
#: attributes that are lists
LISTS: Final = frozenset(
    {
        "addresses",
        "cp_config",
        "cp_protocol_data",
        "cp_protocol_info",
        "ext_cp_info",
        "ext_cps",
        "ext_link_ports",
        "ext_managed_virtual_link_info",
        "ext_managed_virtual_links",
        "ext_virtual_link_info",
        "ext_virtual_links",
        "fixed_addresses",
        "ip_addresses",
        "scale_status",
        "storage_resource_ids",
        "vim_connection_info",
        "virtual_storage_resource_info",
        "vnf_link_ports",
        "vnf_virtual_link_resource_info",
        "vnfc_cp_info",
        "vnfc_info",
        "vnfc_instance_id",
        "vnfc_resource_info",
    }
)
#: the maps of version 2 that are lists in version 1 -> attribute of the key
MAPS: Final = {"cp_config": "cp_instance_id", "vim_connection_info": "id"}
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class SolObject(SimpleNamespace):
    """A value of SOL003; an attribute that is not set is None, [] or {}."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in LISTS:
            return []
        return {} if name in FREE_FORM else None


def from_json(value: Json) -> SolObject:
    """Convert a JSON object of version 2 of the API."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = _WORD.sub("_", key).lower()
        found[name] = inner if name in FREE_FORM else _converted(name, inner)
    return SolObject(**found)


def _converted(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and name in MAPS:
        value = [
            {MAPS[name]: key, **inner}
            for key, inner in value.items()
            if inner is not None
        ]
    if isinstance(value, list | tuple):
        return [_converted("", item) for item in value]
    return from_json(dict(value)) if isinstance(value, Mapping) else value
