"""The versions of the API (SOL013 9.3), and the health checks."""

from tacker_cnf.api import http
from tacker_cnf.services.operations import NONE_ALIVE, OperationService
from tacker_cnf.services.readiness import Readiness
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import ApiVersion, ApiVersionInformation


class ApiVersions:
    """/vnflcm/api_versions, and those of each version."""

    @http.endpoint(200)
    def get_all(self) -> ApiVersionInformation:
        """List the versions of the lifecycle API."""
        return _of_prefix(Api.LCM_V2.prefix)

    @http.endpoint(200)
    def get_v1(self) -> ApiVersionInformation:
        """List the versions of the lifecycle API under version 1."""
        return _of_prefix(Api.LCM_V1.root)

    @http.endpoint(200)
    def get_v2(self) -> ApiVersionInformation:
        """List the versions of the lifecycle API under version 2."""
        return _of_prefix(Api.LCM_V2.root)


class PackageApiVersions:
    """/vnfpkgm/api_versions, and those of each version."""

    @http.endpoint(200)
    def get_all(self) -> ApiVersionInformation:
        """List the versions of the package API."""
        return _of_prefix(Api.PACKAGES_V1.prefix)

    @http.endpoint(200)
    def get_v1(self) -> ApiVersionInformation:
        """List the versions of the package API under version 1."""
        return _of_prefix(Api.PACKAGES_V1.root)

    @http.endpoint(200)
    def get_v2(self) -> ApiVersionInformation:
        """List the versions of the package API under version 2."""
        return _of_prefix(Api.PACKAGES_V2.root)


def _of_prefix(prefix: str) -> ApiVersionInformation:
    return ApiVersionInformation(
        uri_prefix=prefix,
        api_versions=tuple(
            ApiVersion(version=api.number, is_deprecated=False)
            for api in Api
            if prefix in {api.prefix, api.root}
        ),
    )


class Health(SolType):
    """The health of the service."""

    status: str
    #: number of conductors that are alive; without one, operations wait
    conductors: int
    detail: str | None = None


class Healthcheck:
    """/healthcheck: 200 while the database answers."""

    def __init__(self, operations: OperationService) -> None:
        self._operations = operations

    @http.endpoint(200)
    def get(self) -> Health:
        """Check the health of the service.

        200 means that this server can answer requests, which is what a load
        balancer checks. The number of conductors is in the body only: it is
        the same for all servers.
        """
        alive = self._operations.count_conductors(http.caller())
        detail = None if alive else NONE_ALIVE
        return Health(status="ok", conductors=alive, detail=detail)


class Probe(SolType):
    """The result of a probe."""

    status: str


class HealthProbes:
    """/healthz: 200 while this process works; /readyz: 200 while all that it
    needs works too.
    """

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    @http.endpoint(200)
    def get_health(self) -> Probe:
        """Check whether the process answers. It uses nothing else: a restart
        would help neither a database nor a broker.
        """
        return Probe(status="ok")

    @http.endpoint(200)
    def get_readiness(self) -> Probe:
        """Check whether database, schema, broker and conductors work.

        503 with the names of those that do not. The result is up to a
        second old.
        """
        self._readiness.check()
        return Probe(status="ready")
