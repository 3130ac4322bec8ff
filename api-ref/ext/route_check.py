"""Holds the API reference to the routes that the program declares.

The build fails when a route has no ``.. rest_method::``, and when one is
described that does not exist.
"""

from pathlib import Path
from typing import Any

import routes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def check(app: Sphinx) -> None:
    """Fail the build when the reference has fallen behind.

    :raises ExtensionError: it has
    """
    if found := routes.faults(Path(app.srcdir)):
        raise ExtensionError("API reference: " + "; ".join(found))


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx about the check."""
    app.connect("builder-inited", check)
    return {"version": "1", "parallel_read_safe": True}
