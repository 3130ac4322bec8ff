"""Read the identity and the modifiable attributes of a VNF from its node."""

from typing import Any, Final

from tacker_cnf.vnfd.definitions import Definitions
from tacker_cnf.vnfd.topology import NodeTemplate
from tacker_cnf.vnfd.values import Value

MAX_NESTING: Final = 16
MAX_DEFAULTS: Final = 10_000
#: SOL001 name -> SOL003 name (4.4.1 vnfConfigurableProperties)
STANDARD_PROPERTIES: Final = {
    "is_autoscale_enabled": "isAutoscaleEnabled",
    "is_autoheal_enabled": "isAutohealEnabled",
}


def identity_of(vnf: NodeTemplate) -> dict[str, Any]:
    """Return the identifying attributes of a Vnfd, by name.

    :raises InvalidPackage: a required one is missing
    """
    return {
        "id": _required(vnf, "descriptor_id"),
        "provider": _required(vnf, "provider"),
        "product_name": _required(vnf, "product_name"),
        "software_version": _required(vnf, "software_version"),
        "descriptor_version": _required(vnf, "descriptor_version"),
        "product_info_name": vnf.property("product_info_name").text_or_none(),
        "product_info_description": vnf.property(
            "product_info_description",
        ).text_or_none(),
        "vnfm_info": vnf.property("vnfm_info").texts(),
        "localization_languages": vnf.property(
            "localization_languages",
        ).texts(),
        "default_localization_language": vnf.property(
            "default_localization_language",
        ).text_or_none(),
    }


def modifiable_of(vnf: NodeTemplate) -> dict[str, Any]:
    """Return the defaults of attributes that a PATCH may set, by name."""
    attributes = _defaults(vnf, "modifiable_attributes")
    return {
        "configurable_properties": _check_size(_configurable(vnf), vnf),
        "extensions": _check_size(_map_of(vnf, attributes, "extensions"), vnf),
        "metadata": _check_size(_map_of(vnf, attributes, "metadata"), vnf),
    }


def _required(vnf: NodeTemplate, name: str) -> str:
    value = vnf.property(name)
    if value.absent or not value.text():
        raise value.fault("the property is required and not set")
    if len(value.text()) > 255:
        raise value.fault("the text is longer than 255 characters")
    return value.text()


def _configurable(vnf: NodeTemplate) -> dict[str, Any]:
    """Return the configurable properties as a flat map, as in SOL003."""
    written = _defaults(vnf, "configurable_properties")
    additional = _map_of(vnf, written, "additional_configurable_properties")
    standard = {
        STANDARD_PROPERTIES.get(name, name): value
        for name, value in written.items()
        if name != "additional_configurable_properties"
    }
    return standard | additional


def _map_of(
    vnf: NodeTemplate, written: dict[str, Any], name: str
) -> dict[str, Any]:
    return _map(written.get(name), vnf.value, name)


def _map(found: Any, place: Value, name: str) -> dict[str, Any]:
    if not isinstance(found, (dict, type(None))):
        raise place.fault(f"{name}: a map is expected")
    return found or {}


def _check_size(found: dict[str, Any], vnf: NodeTemplate) -> dict[str, Any]:
    """Reject values that are too large with shared parts counted each time."""
    number = 0
    rest: list[dict[str, Any] | list[Any]] = [found]
    while rest:
        value = rest.pop()
        inner = value.values() if isinstance(value, dict) else value
        number += len(inner)
        if number > MAX_DEFAULTS:
            raise vnf.value.fault(
                f"modifiable attributes have more than {MAX_DEFAULTS} values",
            )
        rest.extend(item for item in inner if isinstance(item, (dict, list)))
    return found


def _defaults(vnf: NodeTemplate, name: str) -> dict[str, Any]:
    """Return a property with its defaults, including those of data types."""
    found: dict[str, Any] = {}
    for definition in reversed(list(vnf.type_definitions())):
        declared = definition.get("properties", name)
        default = _default_of(vnf.definitions, declared, 0)
        found |= _map(default, declared, "default")
    given = vnf.value.get("properties", name)
    return found | {key: item.raw for key, item in given.entries().items()}


def _default_of(definitions: Definitions, declared: Value, depth: int) -> Any:
    if depth > MAX_NESTING:
        raise declared.fault("the data types are nested too deep")
    default = declared.get("default")
    if not default.absent:
        return default.raw
    kind = declared.get("type").text_or_none()
    if kind is None or kind not in definitions.types["data_types"]:
        return None
    found: dict[str, Any] = {}
    for _, definition in reversed(
        list(definitions.lineage("data_types", kind))
    ):
        for name, inner in definition.get("properties").entries().items():
            value = _default_of(definitions, inner, depth + 1)
            if value is not None:
                found[name] = value
    return found or None
