"""/openapi.json: the description of this API in OpenAPI 3.1.

It is generated from the table of routes and the declarations of the handlers
in ``http.endpoint``.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.api import (
    http,
    middleware,
    openapi_operation,
    openapi_parameters,
    schemas,
)
from tacker_cnf.api.openapi_operation import OperationObject
from tacker_cnf.api.routing import Methods
from tacker_cnf.api.schemas import Schemas
from tacker_cnf.sol import base
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.problem import ProblemDetails

Json = dict[str, Any]

KEYSTONE: Final = "keystone"
#: keyword -> conversion of its text
_CONVERSIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "description": inspect.cleandoc,
    # the end of the text is \Z in Python, $ in ECMA 262
    "pattern": lambda text: text.replace(r"\Z", "$"),
}
_INFO: Final = {
    "title": "tacker_cnf",
    "description": "A VNF manager: lifecycle management by ETSI NFV-SOL 003"
    f" and 002 version 3.3.1 ({Api.LCM_V2.root}) and 2.6.1"
    f" ({Api.LCM_V1.root}), VNF packages, and VIMs. All paths under"
    f" {Api.LCM_V2.root} exist under {middleware.SHORT_ROOT} as well, and those"
    f" under {Api.PACKAGES_V1.root} under {Api.PACKAGES_V2.root}, where the"
    f" header Version has to be {Api.PACKAGES_V2.number}.",
    "version": "2.0.0",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}
_TOKEN: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Auth-Token",
    "description": "A token of Keystone.",
}


class Document:
    """/openapi.json: the description of this API."""

    def __init__(self, table: Mapping[str, Methods]) -> None:
        self._table = table
        self._documents: dict[tuple[str, str], msgspec.Raw] = {}

    @http.endpoint(200, response=dict[str, Any])
    def get(self) -> msgspec.Raw:
        """Read the description of this API in OpenAPI 3.1."""
        settings = http.settings()
        key = (settings.auth_strategy, settings.endpoint or "/")
        if key not in self._documents:
            spec = base.encode(document(self._table, *key))
            self._documents[key] = msgspec.Raw(spec)
        return self._documents[key]


def document(
    table: Mapping[str, Methods], auth_strategy: str, server: str
) -> Json:
    """Return the OpenAPI document of an API.

    :param table: all routes; a further route to the same handler is an alias,
        or HEAD, and is left out
    :param auth_strategy: as in [api]
    :param server: the URL that the paths are relative to
    """
    operations = list(_operations(table))
    known_schemas = _schemas(operations)
    paths: dict[str, Json] = {}
    for operation in operations:
        methods = paths.setdefault(operation.path, {})
        methods[operation.method.lower()] = operation.spec(known_schemas)
    components: Json = {
        "headers": {
            component: openapi_operation.parameter_object(header)
            for component, header in (
                openapi_parameters.COMMON_RESPONSE_HEADERS.items()
            )
        },
        "schemas": _without_python_syntax(known_schemas.components),
    }
    spec = {
        "openapi": "3.1.1",
        "info": _INFO,
        "servers": [{"url": server}],
        "tags": _tags(operations),
        "paths": paths,
        "components": components,
    }
    if auth_strategy == KEYSTONE:
        components["securitySchemes"] = {KEYSTONE: _TOKEN}
        spec["security"] = [{KEYSTONE: []}]
    return spec


def _operations(table: Mapping[str, Methods]) -> Iterator[OperationObject]:
    seen = set()
    for path, methods in table.items():
        for method, handler in methods.items():
            if handler not in seen:
                seen.add(handler)
                yield OperationObject(path, method, handler)


def _schemas(operations: Iterable[OperationObject]) -> Schemas:
    endpoints = [operation.endpoint for operation in operations]
    bodies = [e.body for e in endpoints if e.body is not None]
    responses = [
        kind
        for endpoint in endpoints
        for kind in (endpoint.response, endpoint.preview)
        if kind is not None
    ]
    return schemas.build_schemas(bodies, [ProblemDetails, *responses])


def _without_python_syntax(schema: Any) -> Any:
    """Return a schema with the texts that only Python understands
    converted.
    """
    if isinstance(schema, list):
        return [_without_python_syntax(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _CONVERSIONS[name](value)
        if name in _CONVERSIONS and isinstance(value, str)
        else _without_python_syntax(value)
        for name, value in schema.items()
    }


def _tags(operations: Iterable[OperationObject]) -> list[Json]:
    owners = dict.fromkeys(operation.owner for operation in operations)
    return [
        {"name": owner.__name__, "description": inspect.getdoc(owner) or ""}
        for owner in owners
    ]
