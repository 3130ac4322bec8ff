"""Registered VIMs as SOL003 VimConnectionInfo, and references to them."""

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
    ca_certificate = {_CA: cred[_CA]} if cred.get(_CA) else {}
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=OPENSTACK,
        interface_info={
            "endpoint": vim.auth_url,
            "skipCertificateVerification": not verify,
            **ca_certificate,
        },
        access_info={k: v for k, v in access.items() if v is not None},
        extra=vim.extra,
    )


def _of_other_type(vim: models.Vim) -> VimConnectionInfo:
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=vim.type,
        interface_info={"endpoint": vim.auth_url},
        access_info=vim.auth_cred,
        extra=vim.extra,
    )


#: VIM type of the CLI -> SOL003 vimType
_TYPES: Final = {"kubernetes": KUBERNETES, "openstack": OPENSTACK}
#: VIM type of the CLI -> conversion to VimConnectionInfo
_LAYOUTS: Final[Mapping[str, Callable[[models.Vim], VimConnectionInfo]]] = {
    "kubernetes": _of_kubernetes,
    "openstack": _of_openstack,
}


def vim_type(kind: str) -> str:
    """Convert a VIM type of the CLI to a SOL003 vimType."""
    return _TYPES.get(kind, kind)


def provided(
    session: orm.Session, instance_id: str | None = None
) -> dict[str, dict[str, VimConnectionInfo]]:
    """Return the VIMs that VNF instances provide: instance id -> name -> VIM.

    :param instance_id: limits the result to one VNF instance
    """
    found: dict[str, dict[str, VimConnectionInfo]] = {}
    for vim in vims.list_provided(session, instance_id):
        found.setdefault(vim.vnf_instance_id, {})[vim.name] = (
            VimConnectionInfo(vim_id=vim.vim_id, vim_type=vim_type(vim.type))
        )
    return found


def of_vim(vim: models.Vim) -> VimConnectionInfo:
    """Convert a registered VIM to SOL003 4.4.1.6."""
    return _LAYOUTS.get(vim.type, _of_other_type)(vim)


def name(
    session: orm.Session, requested: Mapping[str, VimConnectionInfo]
) -> dict[str, VimConnectionInfo]:
    """Resolve the vimConnectionInfo of a request, each entry with its type.

    For a registered VIM only its id and the request's own attributes are
    stored: its credentials may be renewed while VNFs run on it. Without any
    entry the default VIM is used, under the key "default".

    :raises InvalidVimConnection: an entry has neither the id of a registered
        VIM nor a vimType and endpoint
    """
    if not requested:
        vim = vims.default(session)
        return {"default": _reference(vim)} if vim else {}
    return {key: _resolved(session, key, requested[key]) for key in requested}


def _reference(vim: models.Vim) -> VimConnectionInfo:
    return VimConnectionInfo(vim_id=vim.id, vim_type=vim_type(vim.type))


def _resolved(
    session: orm.Session, key: str, requested: VimConnectionInfo
) -> VimConnectionInfo:
    found = (
        vims.find(session, vim_id=requested.vim_id) if requested.vim_id else ()
    )
    if found:
        kind = requested.vim_type or _reference(found[0]).vim_type
        return msgspec.structs.replace(requested, vim_type=kind)
    if (
        requested.vim_type is None
        or "endpoint" not in requested.interface_info
    ):
        unknown = f"no VIM {requested.vim_id} is registered; "
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo.{key}: {unknown if requested.vim_id else ''}"
            "set the vimId of a registered VIM, or vimType, "
            "interfaceInfo.endpoint and accessInfo."
        )
    return requested


def complete(
    session: orm.Session, connections: Mapping[str, VimConnectionInfo]
) -> dict[str, VimConnectionInfo]:
    """Add the current address and credentials of registered VIMs.

    Registered credentials are sent to the registered address alone: a
    request with an endpoint of its own has to have its own credentials, and
    one without cannot change how TLS is verified, not even by a ssl_ca_cert
    in accessInfo.
    """
    return {
        key: _with_registered(session, connections[key]) for key in connections
    }


def _with_registered(
    session: orm.Session, connection: VimConnectionInfo
) -> VimConnectionInfo:
    found = (
        vims.find(session, vim_id=connection.vim_id)
        if connection.vim_id
        else ()
    )
    if not found:
        return connection
    if "endpoint" in connection.interface_info:
        return connection
    registered = of_vim(found[0])
    own = {n: v for n, v in connection.access_info.items() if n != _CA}
    return msgspec.structs.replace(
        connection,
        interface_info=registered.interface_info,
        access_info={**registered.access_info, **own},
        extra={**registered.extra, **connection.extra},
    )
