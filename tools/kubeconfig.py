"""Convert a kubeconfig to the file that `openstack vim register` reads."""

import base64
import binascii
from pathlib import Path
from typing import Any

import yaml

from tacker_cnf import errors


def read(path: Path) -> dict[str, Any]:
    """Read a kubeconfig.

    :raises OSError: it cannot be read
    :raises BadRequest: it is not a kubeconfig
    """
    try:
        found = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise errors.BadRequest(f"{path} is not valid YAML: {error}") from None
    if not isinstance(found, dict) or "clusters" not in found:
        raise errors.BadRequest(f"{path} is not a kubeconfig.")
    return found


def server(config: dict[str, Any]) -> str:
    """Return the URL of the current context's API server."""
    return str(_chosen(config)[0]["server"])


def vim(config: dict[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """Return the VIM file of the current context's cluster.

    :param folder: directory of the kubeconfig, for the files that it names
    :raises OSError: a file that it names cannot be read
    :raises BadRequest: it has neither a token nor a client certificate
    """
    cluster, user = _chosen(config)
    if cluster.get("insecure-skip-tls-verify"):
        raise errors.BadRequest(
            "The kubeconfig disables TLS verification "
            "(insecure-skip-tls-verify); set certificate-authority instead."
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
            "token nor a client certificate with its key; credential "
            "plugins are not supported."
        )
    return {
        "auth_url": cluster["server"],
        "type": "kubernetes",
        "project_name": "default",
        **{name: value for name, value in cred.items() if value},
    }


def _chosen(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the cluster and the user of the current context."""
    name = config.get("current-context")
    try:
        context = _by_name(config, "contexts", "context", name)
        cluster = _by_name(config, "clusters", "cluster", context["cluster"])
        user = _by_name(config, "users", "user", context["user"])
        cluster["server"]
    except (KeyError, TypeError):
        raise errors.BadRequest(
            f"The kubeconfig has no cluster or no user for its "
            f"current-context {name!r}."
        ) from None
    return cluster, user


def _by_name(
    config: dict[str, Any], kind: str, inner: str, name: Any
) -> dict[str, Any]:
    found = {entry["name"]: entry[inner] for entry in config[kind]}
    chosen: dict[str, Any] = found[name]
    return chosen


def _pem(entry: dict[str, Any], name: str, folder: Path) -> str | None:
    """Return a PEM from the kubeconfig or from the file it names."""
    try:
        if data := entry.get(f"{name}-data"):
            return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise errors.BadRequest(
            f"{name}-data is not a base64-encoded PEM."
        ) from None
    return (folder / entry[name]).read_text() if entry.get(name) else None
