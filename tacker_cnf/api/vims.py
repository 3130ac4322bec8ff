"""/v1.0/vims: the VIMs, as the openstack command registers them."""

from typing import Any

import msgspec
import pecan

from tacker_cnf.api import http, links, policies, redaction
from tacker_cnf.db import models
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.vims import connection
from tacker_cnf.vims.registry import NewVim, VimChange, Vims, apply


class NewVimBody(msgspec.Struct, frozen=True):
    """POST /v1.0/vims."""

    vim: NewVim


class VimChangeBody(msgspec.Struct, frozen=True):
    """PUT /v1.0/vims/{id}."""

    vim: VimChange


class VimResource:
    """The registered VIMs. A VIM has to answer before it is taken."""

    def __init__(self, registered: Vims, drivers: Registry) -> None:
        self._vims = registered
        self._drivers = drivers

    @http.endpoint(201)
    def post(self, body: NewVimBody) -> dict[str, Any]:
        context = http.authorized(policies.VIM_WRITE)
        self._reach(_draft(body.vim))
        vim = self._vims.add(body.vim, context.project_id)
        http.set_location(links.vim(vim.id))
        return {"vim": _shown(vim)}

    @http.endpoint(200)
    def get_all(self) -> dict[str, Any]:
        """List; ``name`` and ``id`` choose, ``fields`` cuts down."""
        http.authorized(policies.VIM_READ)
        query = pecan.request.GET
        chosen = {
            key: query[name]
            for key, name in (("vim_id", "id"), ("name", "name"))
            if name in query
        }
        fields = set(query.getall("fields"))
        return {
            "vims": [
                {k: v for k, v in _shown(vim).items() if k in fields}
                if fields
                else _shown(vim)
                for vim in self._vims.find(**chosen)
            ]
        }

    @http.endpoint(200)
    def get(self, vim_id: str) -> dict[str, Any]:
        http.authorized(policies.VIM_READ)
        return {"vim": _shown(self._vims.get(_bare(vim_id)))}

    @http.endpoint(200)
    def put(self, vim_id: str, body: VimChangeBody) -> dict[str, Any]:
        http.authorized(policies.VIM_WRITE)
        vim = self._vims.get(_bare(vim_id))
        if body.vim.auth_url is not None or body.vim.auth_cred is not None:
            apply(vim, body.vim)  # a copy of the row
            self._reach(vim)
        return {"vim": _shown(self._vims.change(vim.id, body.vim))}

    @http.endpoint(204)
    def delete(self, vim_id: str) -> None:
        http.authorized(policies.VIM_WRITE)
        self._vims.delete(_bare(vim_id))

    def _reach(self, vim: models.Vim) -> None:
        reached = connection.of_vim(vim)
        self._drivers.of_type(reached.vim_type or "").reach(reached)


def _bare(name: str) -> str:
    """The openstack command asks for {id}.json."""
    return name.removesuffix(".json")


def _draft(asked: NewVim) -> models.Vim:
    return models.Vim(
        id=asked.name,
        type=asked.type,
        auth_url=asked.auth_url,
        auth_cred=asked.auth_cred,
        vim_project=asked.vim_project,
        extra=asked.extra,
    )


def _shown(vim: models.Vim) -> dict[str, Any]:
    return {
        "id": vim.id,
        "name": vim.name,
        "tenant_id": vim.tenant_id,
        "type": vim.type,
        "description": vim.description,
        "auth_url": vim.auth_url,
        "auth_cred": redaction.without_secrets(vim.auth_cred),
        "vim_project": vim.vim_project,
        "placement_attr": {},
        "is_default": bool(vim.is_default),
        "status": "REACHABLE",
        "extra": redaction.without_secrets(vim.extra),
        "created_at": vim.created_at,
        "updated_at": vim.updated_at,
    }
