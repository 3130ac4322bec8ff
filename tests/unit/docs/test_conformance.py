"""The check of responses against the OpenAPI document finds deviations."""

from typing import Any

import testtools
import webob

from tests.fixtures.conformance import Conformance

DOCUMENT = {
    "components": {
        "headers": {"Request-Id": {"required": True}},
        "schemas": {
            "Thing": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            },
            "ProblemDetails": {"type": "object", "required": ["status"]},
        },
    },
    "paths": {
        "/vnflcm/v2/things/{id}": {
            "get": {
                "responses": {
                    "200": {
                        "headers": {
                            "Request-Id": {
                                "$ref": "#/components/headers/Request-Id"
                            }
                        },
                        "content": {
                            "application/json": {
                                "schema": {
                                    "$ref": "#/components/schemas/Thing"
                                }
                            }
                        },
                    },
                    "204": {},
                }
            }
        }
    },
}
GOOD: dict[str, Any] = {
    "status": 200,
    "json": {"id": "x"},
    "headers": {"Request-Id": "1"},
}


def faults(
    path: str = "/vnflcm/v2/things/x", method: str = "GET", **other: Any
) -> str:
    """Return the faults of a response that deviates from GOOD."""
    values = GOOD | other
    response = webob.Response(status=values["status"])
    response.content_type = values.get("type", "application/json")
    response.json_body = values["json"]
    response.headers.update(values["headers"])
    request = webob.Request.blank(path, method=method)
    return "; ".join(Conformance(DOCUMENT).find_faults(request, response))


class ConformanceTest(testtools.TestCase):
    def test_a_documented_response_is_valid(self) -> None:
        self.assertEqual("", faults())
        self.assertEqual("", faults("/v2/things/x"))
        self.assertEqual("", faults(method="HEAD"))

    def test_an_undocumented_status_is_found(self) -> None:
        self.assertEqual("status 201 is not documented", faults(status=201))

    def test_a_missing_header_is_found(self) -> None:
        self.assertEqual("there is no header Request-Id", faults(headers={}))

    def test_an_undocumented_media_type_is_found(self) -> None:
        self.assertEqual("its type is text/plain", faults(type="text/plain"))

    def test_a_body_that_breaks_its_schema_is_found(self) -> None:
        self.assertIn('"id" is a required property', faults(json={}))

    def test_an_undocumented_body_is_found(self) -> None:
        self.assertEqual("there is a body", faults(status=204))

    def test_undocumented_operations_may_only_be_rejected(self) -> None:
        problem: dict[str, Any] = {
            "status": 404,
            "type": "application/problem+json",
        }
        self.assertEqual("", faults("/no", json=problem, **problem))
        self.assertIn("status 200", faults("/no"))
        self.assertIn("its type", faults("/no", status=404))
