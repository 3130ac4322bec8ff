"""A kubeconfig as the file by which `openstack vim register` takes a VIM."""

import base64
import binascii
from pathlib import Path
from typing import Any

import yaml

from tacker_cnf import errors


def read(path: Path) -> dict[str, Any]:
    """Read a kubeconfig.

    :raises OSError: it cannot be read
    :raises BadRequest: it is none
    """
    try:
        found = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise errors.BadRequest(f"{path} is no YAML: {error}") from None
    if not isinstance(found, dict) or "clusters" not in found:
        raise errors.BadRequest(f"{path} is no kubeconfig.")
    return found


def server(config: dict[str, Any]) -> str:
    """Tell where the cluster of the current context is."""
    return str(_chosen(config)[0]["server"])


def vim(config: dict[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """Tell how the cluster of the current context is registered as a VIM.

    :param folder: where the kubeconfig lies, for the files that it names
    :raises OSError: a file that it names cannot be read
    :raises BadRequest: it logs in by neither a token nor a certificate
    """
    cluster, user = _chosen(config)
    if cluster.get("insecure-skip-tls-verify"):
        raise errors.BadRequest(
            "The kubeconfig does not verify its cluster; give it the "
            "certificate-authority."
        )
    token = user.get("token")
    if user.get("tokenFile"):
        token = (folder / user["tokenFile"]).read_text().strip()
    cred = {
        "bearer_token": token,
        "client_cert": _pem(user, "client-certificate", folder),
        "client_key": _pem(user, "client-key", folder),
        "ssl_ca_cert": _pem(cluster, "certificate-authority", folder),
    }
    if not token and not (cred["client_cert"] and cred["client_key"]):
        raise errors.BadRequest(
            "The user of the kubeconfig's current context has neither a "
            "token nor a client certificate with its key; plug-ins that log "
            "in are not run."
        )
    return {
        "auth_url": cluster["server"],
        "type": "kubernetes",
        "project_name": "default",
        **{name: value for name, value in cred.items() if value},
    }


def _chosen(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the cluster and the user of the current context."""
    name = config.get("current-context")
    try:
        context = _by_name(config, "contexts", "context", name)
        cluster = _by_name(config, "clusters", "cluster", context["cluster"])
        user = _by_name(config, "users", "user", context["user"])
        cluster["server"]
    except (KeyError, TypeError):
        raise errors.BadRequest(
            f"The kubeconfig's current-context {name!r} does not lead to a "
            "cluster and a user."
        ) from None
    return cluster, user


def _by_name(
    config: dict[str, Any], kind: str, inner: str, name: Any
) -> dict[str, Any]:
    found = {entry["name"]: entry[inner] for entry in config[kind]}
    chosen: dict[str, Any] = found[name]
    return chosen


def _pem(where: dict[str, Any], name: str, folder: Path) -> str | None:
    """Read a PEM that a kubeconfig holds, or names."""
    try:
        if data := where.get(f"{name}-data"):
            return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise errors.BadRequest(
            f"{name}-data is no base64 of a PEM."
        ) from None
    return (folder / where[name]).read_text() if where.get(name) else None
