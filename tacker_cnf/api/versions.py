"""Which versions of the API there are (SOL013 9.3), and whether it works."""

from typing import Final

import sqlalchemy as sa

from tacker_cnf.api import http
from tacker_cnf.db.session import Store
from tacker_cnf.sol.common import ApiVersion, ApiVersionInformation

_LCM: Final = (ApiVersion(version="2.0.0", is_deprecated=False),)


class ApiVersions:
    """/vnflcm/api_versions and /vnflcm/v2/api_versions."""

    @http.endpoint(200)
    def get_all(self) -> ApiVersionInformation:
        """Tell the versions of the lifecycle API."""
        return ApiVersionInformation(uri_prefix="/vnflcm", api_versions=_LCM)

    @http.endpoint(200)
    def get_v2(self) -> ApiVersionInformation:
        """Tell the versions under version 2."""
        return ApiVersionInformation(
            uri_prefix="/vnflcm/v2", api_versions=_LCM
        )


class Healthcheck:
    """/healthcheck: 200 while the database answers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @http.endpoint(200)
    def get(self) -> dict[str, str]:
        """Tell whether the service works."""
        with self._store.reader() as session:
            session.execute(sa.text("SELECT 1"))
        return {"status": "ok"}
