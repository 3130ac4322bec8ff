"""/v1.0/vims: the VIMs, as the openstack command registers them."""

from collections.abc import Collection
from typing import Any, Final

import msgspec
import pecan

from tacker_cnf import errors
from tacker_cnf.api import http, links, openapi_parameters
from tacker_cnf.lcm import vim_policy
from tacker_cnf.services.vims import NewVim, Vim, VimChange, VimService


class NewVimBody(msgspec.Struct, frozen=True):
    """POST /v1.0/vims."""

    vim: NewVim


class VimChangeBody(msgspec.Struct, frozen=True):
    """PUT /v1.0/vims/{id}."""

    vim: VimChange


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

    def __init__(self, vims: VimService) -> None:
        self._vims = vims

    @http.endpoint(
        201,
        rule="vims:create",
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(*_REACHABILITY_ERRORS, errors.QuotaExceeded),
    )
    def post(self, body: NewVimBody) -> VimBody:
        """Register a VIM, perhaps with a policy."""
        if vim_policy.POLICY_KEY in body.vim.extra:
            http.authorize_also("vims:policy")
        vim = self._vims.add(http.caller(), body.vim)
        http.set_location(links.vim(vim.id))
        return VimBody(vim)

    @http.endpoint(200, rule="vims:index", parameters=openapi_parameters.VIMS)
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
                _select_fields(vim, fields)
                for vim in self._vims.find(http.caller(), **criteria)
            ]
        )

    @http.endpoint(200, rule="vims:show")
    def get(self, vim_id: str) -> VimBody:
        """Read a VIM."""
        return VimBody(
            self._vims.get(http.caller(), _strip_json_suffix(vim_id))
        )

    @http.endpoint(200, rule="vims:update", error_types=_REACHABILITY_ERRORS)
    def put(self, vim_id: str, body: VimChangeBody) -> VimBody:
        """Change a VIM or its policy, or share it with other projects."""
        if body.vim.shares:
            http.authorize_also("vims:share")
        if vim_policy.POLICY_KEY in (body.vim.extra or {}):
            http.authorize_also("vims:policy")
        return VimBody(
            self._vims.change(
                http.caller(), _strip_json_suffix(vim_id), body.vim
            )
        )

    @http.endpoint(204, rule="vims:delete", error_types=(errors.Conflict,))
    def delete(self, vim_id: str) -> None:
        """Delete a VIM that no VNF instance uses."""
        self._vims.delete(http.caller(), _strip_json_suffix(vim_id))


def _strip_json_suffix(name: str) -> str:
    """Return the id in ``{id}.json``, which the openstack command requests."""
    return name.removesuffix(".json")


def _select_fields(vim: Vim, fields: Collection[str]) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.structs.asdict(vim)
    return {k: v for k, v in shown.items() if not fields or k in fields}
