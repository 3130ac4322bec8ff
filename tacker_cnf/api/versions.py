"""Which versions of the API there are (SOL013 9.3), and whether it works."""

from typing import Final

from tacker_cnf.api import http
from tacker_cnf.db import conductors
from tacker_cnf.db.session import Store
from tacker_cnf.sol.base import SolType
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


class Health(SolType):
    """What the API server can do now, beside to answer."""

    status: str
    #: conductors that are alive; without one, operations wait
    conductors: int
    detail: str | None = None


class Healthcheck:
    """/healthcheck: 200 while the database answers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @http.endpoint(200)
    def get(self) -> Health:
        """Return whether the service works.

        200 means that this server answers requests, which a load balancer
        asks for. How many conductors are alive is in the body: no other
        server would have more of them.
        """
        with self._store.reader() as session:
            alive = conductors.count(session)
        detail = None if alive else conductors.NONE_ALIVE
        return Health(status="ok", conductors=alive, detail=detail)
