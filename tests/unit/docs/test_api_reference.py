"""The API reference describes all routes of the program, and no others."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import testtools

API_REF = Path(__file__).parents[3] / "api-ref"
SOURCE = API_REF / "source"


def load_routes() -> ModuleType:
    """Import the module that the build of the reference uses."""
    path = API_REF / "ext" / "routes.py"
    spec = importlib.util.spec_from_file_location("api_ref_routes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ApiReferenceTest(testtools.TestCase):
    def test_described_routes_equal_declared_routes(self) -> None:
        routes = load_routes()
        self.assertIn(("GET", "/healthcheck"), routes.declared())
        self.assertEqual([], routes.faults(SOURCE))

    def test_all_examples_are_shown(self) -> None:
        text = "".join(f.read_text() for f in SOURCE.glob("*.[ir]*"))
        shown = set(re.findall(r"examples/([\w-]+\.json)", text))
        example_names = {path.name for path in SOURCE.glob("examples/*.json")}
        self.assertEqual(set(), shown - example_names)
        # index.rst describes the request of its error example in the text
        self.assertEqual({"problem-request.json"}, example_names - shown)
