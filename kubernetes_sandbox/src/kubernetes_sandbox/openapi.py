"""The OpenAPI documents that clients need.

kubectl reads from them whether the server validates fields, and how lists
merge; the fields come from the models of the official client.
"""

import functools
import re
from typing import Any

from kubernetes.client import models

from kubernetes_sandbox.kinds import Kind, KindRegistry
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.schema import fields_of, model_of

_LIST = re.compile(r"[Ll]ist\[(.+)\]")
_DICT = re.compile(r"[Dd]ict(?:\(|\[)str, (.+)(?:\)|\])")
_SCALARS = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
}
_FIELD_VALIDATION = {
    "name": "fieldValidation",
    "in": "query",
    "schema": {"type": "string", "uniqueItems": True},
}


def _type(type_name: str, needed: set[str]) -> Obj:
    if type_name in _SCALARS:
        return dict(_SCALARS[type_name])
    if found := _LIST.fullmatch(type_name):
        return {"type": "array", "items": _type(found[1], needed)}
    if found := _DICT.fullmatch(type_name):
        inner = _type(found[1], needed)
        return {"type": "object", "additionalProperties": inner}
    if hasattr(models, type_name):
        needed.add(type_name)
        return {"$ref": f"#/components/schemas/{type_name}"}
    return {"type": "object"}


def _schema(model: str, needed: set[str]) -> Obj:
    properties = {
        name: _type(type_name, needed)
        for name, type_name in fields_of(model).items()
    }
    return {"type": "object", "properties": properties}


def _identity(kind: Kind) -> Obj:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _path(kind: Kind) -> str:
    root = (
        f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    )
    space = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"{root}{space}/{kind.plural}/{{name}}"


def document(kinds: list[Kind]) -> Obj:
    """Build the OpenAPI v3 document of one group and version."""
    schemas: dict[str, Any] = {}
    field_paths: Obj = {}
    needed: set[str] = set()
    for kind in kinds:
        model = model_of(kind.api_version, kind.kind)
        name = model or f"{kind.group}.{kind.version}.{kind.kind}"
        schema: Obj = {"type": "object"}
        if model:
            schema = _schema(model, needed)
        identity = _identity(kind)
        schema["x-kubernetes-group-version-kind"] = [identity]
        schemas[name] = schema
        operation = {
            "parameters": [_FIELD_VALIDATION],
            "x-kubernetes-group-version-kind": identity,
            "responses": {"200": {"description": "OK"}},
        }
        field_paths[_path(kind)] = {"patch": operation, "put": operation}
    _resolve(schemas, needed)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": field_paths,
        "components": {"schemas": schemas},
    }


def _resolve(schemas: dict[str, Any], needed: set[str]) -> None:
    while missing := needed - schemas.keys():
        for model in missing:
            schemas[model] = _schema(model, needed)


@functools.cache
def _sort_key(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(kinds: KindRegistry) -> Obj:
    """Return the document of /openapi/v3."""
    field_paths = {}
    for group, versions in kinds.groups().items():
        for version in versions:
            place = _sort_key(group, version)
            url = f"/openapi/v3/{place}?hash=1"
            field_paths[place] = {"serverRelativeURL": url}
    return {"paths": field_paths}


def get_document(kinds: KindRegistry, path: str) -> Obj | None:
    """Return a document below /openapi/v3; None if there is none."""
    rest = path.removeprefix("/openapi/v3").strip("/")
    if not rest:
        return index(kinds)
    parts = rest.split("/")
    if parts[0] == "api" and len(parts) == 2:
        found = kinds.in_version("", parts[1])
    elif parts[0] == "apis" and len(parts) == 3:
        found = kinds.in_version(parts[1], parts[2])
    else:
        return None
    return document(found) if found else None


def version_2() -> Obj:
    """Return the document of /openapi/v2, which is empty: v3 has all."""
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": {},
        "definitions": {},
    }
