"""Check the API reference against the routes of the program.

The build fails if a route has no ``.. rest_method::``, or if the route of a
``.. rest_method::`` does not exist.
"""

from pathlib import Path
from typing import Any

import routes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def check(app: Sphinx) -> None:
    """Check the reference.

    :raises ExtensionError: the reference and the routes differ
    """
    if found := routes.faults(Path(app.srcdir)):
        raise ExtensionError("API reference: " + "; ".join(found))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the check."""
    app.connect("builder-inited", check)
    return {"version": "1", "parallel_read_safe": True}
