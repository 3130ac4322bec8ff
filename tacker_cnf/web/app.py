"""The page as a WSGI application beside the API: its routes, and the
middleware in order.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cryptography.fernet import MultiFernet
from oslo_config import cfg

from tacker_cnf.api import app as api_app
from tacker_cnf.api import middleware, request_log
from tacker_cnf.api.app import Application, Services
from tacker_cnf.api.events import Events
from tacker_cnf.api.middleware import Environ, ErrorFormat, Wsgi
from tacker_cnf.api.routing import Methods, Routes
from tacker_cnf.audit import AuditTrail
from tacker_cnf.services import slots
from tacker_cnf.web import operation_requests, pages, paths, security_headers
from tacker_cnf.web.keystone import Keystone
from tacker_cnf.web.login import LogIn
from tacker_cnf.web.operation_forms import OperationForm
from tacker_cnf.web.paths import ROOT
from tacker_cnf.web.session_middleware import SessionMiddleware
from tacker_cnf.web.sessions import SessionCookies
from tacker_cnf.web.static_files import StaticFiles
from tacker_cnf.web.vims import VimPages
from tacker_cnf.web.vnf_instances import VnfInstancePages
from tacker_cnf.web.vnf_lcm_op_occs import (
    DECISIONS,
    Decision,
    VnfLcmOpOccPages,
)
from tacker_cnf.web.vnf_packages import VnfPackagePages


def routes(services: Services) -> Mapping[str, Methods]:
    """Return the routes of clients that have logged in, below the root."""
    package = VnfPackagePages(services.packages)
    return {
        **_instance_routes(services),
        **_op_occ_routes(services),
        "/vnf_packages": {"GET": package.get_all, "POST": package.post},
        "/vnf_packages/{id}": {"GET": package.get},
        "/vnf_packages/{id}/enable": {"POST": package.post_enable},
        "/vnf_packages/{id}/disable": {"POST": package.post_disable},
        "/vnf_packages/{id}/delete": {
            "GET": package.get_delete,
            "POST": package.post_delete,
        },
        **_vim_routes(services),
        "/events": {"GET": Events(services.event_streams).get},
    }


def _instance_routes(services: Services) -> Mapping[str, Methods]:
    instance = VnfInstancePages(
        services.instances, services.operations, services.packages
    )
    tasks = {
        task: OperationForm(
            task,
            services.instances,
            services.operations,
            services.plans,
            services.packages,
            services.vims,
        )
        for task in operation_requests.TASKS
    }
    return {
        "/": {"GET": instance.get_all},
        "/vnf_instances": {"POST": instance.post},
        "/vnf_instances/new": {"GET": instance.get_new},
        "/vnf_instances/{id}": {"GET": instance.get},
        "/vnf_instances/{id}/sync": {"POST": instance.post_sync},
        "/vnf_instances/{id}/delete": {
            "GET": instance.get_delete,
            "POST": instance.post_delete,
        },
        **{
            f"/vnf_instances/{{id}}/{task}": {
                "GET": form.get,
                "POST": form.post,
            }
            for task, form in tasks.items()
        },
    }


def _op_occ_routes(services: Services) -> Mapping[str, Methods]:
    op_occ = VnfLcmOpOccPages(
        services.operations, services.plans, services.instances
    )
    decisions = {
        task: Decision(task, services.operations, services.plans)
        for task in DECISIONS
    }
    return {
        "/vnf_lcm_op_occs/{id}": {"GET": op_occ.get},
        **{
            f"/vnf_lcm_op_occs/{{id}}/{task}": {
                "GET": decision.get,
                "POST": decision.post,
            }
            for task, decision in decisions.items()
        },
    }


def _vim_routes(services: Services) -> Mapping[str, Methods]:
    vim = VimPages(services.vims)
    return {
        "/vims": {"GET": vim.get_all, "POST": vim.post},
        "/vims/new": {"GET": vim.get_new},
        "/vims/{id}/default": {"POST": vim.post_default},
        "/vims/{id}/delete": {"GET": vim.get_delete, "POST": vim.post_delete},
    }


def public_routes(
    conf: cfg.ConfigOpts, cookies: SessionCookies
) -> Mapping[str, Methods]:
    """Return the routes that need no log in."""
    found: dict[str, Methods] = {
        "/static/{id}/{path}": {"GET": StaticFiles().get}
    }
    if conf.api.auth_strategy != "noauth":
        keystone = Keystone(
            conf,
            log_ins=slots.for_logins(conf),
            log_outs=slots.for_logins(conf),
        )
        log_in = LogIn(keystone, cookies)
        found["/login"] = {"GET": log_in.get, "POST": log_in.post}
        found["/logout"] = {"POST": log_in.post_log_out}
    return found


def build(
    keys: MultiFernet,
    conf: cfg.ConfigOpts,
    services: Services,
    audit: AuditTrail,
) -> Wsgi:
    """Build the application of the API and the page.

    :param keys: those of the service's key file
    """
    api = api_app.build(conf, services, audit)
    page = _build_page(keys, conf, services, audit)

    def application(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        app = page if paths.is_page(environ.get("PATH_INFO", "")) else api
        return app(environ, start_response)

    return application


def _build_page(
    keys: MultiFernet,
    conf: cfg.ConfigOpts,
    services: Services,
    audit: AuditTrail,
) -> Wsgi:
    cookies = SessionCookies(keys)
    private = middleware.authenticate(_application(routes(services)), conf)
    public = _application(public_routes(conf, cookies))
    app: Wsgi = SessionMiddleware(conf, cookies, private, public)
    root = paths.root_of(conf.api.endpoint)
    html = ErrorFormat(pages.HTML, functools.partial(pages.render_error, root))
    app = middleware.handle_errors(app, conf, html)
    return request_log.record_requests(security_headers.add(app), audit)


def _application(table: Mapping[str, Methods]) -> Application:
    return Application(
        Routes({ROOT + path: methods for path, methods in table.items()})
    )
