"""The fields of the built-in kinds, from the official client's models.

The server drops unknown fields, warns about them or rejects them, see
``fieldValidation``; it rejects a field of a wrong type.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from kubernetes.client import models

from kubernetes_sandbox import errors
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_INDEX = re.compile(r"\[\d+\]")
_DICT = re.compile(r"[Dd]ict(?:\(|\[)str, (.+)(?:\)|\])")
#: Models whose name is not the version and the kind.
_NAMES: Mapping[tuple[str, str], str] = {
    ("v1", "Event"): "CoreV1Event",
    ("v1", "Endpoints"): "V1Endpoints",
    ("events.k8s.io/v1", "Event"): "EventsV1Event",
    (
        "authentication.k8s.io/v1",
        "TokenRequest",
    ): "AuthenticationV1TokenRequest",
}
_SCALARS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
}
_GO_NAMES: Mapping[type, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "bool",
    list: "array",
    dict: "object",
}
_GO_TYPES: Mapping[str, str] = {
    "str": "string",
    "int": "int32",
    "bool": "bool",
    "float": "float64",
}


def _go_name(model: str) -> str:
    return model.removeprefix("V1")


@functools.cache
def fields_of(model: str) -> Mapping[str, str]:
    """Map the JSON names of a model's fields to their types."""
    found = getattr(models, model)
    types: Mapping[str, str] = found.openapi_types
    names: Mapping[str, str] = found.attribute_map
    return {
        names[attribute]: type_name for attribute, type_name in types.items()
    }


@functools.cache
def model_of(api_version: str, kind: str) -> str | None:
    """Return the model of a kind."""
    named = _NAMES.get((api_version, kind))
    if named:
        return named
    version = api_version.rpartition("/")[2]
    model = f"{version[0].upper()}{version[1:]}{kind}"
    return model if hasattr(models, model) else None


class Pruner:
    """Removes and records the unknown fields of an object."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        #: The models on the path to the current value.
        self._owners: list[str] = []
        self.unknown: list[str] = []

    def prune(self, obj: Obj) -> Obj:
        """Copy an object without unknown fields.

        :raises ApiError: a field has a wrong type
        """
        model = model_of(self._kind.api_version, self._kind.kind)
        if model is None:
            return obj
        pruned = self._struct(obj, model, "")
        assert isinstance(pruned, dict)
        return pruned

    def _value(self, value: Any, type_name: str, path: str) -> Any:
        if value is None or type_name == "object":
            return value
        if type_name in _SCALARS:
            return self._scalar(value, type_name, path)
        if found := _LIST.fullmatch(type_name):
            return self._list(value, found[1], path)
        if found := _DICT.fullmatch(type_name):
            return self._map(value, found[1], path)
        if hasattr(models, type_name):
            return self._struct(value, type_name, path)
        return value

    def _list(self, value: Any, type_name: str, path: str) -> Any:
        self._expect(value, list, f"[]{type_name}", path)
        return [
            self._value(item, type_name, f"{path}[{index}]")
            for index, item in enumerate(value)
        ]

    def _map(self, value: Any, type_name: str, path: str) -> Any:
        self._expect(value, dict, "map", path)
        return {
            key: self._value(item, type_name, f"{path}.{key}")
            if hasattr(models, type_name)
            else self._value(item, type_name, path)
            for key, item in value.items()
        }

    def _struct(self, value: Any, model: str, path: str) -> Any:
        self._expect(value, dict, f"v1.{_go_name(model)}", path)
        fields = fields_of(model)
        kept: Obj = {}
        self._owners.append(model)
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            if key not in fields:
                self.unknown.append(inner)
            elif inner == "metadata.managedFields":
                kept[key] = item
            else:
                kept[key] = self._value(item, fields[key], inner)
        self._owners.pop()
        return kept

    def _scalar(self, value: Any, type_name: str, path: str) -> Any:
        fits = isinstance(value, _SCALARS[type_name])
        if isinstance(value, bool):
            fits = type_name == "bool"
        if not fits:
            self._reject(value, _GO_TYPES[type_name], path)
        return value

    def _expect(
        self, value: Any, kind: type, type_name: str, path: str
    ) -> None:
        if not isinstance(value, kind):
            self._reject(value, type_name, path)

    def _reject(self, value: Any, type_name: str, path: str) -> None:
        shown = _GO_NAMES.get(type(value), "null")
        if type_name.startswith("int") and isinstance(value, float):
            shown += f" {value}"
        kind = self._kind
        owner = _go_name(self._owners[-1]) if self._owners else kind.kind
        place = _INDEX.sub("", path)
        raise errors.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a'
            f" {kind.kind}: json: cannot unmarshal {shown} into Go struct"
            f" field {owner}.{place} of type {type_name}"
        )


def _reject_object(kind: Kind, why: str) -> errors.ApiError:
    return errors.bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a'
        f" {kind.kind}: {why}"
    )


def check_fields(
    kind: Kind,
    obj: Obj,
    validation: str,
    warn: Callable[[str], None],
    reject: Callable[[Kind, str], errors.ApiError] = _reject_object,
) -> Obj:
    """Copy an object without unknown fields, see fieldValidation.

    :raises ApiError: a field is unknown and validation is Strict
    """
    if kind.custom:
        return obj
    pruner = Pruner(kind)
    pruned = pruner.prune(obj)
    messages = [f'unknown field "{path}"' for path in pruner.unknown]
    if messages and validation == "Strict":
        raise reject(kind, f"strict decoding error: {', '.join(messages)}")
    if validation != "Ignore":
        for warning in messages:
            warn(warning)
    return pruned


def check_applied(kind: Kind, config: Obj) -> Obj:
    """Check an applied configuration for unknown fields.

    :raises ApiError: 500, a field is unknown, in every validation mode
    """
    if kind.custom:
        return config
    pruner = Pruner(kind)
    pruned = pruner.prune(config)
    if pruner.unknown:
        metadata = config.get("metadata") or {}
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        messages = [
            f".{path}: field not declared in schema" for path in pruner.unknown
        ]
        listed = "\n  ".join(
            messages if len(messages) == 1 else ["errors:", *messages]
        )
        raise errors.ApiError(
            500,
            "",
            f"failed to create typed patch object ({name};"
            f" {kind.api_version}, Kind={kind.kind}): {listed}",
        )
    return pruned
