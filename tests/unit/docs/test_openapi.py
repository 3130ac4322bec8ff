"""The published OpenAPI document equals the generated one, and is valid."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import schemathesis
import testtools

API_REF = Path(__file__).parents[3] / "api-ref"


def load_generator() -> ModuleType:
    """Import the generator of the document."""
    path = API_REF / "openapi.py"
    spec = importlib.util.spec_from_file_location("api_ref_openapi", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def references(node: Any) -> Iterator[str]:
    """Yield the references in a document."""
    if isinstance(node, dict):
        found = node.get("$ref")
        if isinstance(found, str):
            yield found
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from references(item)


class OpenApiTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.text = load_generator().text()
        self.document = json.loads(self.text)

    def operations(self) -> Iterator[tuple[str, str, Any]]:
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                yield path, method, operation

    def test_the_published_document_is_the_generated_one(self) -> None:
        published = (API_REF / "source" / "openapi.json").read_text()
        self.assertEqual(
            self.text, published, "generate it: tox -e genopenapi"
        )

    def test_the_document_is_valid_openapi(self) -> None:
        schemathesis.openapi.from_dict(self.document).validate()

    def test_references_can_be_resolved(self) -> None:
        for reference in set(references(self.document)):
            node = self.document
            for name in reference.removeprefix("#/").split("/"):
                self.assertIn(name, node, reference)
                node = node[name]

    def test_each_operation_has_a_summary(self) -> None:
        for path, method, operation in self.operations():
            self.assertRegex(
                operation["summary"], r"^[A-Z].*\.$", f"{method} {path}"
            )

    def test_operation_ids_are_unique(self) -> None:
        names = [o["operationId"] for _, _, o in self.operations()]
        self.assertEqual(len(names), len(set(names)))

    def test_path_variables_are_described(self) -> None:
        for path, _, operation in self.operations():
            described = [
                p["name"]
                for p in operation["parameters"]
                if p["in"] == "path" and p["required"]
            ]
            self.assertEqual(re.findall(r"{(\w+)}", path), described)

    def test_patterns_conform_to_ecma_262(self) -> None:
        # \Z and \A exist in Python only
        self.assertNotRegex(self.text, r'"pattern": "[^"]*\\\\[ZA]')

    def test_aliases_are_not_listed(self) -> None:
        paths = self.document["paths"]
        self.assertIn("/vnflcm/v2/vnf_instances", paths)
        self.assertNotIn("/v2/vnf_instances", paths)
        self.assertNotIn("/v1.0/vims.json", paths)
