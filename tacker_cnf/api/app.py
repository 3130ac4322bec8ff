"""The WSGI application: every route, and the middleware in order."""

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pecan
from oslo_config import cfg
from webob import exc

from tacker_cnf import context, errors
from tacker_cnf.api import http, policies
from tacker_cnf.api.routing import Methods, Routes
from tacker_cnf.api.versions import ApiVersions, Healthcheck
from tacker_cnf.api.vims import VimResource
from tacker_cnf.api.vnf_instances import VnfInstances
from tacker_cnf.api.vnf_lcm_op_occs import VnfLcmOpOccs
from tacker_cnf.api.vnf_packages import VnfPackages
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db.session import Store
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.intake import Intake
from tacker_cnf.vims.registry import Vims

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

#: where the lifecycle API is found: ETSI's path and the short one
LCM_ROOTS: Final = ("/vnflcm/v2", "/v2")
#: what nobody needs a token for
PUBLIC: Final = frozenset(
    {"/healthcheck", "/vnflcm/api_versions", "/vnflcm/v2/api_versions"}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Services:
    """What the handlers work with."""

    store: Store
    catalogue: Packages
    intake: Intake
    vims: Vims
    drivers: Registry


def lcm_routes(services: Services) -> Mapping[str, Methods]:
    """Tell the routes of VNF lifecycle management (SOL003 clause 5)."""
    vnf = VnfInstances(services.store, services.intake)
    occ = VnfLcmOpOccs(services.store, services.intake)
    return {
        "/vnf_instances": {"GET": vnf.get_all, "POST": vnf.post},
        "/vnf_instances/{id}": {"GET": vnf.get, "DELETE": vnf.delete},
        "/vnf_instances/{id}/instantiate": {"POST": vnf.post_instantiate},
        "/vnf_instances/{id}/scale": {"POST": vnf.post_scale},
        "/vnf_instances/{id}/heal": {"POST": vnf.post_heal},
        "/vnf_instances/{id}/terminate": {"POST": vnf.post_terminate},
        "/vnf_lcm_op_occs": {"GET": occ.get_all},
        "/vnf_lcm_op_occs/{id}": {"GET": occ.get},
        "/vnf_lcm_op_occs/{id}/retry": {"POST": occ.post_retry},
        "/vnf_lcm_op_occs/{id}/rollback": {"POST": occ.post_rollback},
        "/vnf_lcm_op_occs/{id}/fail": {"POST": occ.post_fail},
    }


def other_routes(services: Services) -> Mapping[str, Methods]:
    """Tell the routes of packages, VIMs, versions and health."""
    package = VnfPackages(services.catalogue)
    vim = VimResource(services.vims, services.drivers)
    version = ApiVersions()
    health = Healthcheck(services.store)
    one = "/vnfpkgm/v1/vnf_packages/{id}"
    vims: Methods = {"GET": vim.get_all, "POST": vim.post}
    return {
        "/vnflcm/api_versions": {"GET": version.get_all},
        "/vnflcm/v2/api_versions": {"GET": version.get_v2},
        "/vnfpkgm/v1/vnf_packages": {
            "GET": package.get_all,
            "POST": package.post,
        },
        one: {
            "GET": package.get,
            "PATCH": package.patch,
            "DELETE": package.delete,
        },
        f"{one}/package_content": {
            "GET": package.get_content,
            "PUT": package.put_content,
        },
        f"{one}/vnfd": {"GET": package.get_vnfd},
        f"{one}/artifacts/{{path}}": {"GET": package.get_artifact},
        "/v1.0/vims": vims,
        "/v1.0/vims.json": vims,
        "/v1.0/vims/{id}": {
            "GET": vim.get,
            "PUT": vim.put,
            "DELETE": vim.delete,
        },
        "/healthcheck": {"GET": health.get},
    }


class Root:
    """Pecan's root controller: leads each request to its handler."""

    def __init__(self, services: Services) -> None:
        lcm = lcm_routes(services)
        self._routes = Routes(
            {root + path: lcm[path] for root in LCM_ROOTS for path in lcm}
            | dict(other_routes(services))
        )

    @pecan.expose()  # type: ignore[untyped-decorator]
    def _route(
        self, args: list[str], request: Any
    ) -> tuple[Callable[..., Any], list[str]]:
        while args and not args[-1]:
            args = args[:-1]
        found = self._routes.match(request.method, args)
        if is_lcm(request.path) and request.path not in PUBLIC:
            http.check_version(2)
        return found


def is_lcm(path: str) -> bool:
    """Tell whether a path is of the versioned lifecycle API."""
    return any(path.startswith(root + "/") for root in LCM_ROOTS)


def build(conf: cfg.ConfigOpts, services: Services) -> Wsgi:
    """Compose the application."""
    app: Wsgi = pecan.make_app(
        Root(services),
        debug=False,
        wrap_app=None,
        guess_content_type_from_ext=False,
        force_canonical=False,
    )
    app = _identify(app, conf)
    # outermost, so that every error becomes a problem, wherever it arises
    return _edge(app, conf)


def _identify(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Say who asks, and who judges."""
    judge = policies.enforcer(conf)

    def known(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        environ[http.CONTEXT] = context.of_environ(environ)
        environ[http.ENFORCER] = judge
        return app(environ, start)

    def anybody(
        environ: Environ, start: Callable[..., Any]
    ) -> Iterable[bytes]:
        environ[http.CONTEXT] = context.administrator()
        environ[http.ENFORCER] = judge
        return app(environ, start)

    if conf.api.auth_strategy == "noauth":
        return anybody
    from keystonemiddleware import auth_token

    checked: Wsgi = auth_token.AuthProtocol(
        known, {"oslo_config_config": conf}
    )

    def choose(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        public = environ.get("PATH_INFO", "") in PUBLIC
        return (anybody if public else checked)(environ, start)

    return choose


def _edge(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Make every error a problem+json, and sign every answer."""

    def edge(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        request_id = f"req-{uuid.uuid4()}"
        environ["openstack.request_id"] = request_id
        environ[http.SETTINGS] = conf.api
        # pecan would answer 404 where the standard wants 406
        environ[http.ACCEPT] = environ.pop("HTTP_ACCEPT", None)
        always = [("X-Openstack-Request-Id", request_id)]
        if is_lcm(environ.get("PATH_INFO", "")):
            always += [("Version", "2.0.0"), ("Accept-Ranges", "none")]

        def signed(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            return start(status, headers + always, *rest)

        try:
            return app(environ, signed)
        except Exception as error:  # noqa: BLE001
            return _tell(_known(error), request_id, signed)

    return edge


def _known(error: Exception) -> Exception:
    """Translate what pecan and webob raise by themselves."""
    if isinstance(error, exc.HTTPException) and error.status_int < 500:
        return errors.BadRequest(error.detail or error.explanation)
    if isinstance(error, UnicodeDecodeError):
        return errors.BadRequest("The path or the query is not UTF-8.")
    return error


def _tell(
    error: Exception, request_id: str, start: Callable[..., Any]
) -> Iterable[bytes]:
    status, body = http.problem(error, request_id)
    phrase = exc.status_map[status].title
    headers = [
        ("Content-Type", http.PROBLEM),
        ("Content-Length", str(len(body))),
    ]
    if isinstance(error, errors.MethodNotAllowed):
        headers.append(("Allow", error.allowed))
    start(f"{status} {phrase}", headers)
    return [body]
