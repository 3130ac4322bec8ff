"""The static files: they never change under their URL."""

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.web import pages
from tacker_cnf.web.assets import ASSETS

FOREVER = "public, max-age=31536000, immutable"


class StaticFiles:
    """Style sheets, scripts and icons."""

    @pages.page()
    def get(self, digest: str, name: str) -> None:
        """Send a file."""
        asset = ASSETS.get(name)
        if asset is None or asset.digest != digest:
            raise errors.NotFound(f"The page has no file {name!r:.100}.")
        request, response = pecan.request, pecan.response
        tag = f'"{asset.digest}"'
        if request.environ.get("HTTP_IF_NONE_MATCH") == tag:
            http.empty_response(304)
        else:
            response.status = 200
            response.headers["Content-Type"] = asset.content_type
            response.body = asset.content
        response.headers["ETag"] = tag
        response.headers["Cache-Control"] = FOREVER
