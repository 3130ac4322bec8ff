"""Describe one operation of the API in OpenAPI 3.1."""

import http as status_codes
import inspect
import re
from collections.abc import Iterable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, middleware, openapi_parameters
from tacker_cnf.api.openapi_parameters import Parameter
from tacker_cnf.api.routing import Handler
from tacker_cnf.api.schemas import Schemas
from tacker_cnf.sol.problem import ProblemDetails

Json = dict[str, Any]

HEADERS: Final = "#/components/headers"
_PATH_VARIABLES: Final = {
    "id": "The id of the resource.",
    "path": "The path of a file in the package, with slashes.",
}
#: errors of all operations
_COMMON_ERRORS: Final = (
    errors.BadRequest,
    errors.VnfmError,
    errors.Unavailable,
)
#: errors of operations that evaluate Accept or Version
_NEGOTIATION_ERRORS: Final = (errors.NotAcceptable,)
_AUTH_ERRORS: Final = (errors.Unauthorized, errors.Forbidden)
#: also with an Idempotency-Key: its resource may have been deleted
_LOOKUP_ERRORS: Final = (errors.NotFound,)
_BODY_ERRORS: Final = (errors.PayloadTooLarge, errors.UnsupportedMediaType)


class OperationObject:
    """A method of a path, and its handler."""

    def __init__(self, path: str, method: str, handler: Handler) -> None:
        self.path = path
        self.method = method
        self.owner: type = type(handler.__self__)  # type: ignore[attr-defined]
        self.endpoint: http.Endpoint = handler.endpoint  # type: ignore[attr-defined]
        self._name = handler.__name__
        self._summary = inspect.getdoc(handler) or ""

    def spec(self, schemas: Schemas) -> Json:
        """Return the Operation Object.

        :param schemas: the schemas of the types it uses
        """
        summary, _, description = self._summary.partition("\n\n")
        spec: Json = {
            "operationId": f"{self.owner.__name__}.{self._name}",
            "tags": [self.owner.__name__],
            "summary": " ".join(summary.split()),
        }
        if description:
            spec["description"] = description
        if middleware.is_public(self.path):
            spec["security"] = []
        spec["parameters"] = self._parameters()
        if self.endpoint.accepts:
            spec["requestBody"] = self._body(schemas)
        spec["responses"] = self._responses(schemas)
        return spec

    @property
    def _path_variables(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    def _parameters(self) -> list[Json]:
        path = [
            Parameter(
                name=name,
                location="path",
                description=_PATH_VARIABLES[name],
                required=True,
                schema={"type": "string", "minLength": 1},
            )
            for name in self._path_variables
        ]
        api = middleware.api_of(self.path)
        version = api and openapi_parameters.VERSIONS.get(api)
        fixed = [version] if version else []
        return [
            {"name": p.name, "in": p.location, **parameter_object(p)}
            for p in (*path, *fixed, *self.endpoint.parameters)
        ]

    def _body(self, schemas: Schemas) -> Json:
        body = self.endpoint.body
        schema = {} if body is None else schemas.bodies[body]
        content = {
            kind: {"schema": schema} if schema else {}
            for kind in self.endpoint.accepts
        }
        return {"required": True, "content": content}

    def _responses(self, schemas: Schemas) -> Json:
        spec = {
            str(status): self._success(status, schemas)
            for status in (self.endpoint.status, *self.endpoint.other_statuses)
        }
        if self.endpoint.preview:
            spec["200"] = self._preview(self.endpoint.preview, schemas)
        problem = {http.PROBLEM: {"schema": schemas.response[ProblemDetails]}}
        for number, descriptions in sorted(self._error_descriptions().items()):
            spec[str(number)] = {
                "description": " ".join(descriptions),
                "headers": self._headers(()),
                "content": problem,
            }
        return spec

    def _success(self, status: int, schemas: Schemas) -> Json:
        spec: Json = {
            "description": status_codes.HTTPStatus(status).phrase,
            "headers": self._headers(self.endpoint.response_headers),
        }
        content = self._content(schemas) if status < 300 else {}
        return spec | ({"content": content} if content else {})

    def _preview(self, kind: type, schemas: Schemas) -> Json:
        return {
            "description": "The plan, with dry_run=true",
            "headers": self._headers(()),
            "content": {
                http.JSON: {"schema": schemas.response[kind]},
                http.TEXT: {},
            },
        }

    def _content(self, schemas: Schemas) -> Json:
        response, produces = self.endpoint.response, self.endpoint.produces
        if response is not None:
            schema = {"schema": schemas.response[response]}
            # text for people has no schema
            return {k: {} if k == http.TEXT else schema for k in produces}
        # a body that is not JSON has no schema
        return {kind: {} for kind in produces}

    def _headers(self, extra: Iterable[Parameter]) -> Json:
        fixed = [openapi_parameters.REQUEST_ID]
        if api := middleware.version_of(self.path):
            fixed.append(openapi_parameters.RESPONSE_VERSIONS[api])
        if middleware.api_of(self.path) in middleware.WITHOUT_RANGES:
            fixed.append(openapi_parameters.ACCEPT_RANGES)
        shared = {
            header.name: {"$ref": f"{HEADERS}/{component}"}
            for component, header in (
                openapi_parameters.COMMON_RESPONSE_HEADERS.items()
            )
            if header in fixed
        }
        return shared | {
            header.name: parameter_object(header) for header in extra
        }

    def _error_descriptions(self) -> dict[int, list[str]]:
        """Return the descriptions of the errors, by status."""
        public = middleware.is_public(self.path)
        negotiates = self.endpoint.produces or middleware.api_of(self.path)
        names = self._path_variables or (
            openapi_parameters.IDEMPOTENCY_KEY in self.endpoint.parameters
        )
        found = (
            *_COMMON_ERRORS,
            *(_NEGOTIATION_ERRORS if negotiates else ()),
            *(() if public else _AUTH_ERRORS),
            *(_LOOKUP_ERRORS if names else ()),
            *(_BODY_ERRORS if self.endpoint.accepts else ()),
            *self.endpoint.error_types,
        )
        descriptions: dict[int, list[str]] = {}
        for error in dict.fromkeys(found):
            sentence = inspect.getdoc(error) or ""
            descriptions.setdefault(error.status, []).append(sentence)
        return descriptions


def parameter_object(parameter: Parameter) -> Json:
    """Return the description of a parameter or a header, without its name."""
    return {
        "description": parameter.description,
        "required": parameter.required,
        "schema": dict(parameter.schema),
    }
