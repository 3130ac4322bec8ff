"""Registered VIMs as SOL003 VimConnectionInfo, and their use by requests."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, vims
from tacker_cnf.sol.common import VimConnectionInfo

KUBERNETES: Final = "ETSINFV.KUBERNETES.V_1"
OPENSTACK: Final = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
_CA: Final = "ssl_ca_cert"


def _of_kubernetes(vim: models.Vim) -> VimConnectionInfo:
    cred = vim.auth_cred
    secrets = ("bearer_token", "client_cert", "client_key")
    access = {name: cred[name] for name in secrets if name in cred}
    interface = {"endpoint": vim.auth_url}
    if "ssl_ca_cert" in cred:
        interface["ssl_ca_cert"] = cred["ssl_ca_cert"]
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=KUBERNETES,
        interface_info=interface,
        access_info=access,
        extra=vim.extra,
    )


def _of_openstack(vim: models.Vim) -> VimConnectionInfo:
    cred, project = vim.auth_cred, vim.vim_project
    access = {
        "username": cred.get("username"),
        "password": cred.get("password"),
        "region": vim.extra.get("region"),
        "project": project.get("name"),
        "projectDomain": project.get("project_domain_name"),
        "userDomain": cred.get("user_domain_name"),
        "applicationCredentialId": cred.get("application_credential_id"),
        "applicationCredentialSecret": cred.get(
            "application_credential_secret"
        ),
    }
    verify = str(cred.get("cert_verify", "True")).lower() != "false"
    authority = {_CA: cred[_CA]} if cred.get(_CA) else {}
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=OPENSTACK,
        interface_info={
            "endpoint": vim.auth_url,
            "skipCertificateVerification": not verify,
            **authority,
        },
        access_info={k: v for k, v in access.items() if v is not None},
        extra=vim.extra,
    )


def _as_given(vim: models.Vim) -> VimConnectionInfo:
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=vim.type,
        interface_info={"endpoint": vim.auth_url},
        access_info=vim.auth_cred,
        extra=vim.extra,
    )


#: the CLI's word for a kind of VIM -> its vimType
_TYPES: Final = {"kubernetes": KUBERNETES, "openstack": OPENSTACK}
#: and how its credentials are laid out
_LAYOUTS: Final[Mapping[str, Callable[[models.Vim], VimConnectionInfo]]] = {
    "kubernetes": _of_kubernetes,
    "openstack": _of_openstack,
}


def vim_type(kind: str) -> str:
    """Tell the vimType of what the CLI calls a kind of VIM."""
    return _TYPES.get(kind, kind)


def provided(
    session: orm.Session, instance_id: str | None = None
) -> dict[str, dict[str, VimConnectionInfo]]:
    """Tell the VIMs that VNF instances provide, or one of them, if given:
    instance -> name -> what it is.
    """
    found: dict[str, dict[str, VimConnectionInfo]] = {}
    for vim in vims.provided(session, instance_id):
        found.setdefault(vim.vnf_instance_id, {})[vim.name] = (
            VimConnectionInfo(vim_id=vim.vim_id, vim_type=vim_type(vim.type))
        )
    return found


def of_vim(vim: models.Vim) -> VimConnectionInfo:
    """Lay a registered VIM out as SOL003 4.4.1.6 does."""
    return _LAYOUTS.get(vim.type, _as_given)(vim)


def name(
    session: orm.Session, asked: Mapping[str, VimConnectionInfo]
) -> dict[str, VimConnectionInfo]:
    """Tell which VIMs a request means, each with its type.

    Of a registered VIM only its id and what the request says itself is
    kept: its credentials may be renewed while a VNF lives there. A request
    that names no VIM gets the default one, under the key "default".

    :raises InvalidVimConnection: an entry says neither the id of a
        registered VIM nor how to reach one
    """
    if not asked:
        vim = vims.default(session)
        return {"default": _known(vim)} if vim else {}
    return {key: _named(session, key, asked[key]) for key in asked}


def _known(vim: models.Vim) -> VimConnectionInfo:
    return VimConnectionInfo(vim_id=vim.id, vim_type=vim_type(vim.type))


def _named(
    session: orm.Session, key: str, asked: VimConnectionInfo
) -> VimConnectionInfo:
    found = vims.find(session, vim_id=asked.vim_id) if asked.vim_id else ()
    if found:
        kind = asked.vim_type or _known(found[0]).vim_type
        return msgspec.structs.replace(asked, vim_type=kind)
    if asked.vim_type is None or "endpoint" not in asked.interface_info:
        unknown = f"no VIM {asked.vim_id} is registered, and "
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo.{key}: {unknown if asked.vim_id else ''}"
            "the request does not say how to reach a VIM (vimType, "
            "interfaceInfo.endpoint, accessInfo)."
        )
    return asked


def complete(
    session: orm.Session, named: Mapping[str, VimConnectionInfo]
) -> dict[str, VimConnectionInfo]:
    """Add what is registered now.

    Registered credentials go to the registered address and nowhere else: a
    request that names an address of its own has to bring its own
    credentials, and one that does not cannot change how TLS is verified,
    not even by a CA beside its credentials.
    """
    return {key: _completed(session, named[key]) for key in named}


def _completed(
    session: orm.Session, named: VimConnectionInfo
) -> VimConnectionInfo:
    found = vims.find(session, vim_id=named.vim_id) if named.vim_id else ()
    if not found:
        return named
    if "endpoint" in named.interface_info:
        return named
    known = of_vim(found[0])
    own = {n: v for n, v in named.access_info.items() if n != _CA}
    return msgspec.structs.replace(
        named,
        interface_info=known.interface_info,
        access_info={**known.access_info, **own},
        extra={**known.extra, **named.extra},
    )
