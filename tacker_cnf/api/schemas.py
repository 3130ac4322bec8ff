"""The JSON schemas of request bodies and of answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from tacker_cnf.sol import strict

Json = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
#: of an object that requests and answers have
_INPUT: Final = "-Input"


class Schemas(NamedTuple):
    """How types are referred to, and the schemas that they refer to."""

    bodies: Mapping[Any, Json]
    answers: Mapping[Any, Json]
    components: Json


def of(bodies: Iterable[Any], answers: Iterable[Any]) -> Schemas:
    """Make the schemas of types.

    In a request an optional attribute may be null, and in an answer it is
    left out: an object that both have has a schema for each.
    """
    sent, told = list(dict.fromkeys(bodies)), list(dict.fromkeys(answers))
    refs, components = msgspec.json.schema_components(told, ref_template=_REF)
    sent_refs, inputs = _inputs(sent, components)
    return Schemas(
        dict(zip(sent, sent_refs, strict=True)),
        dict(zip(told, refs, strict=True)),
        dict(sorted((inputs | components).items())),
    )


def _inputs(sent: list[Any], answers: Json) -> tuple[list[Json], Json]:
    """Make the schemas of request bodies, beside those of answers."""
    found: dict[type, inspect.StructType] = {}
    for kind in sent:
        _find_structs(inspect.type_info(kind), found)
    refs, components = msgspec.json.schema_components(
        [*sent, *found], ref_template=_REF + _INPUT
    )
    names = [_name(ref) for ref in refs[len(sent) :]]
    for name, info in zip(names, found.values(), strict=True):
        for field in info.fields:
            if strict.drops_null(field):
                _allow_null(components[name], field.encode_name)
    own = _own(components, answers)
    text = msgspec.json.encode([refs[: len(sent)], components]).decode()
    for name in components.keys() - own:
        text = text.replace(f'/{name}{_INPUT}"', f'/{name}"')
    refs, components = msgspec.json.decode(text)
    return refs, {
        name + _INPUT * (name in own): schema
        for name, schema in components.items()
    }


def _own(inputs: Json, answers: Json) -> set[str]:
    """Return the names of objects that requests and answers have, and that
    differ, or refer to one that does.
    """
    texts = {
        name: msgspec.json.encode(inputs[name]).decode()
        for name in inputs.keys() & answers.keys()
    }
    own = {
        name
        for name, text in texts.items()
        if msgspec.json.decode(text.replace(f'{_INPUT}"', '"'))
        != answers[name]
    }
    while more := {
        name
        for name, text in texts.items()
        if name not in own and any(f'/{o}{_INPUT}"' in text for o in own)
    }:
        own |= more
    return own


def _name(ref: Json) -> str:
    name: str = ref["$ref"].rpartition("/")[2]
    return name.removesuffix(_INPUT)


def _allow_null(schema: Json, attribute: str) -> None:
    one = schema["properties"].pop(attribute)
    default = {"default": one.pop("default")} if "default" in one else {}
    nothing = {"type": "null"}
    schema["properties"][attribute] = {"anyOf": [one, nothing]} | default


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
