"""The JSON schemas of request and response bodies."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from tacker_cnf.sol import strict

Json = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
#: suffix of a schema that requests use and that differs in responses
_INPUT_SUFFIX: Final = "-Input"


class Schemas(NamedTuple):
    """The references of types, and the schemas that they refer to."""

    bodies: Mapping[Any, Json]
    response: Mapping[Any, Json]
    components: Json


def build_schemas(bodies: Iterable[Any], response: Iterable[Any]) -> Schemas:
    """Build the schemas of types.

    An optional attribute may be null in a request and is left out of a
    response: a type that occurs in both has a schema for each.
    """
    request_types, response_types = (
        list(dict.fromkeys(bodies)),
        list(dict.fromkeys(response)),
    )
    refs, components = msgspec.json.schema_components(
        response_types, ref_template=_REF
    )
    request_refs, inputs = _inputs(request_types, components)
    return Schemas(
        dict(zip(request_types, request_refs, strict=True)),
        dict(zip(response_types, refs, strict=True)),
        dict(sorted((inputs | components).items())),
    )


def _inputs(
    request_types: list[Any], response: Json
) -> tuple[list[Json], Json]:
    """Build the schemas of request bodies; those that equal the schema of the
    same type in responses have its name.
    """
    found: dict[type, inspect.StructType] = {}
    for kind in request_types:
        _find_structs(inspect.type_info(kind), found)
    refs, components = msgspec.json.schema_components(
        [*request_types, *found], ref_template=_REF + _INPUT_SUFFIX
    )
    names = [_name(ref) for ref in refs[len(request_types) :]]
    for name, info in zip(names, found.values(), strict=True):
        for field in info.fields:
            if strict.is_null_ignored(field):
                _allow_null(components[name], field.encode_name)
    differing = _differing_schemas(components, response)
    text = msgspec.json.encode(
        [refs[: len(request_types)], components]
    ).decode()
    for name in components.keys() - differing:
        text = text.replace(f'/{name}{_INPUT_SUFFIX}"', f'/{name}"')
    refs, components = msgspec.json.decode(text)
    return refs, {
        name + _INPUT_SUFFIX * (name in differing): schema
        for name, schema in components.items()
    }


def _differing_schemas(inputs: Json, response: Json) -> set[str]:
    """Return the names of schemas that occur in requests and responses and
    differ, or refer to one that does.
    """
    texts = {
        name: msgspec.json.encode(inputs[name]).decode()
        for name in inputs.keys() & response.keys()
    }
    differing = {
        name
        for name, text in texts.items()
        if msgspec.json.decode(text.replace(f'{_INPUT_SUFFIX}"', '"'))
        != response[name]
    }
    while more := {
        name
        for name, text in texts.items()
        if name not in differing
        and any(f'/{o}{_INPUT_SUFFIX}"' in text for o in differing)
    }:
        differing |= more
    return differing


def _name(ref: Json) -> str:
    name: str = ref["$ref"].rpartition("/")[2]
    return name.removesuffix(_INPUT_SUFFIX)


def _allow_null(schema: Json, attribute: str) -> None:
    value = schema["properties"].pop(attribute)
    default = {"default": value.pop("default")} if "default" in value else {}
    null = {"type": "null"}
    schema["properties"][attribute] = {"anyOf": [value, null]} | default


def _find_structs(kind: Any, found: dict[type, inspect.StructType]) -> None:
    for one in strict.alternatives(kind):
        if isinstance(one, inspect.StructType) and one.cls not in found:
            found[one.cls] = one
            for field in one.fields:
                _find_structs(field.type, found)
        elif isinstance(one, inspect.DictType):
            _find_structs(one.value_type, found)
        elif isinstance(one, inspect.CollectionType | inspect.VarTupleType):
            _find_structs(one.item_type, found)
