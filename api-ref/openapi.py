"""Writes the OpenAPI document that is published with the API reference.

    .venv/bin/python api-ref/openapi.py

It is what a service that asks Keystone answers at /openapi.json. A unit test
fails while the file is not what the program says.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "api-ref" / "source" / "openapi.json"
sys.path[:0] = [str(ROOT), str(ROOT / "api-ref" / "ext")]

import routes  # noqa: E402

from tacker_cnf.api import openapi  # noqa: E402


def text() -> str:
    """Give the document, as it is published."""
    told = openapi.document(routes.table(), openapi.KEYSTONE, "/")
    return json.dumps(told, indent=1) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(text())
