"""/v1.0/vims: the VIMs, as the openstack command registers them."""

import datetime
from collections.abc import Collection
from typing import Any, Final

import msgspec
import pecan

from tacker_cnf import errors
from tacker_cnf.api import http, links, openapi_parameters, policies
from tacker_cnf.db import models
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import redaction
from tacker_cnf.vims import connection_info
from tacker_cnf.vims.registry import NewVim, VimChange, Vims, apply


class NewVimBody(msgspec.Struct, frozen=True):
    """POST /v1.0/vims."""

    vim: NewVim


class VimChangeBody(msgspec.Struct, frozen=True):
    """PUT /v1.0/vims/{id}."""

    vim: VimChange


class Vim(msgspec.Struct, frozen=True, kw_only=True):
    """A registered VIM, without its secrets."""

    id: str
    name: str
    tenant_id: str | None
    type: str
    description: str
    auth_url: str
    auth_cred: dict[str, Any]
    vim_project: dict[str, Any]
    placement_attr: dict[str, Any]
    is_default: bool
    status: str
    extra: dict[str, Any]
    created_at: datetime.datetime
    updated_at: datetime.datetime | None


class VimBody(msgspec.Struct, frozen=True):
    """One registered VIM."""

    vim: Vim


class VimsBody(msgspec.Struct, frozen=True):
    """Registered VIMs, each with all attributes of a Vim or the requested
    ones.
    """

    vims: list[dict[str, Any]]


#: the VIM is unreachable or rejects the credentials
_REACHABILITY_ERRORS: Final = (errors.Conflict, errors.InfraError)


class VimResource:
    """The registered VIMs. A VIM has to be reachable to be registered."""

    def __init__(self, vims: Vims, drivers: DriverRegistry) -> None:
        self._vims = vims
        self._drivers = drivers

    @http.endpoint(
        201,
        rule=policies.VIM_WRITE,
        response_headers=(openapi_parameters.LOCATION,),
        error_types=_REACHABILITY_ERRORS,
    )
    def post(self, body: NewVimBody) -> VimBody:
        """Register a VIM."""
        context = http.caller()
        self._check_reachable(_unsaved_vim(body.vim))
        vim = self._vims.add(body.vim, context.project_id)
        http.set_location(links.vim(vim.id))
        return VimBody(_to_response(vim))

    @http.endpoint(
        200, rule=policies.VIM_READ, parameters=openapi_parameters.VIMS
    )
    def get_all(self) -> VimsBody:
        """List VIMs."""
        query = pecan.request.GET
        criteria = {
            key: query[name]
            for key, name in (("vim_id", "id"), ("name", "name"))
            if name in query
        }
        fields = set(query.getall("fields"))
        return VimsBody(
            [
                _select_fields(_to_response(vim), fields)
                for vim in self._vims.find(**criteria)
            ]
        )

    @http.endpoint(200, rule=policies.VIM_READ)
    def get(self, vim_id: str) -> VimBody:
        """Read a VIM."""
        return VimBody(
            _to_response(self._vims.get(_strip_json_suffix(vim_id)))
        )

    @http.endpoint(
        200, rule=policies.VIM_WRITE, error_types=_REACHABILITY_ERRORS
    )
    def put(self, vim_id: str, body: VimChangeBody) -> VimBody:
        """Change a VIM."""
        vim = self._vims.get(_strip_json_suffix(vim_id))
        if body.vim.auth_url is not None or body.vim.auth_cred is not None:
            apply(vim, body.vim)  # a copy of the row
            self._check_reachable(vim)
        return VimBody(_to_response(self._vims.change(vim.id, body.vim)))

    @http.endpoint(
        204, rule=policies.VIM_WRITE, error_types=(errors.Conflict,)
    )
    def delete(self, vim_id: str) -> None:
        """Delete a VIM that no VNF instance uses."""
        self._vims.delete(_strip_json_suffix(vim_id))

    def _check_reachable(self, vim: models.Vim) -> None:
        vim_connection = connection_info.of_vim(vim)
        self._drivers.for_type(vim_connection.vim_type or "").check_connection(
            vim_connection
        )


def _strip_json_suffix(name: str) -> str:
    """Return the id in ``{id}.json``, which the openstack command requests."""
    return name.removesuffix(".json")


def _unsaved_vim(new_vim: NewVim) -> models.Vim:
    return models.Vim(
        id=new_vim.name,
        type=new_vim.type,
        auth_url=new_vim.auth_url,
        auth_cred=new_vim.auth_cred,
        vim_project=new_vim.vim_project,
        extra=new_vim.extra,
    )


def _to_response(vim: models.Vim) -> Vim:
    return Vim(
        id=vim.id,
        name=vim.name,
        tenant_id=vim.tenant_id,
        type=vim.type,
        description=vim.description,
        auth_url=vim.auth_url,
        auth_cred=redaction.redact_access_info(vim.auth_cred),
        vim_project=vim.vim_project,
        placement_attr={},
        is_default=bool(vim.is_default),
        status="REACHABLE",
        extra=redaction.without_secrets(vim.extra),
        created_at=vim.created_at,
        updated_at=vim.updated_at,
    )


def _select_fields(vim: Vim, fields: Collection[str]) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.structs.asdict(vim)
    return {k: v for k, v in shown.items() if not fields or k in fields}
