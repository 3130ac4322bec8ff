"""Write the OpenAPI document that is published with the API reference.

    .venv/bin/python api-ref/openapi.py

It is the response of a service with Keystone at /openapi.json. A unit test
fails if the file differs from the generated document.
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
    """Return the document, as it is published."""
    document = openapi.document(routes.table(), openapi.KEYSTONE, "/")
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(text())
