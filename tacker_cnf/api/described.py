"""One operation of the API, in the words of OpenAPI 3.1."""

import http as status_codes
import inspect
import re
from collections.abc import Iterable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, middleware, parameters
from tacker_cnf.api.parameters import Parameter
from tacker_cnf.api.routing import Handler
from tacker_cnf.api.schemas import Schemas
from tacker_cnf.sol.problem import ProblemDetails

Json = dict[str, Any]

HEADERS: Final = "#/components/headers"
_VARIABLES: Final = {
    "id": "The id of the resource.",
    "path": "The path of a file in the package, with slashes.",
}
#: what each operation may answer, by what it has
_ALWAYS: Final = (
    errors.BadRequest,
    errors.VnfmError,
    errors.Unavailable,
)
#: to Accept, or to Version
_WITH_CHOICE: Final = (errors.NotAcceptable,)
_WITH_TOKEN: Final = (errors.Unauthorized, errors.Forbidden)
#: of a key it may be that what was made with it is gone
_WITH_NAME: Final = (errors.NotFound,)
_WITH_BODY: Final = (errors.PayloadTooLarge, errors.UnsupportedMediaType)


class Operation:
    """A method of a path, and the handler that it leads to."""

    def __init__(self, path: str, method: str, handler: Handler) -> None:
        self.path = path
        self.method = method
        self.owner: type = type(handler.__self__)  # type: ignore[attr-defined]
        self.endpoint: http.Endpoint = handler.endpoint  # type: ignore[attr-defined]
        self._name = handler.__name__
        self._summary = inspect.getdoc(handler) or ""

    def told(self, schemas: Schemas) -> Json:
        """Describe it.

        :param schemas: those of its types
        """
        summary, _, description = self._summary.partition("\n\n")
        told: Json = {
            "operationId": f"{self.owner.__name__}.{self._name}",
            "tags": [self.owner.__name__],
            "summary": " ".join(summary.split()),
        }
        if description:
            told["description"] = description
        if middleware.is_public(self.path):
            told["security"] = []
        told["parameters"] = self._parameters()
        if self.endpoint.accepts:
            told["requestBody"] = self._body(schemas)
        told["responses"] = self._responses(schemas)
        return told

    @property
    def _variables(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    def _parameters(self) -> list[Json]:
        versioned = middleware.is_lcm(self.path)
        path = [
            Parameter(
                name=name,
                place="path",
                description=_VARIABLES[name],
                required=True,
                schema={"type": "string", "minLength": 1},
            )
            for name in self._variables
        ]
        fixed = [parameters.VERSION] if versioned else []
        return [
            {"name": one.name, "in": one.place, **value(one)}
            for one in (*path, *fixed, *self.endpoint.takes)
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
        told = {
            str(status): self._success(status, schemas)
            for status in (self.endpoint.status, *self.endpoint.also)
        }
        problem = {http.PROBLEM: {"schema": schemas.answers[ProblemDetails]}}
        for number, reasons in sorted(self._reasons().items()):
            told[str(number)] = {
                "description": " ".join(reasons),
                "headers": self._headers(()),
                "content": problem,
            }
        return told

    def _success(self, status: int, schemas: Schemas) -> Json:
        told: Json = {
            "description": status_codes.HTTPStatus(status).phrase,
            "headers": self._headers(self.endpoint.tells),
        }
        content = self._content(schemas) if status < 300 else {}
        return told | ({"content": content} if content else {})

    def _content(self, schemas: Schemas) -> Json:
        answers, gives = self.endpoint.answers, self.endpoint.gives
        if answers is not None:
            return {
                kind: {"schema": schemas.answers[answers]} for kind in gives
            }
        # what is not JSON has no schema
        return {kind: {} for kind in gives}

    def _headers(self, more: Iterable[Parameter]) -> Json:
        fixed = [
            one.name
            for one in parameters.SIGNED
            if one is parameters.REQUEST_ID or middleware.is_lcm(self.path)
        ]
        shared = {name: {"$ref": f"{HEADERS}/{name}"} for name in fixed}
        return shared | {one.name: value(one) for one in more}

    def _reasons(self) -> dict[int, list[str]]:
        """Tell why it may be refused, by status."""
        public = middleware.is_public(self.path)
        chooses = self.endpoint.gives or middleware.is_lcm(self.path)
        names = self._variables or (
            parameters.IDEMPOTENCY_KEY in self.endpoint.takes
        )
        found = (
            *_ALWAYS,
            *(_WITH_CHOICE if chooses else ()),
            *(() if public else _WITH_TOKEN),
            *(_WITH_NAME if names else ()),
            *(_WITH_BODY if self.endpoint.accepts else ()),
            *self.endpoint.refuses,
        )
        reasons: dict[int, list[str]] = {}
        for error in dict.fromkeys(found):
            sentence = inspect.getdoc(error) or ""
            reasons.setdefault(error.status, []).append(sentence)
        return reasons


def value(one: Parameter) -> Json:
    """Describe a parameter or a header, without its name."""
    return {
        "description": one.description,
        "required": one.required,
        "schema": dict(one.schema),
    }
