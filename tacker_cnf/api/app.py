"""The WSGI application: all routes, and the middleware in order."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pecan
from oslo_config import cfg

from tacker_cnf.api import http, middleware, openapi, request_log
from tacker_cnf.api.events import Events
from tacker_cnf.api.middleware import Wsgi
from tacker_cnf.api.package_subscriptions import PackageSubscriptions
from tacker_cnf.api.routing import Methods, Routes
from tacker_cnf.api.subscriptions import Subscriptions
from tacker_cnf.api.v1.subscriptions import SubscriptionsV1
from tacker_cnf.api.v1.vnf_instances import VnfInstancesV1
from tacker_cnf.api.v1.vnf_lcm_op_occs import VnfLcmOpOccsV1
from tacker_cnf.api.versions import (
    ApiVersions,
    Healthcheck,
    HealthProbes,
    PackageApiVersions,
)
from tacker_cnf.api.vims import VimResource
from tacker_cnf.api.vnf_instances import VnfInstances
from tacker_cnf.api.vnf_lcm_op_occs import VnfLcmOpOccs
from tacker_cnf.api.vnf_packages import VnfPackages
from tacker_cnf.audit import AuditTrail
from tacker_cnf.services.event_streams import EventStreams
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.packages import PackageService
from tacker_cnf.services.plans import PlanService
from tacker_cnf.services.readiness import Readiness
from tacker_cnf.services.state_waits import StateWaits
from tacker_cnf.services.subscriptions import (
    LifecycleSubscriptionService,
    PackageSubscriptionService,
)
from tacker_cnf.services.vims import VimService
from tacker_cnf.services.vnf_instances import VnfInstanceService
from tacker_cnf.sol.api import Api


@dataclasses.dataclass(frozen=True, kw_only=True)
class Services:
    """The services that the handlers call."""

    packages: PackageService
    instances: VnfInstanceService
    operations: OperationService
    plans: PlanService
    state_waits: StateWaits
    event_streams: EventStreams
    vims: VimService
    subscriptions: LifecycleSubscriptionService
    package_subscriptions: PackageSubscriptionService
    readiness: Readiness


def lcm_routes(services: Services) -> Mapping[str, Methods]:
    """Return the routes of VNF lifecycle management (SOL003 clause 5)."""
    vnf = VnfInstances(services.instances, services.operations, services.plans)
    occ = VnfLcmOpOccs(
        services.operations, services.plans, services.state_waits
    )
    return {
        **_instance_routes(vnf),
        # extensions of SOL003: the next one, and plan
        "/vnf_instances/{id}/sync": {"POST": vnf.post_sync},
        **_op_occ_routes(occ),
        "/vnf_lcm_op_occs/{id}/plan": {"GET": occ.get_plan},
        **_subscription_routes(Subscriptions(services.subscriptions)),
    }


def lcm_v1_routes(services: Services) -> Mapping[str, Methods]:
    """Return the routes of version 1 of VNF lifecycle management."""
    return {
        **_instance_routes(
            VnfInstancesV1(services.instances, services.operations)
        ),
        **_op_occ_routes(VnfLcmOpOccsV1(services.operations)),
        **_subscription_routes(SubscriptionsV1(services.subscriptions)),
    }


def _instance_routes(
    vnf: VnfInstances | VnfInstancesV1,
) -> Mapping[str, Methods]:
    return {
        "/vnf_instances": {"GET": vnf.get_all, "POST": vnf.post},
        "/vnf_instances/{id}": {
            "GET": vnf.get,
            "PATCH": vnf.patch,
            "DELETE": vnf.delete,
        },
        **{
            f"/vnf_instances/{{id}}/{task}": {"POST": handler}
            for task, handler in vnf.tasks.items()
        },
    }


def _op_occ_routes(
    occ: VnfLcmOpOccs | VnfLcmOpOccsV1,
) -> Mapping[str, Methods]:
    return {
        "/vnf_lcm_op_occs": {"GET": occ.get_all},
        "/vnf_lcm_op_occs/{id}": {"GET": occ.get},
        "/vnf_lcm_op_occs/{id}/retry": {"POST": occ.post_retry},
        "/vnf_lcm_op_occs/{id}/rollback": {"POST": occ.post_rollback},
        "/vnf_lcm_op_occs/{id}/fail": {"POST": occ.post_fail},
        "/vnf_lcm_op_occs/{id}/cancel": {"POST": occ.post_cancel},
    }


def _subscription_routes(
    subscription: Subscriptions | SubscriptionsV1 | PackageSubscriptions,
) -> Mapping[str, Methods]:
    return {
        "/subscriptions": {
            "GET": subscription.get_all,
            "POST": subscription.post,
        },
        "/subscriptions/{id}": {
            "GET": subscription.get,
            "POST": subscription.post_again,
            "DELETE": subscription.delete,
        },
    }


def package_routes(services: Services) -> Mapping[str, Methods]:
    """Return the routes of VNF packages (SOL003 clause 10, SOL005 clause
    9), which are the same in both versions.
    """
    package = VnfPackages(services.packages)
    package_path = "/vnf_packages/{id}"
    return {
        "/vnf_packages": {"GET": package.get_all, "POST": package.post},
        package_path: {
            "GET": package.get,
            "PATCH": package.patch,
            "DELETE": package.delete,
        },
        f"{package_path}/package_content": {
            "GET": package.get_content,
            "HEAD": package.get_content,
            "PUT": package.put_content,
        },
        f"{package_path}/package_content/upload_from_uri": {
            "POST": package.post_upload
        },
        f"{package_path}/vnfd": {"GET": package.get_vnfd},
        f"{package_path}/artifacts/{{path}}": {
            "GET": package.get_artifact,
            "HEAD": package.get_artifact,
        },
        **_subscription_routes(
            PackageSubscriptions(services.package_subscriptions)
        ),
    }


def other_routes(services: Services) -> Mapping[str, Methods]:
    """Return the routes of VIMs, events, versions and health."""
    vim = VimResource(services.vims)
    version, package_version = ApiVersions(), PackageApiVersions()
    health = Healthcheck(services.operations)
    probes = HealthProbes(services.readiness)
    vims: Methods = {"GET": vim.get_all, "POST": vim.post}
    return {
        "/vnflcm/api_versions": {"GET": version.get_all},
        "/vnflcm/v1/api_versions": {"GET": version.get_v1},
        "/vnflcm/v2/api_versions": {"GET": version.get_v2},
        "/vnfpkgm/api_versions": {"GET": package_version.get_all},
        "/vnfpkgm/v1/api_versions": {"GET": package_version.get_v1},
        "/vnfpkgm/v2/api_versions": {"GET": package_version.get_v2},
        "/v1.0/vims": vims,
        "/v1.0/vims.json": vims,
        "/v1.0/vims/{id}": {
            "GET": vim.get,
            "PUT": vim.put,
            "DELETE": vim.delete,
        },
        "/events": {"GET": Events(services.event_streams).get},
        "/healthcheck": {"GET": health.get},
        "/healthz": {"GET": probes.get_health},
        "/readyz": {"GET": probes.get_readiness},
    }


def routes(services: Services) -> Mapping[str, Methods]:
    """Return all routes, /openapi.json included."""
    packages = package_routes(services)
    of_api = {
        Api.LCM_V1: lcm_v1_routes(services),
        Api.LCM_V2: lcm_routes(services),
        Api.PACKAGES_V1: packages,
        Api.PACKAGES_V2: packages,
    }
    table = {
        root + path: methods
        for root, api in middleware.ROOTS.items()
        for path, methods in of_api[api].items()
    } | dict(other_routes(services))
    document = openapi.Document(table)
    table["/openapi.json"] = {"GET": document.get}
    return table


class Application(pecan.Pecan):  # type: ignore[misc]
    """Pecan's application with a table of routes, and handlers that fill the
    response themselves: pecan would look up both by their signatures, at each
    request.
    """

    def __init__(self, routes: Routes) -> None:
        super().__init__(
            None, guess_content_type_from_ext=False, force_canonical=False
        )
        self._routes = routes

    def route(
        self, request: Any, _root: Any, path: str
    ) -> tuple[Callable[..., Any], list[str]]:
        """Return the handler of a request, and the variable segments of its
        path.
        """
        segments = path[1:].rstrip("/").split("/")
        handler, variables, path = self._routes.match(request.method, segments)
        request.environ[http.ROUTE] = path
        if api := request.environ[http.API]:
            http.check_version(api)
        return handler, variables

    def invoke_controller(
        self, handler: Callable[..., Any], segments: Any, *_: Any
    ) -> None:
        """Call a handler."""
        handler(*segments)


def build(conf: cfg.ConfigOpts, services: Services, audit: AuditTrail) -> Wsgi:
    """Build the application."""
    app: Wsgi = Application(Routes(routes(services)))
    app = middleware.authenticate(app, conf)
    # around all others, so that an error of any layer becomes problem+json
    app = middleware.handle_errors(app, conf)
    return request_log.record_requests(app, audit)
