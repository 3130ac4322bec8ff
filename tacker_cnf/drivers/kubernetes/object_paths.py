"""Paths of objects in the API of a cluster.

Namespaces, names and kinds come from packages and requests: here alone they
become paths, so that none of them reaches another one.
"""

import re
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers import path_segment

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
#: DNS-1123 label and subdomain
LABEL: Final = re.compile(_LABEL)
SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253
KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
#: kinds whose names are labels
LABEL_KINDS: Final = frozenset({("", "Namespace"), ("", "Service")})
#: API groups of whose kinds the names are subdomains; those of other kinds are
#: any segment of a path
SUBDOMAIN_GROUPS: Final = frozenset(
    {
        "",
        "apps",
        "autoscaling",
        "batch",
        "coordination.k8s.io",
        "networking.k8s.io",
        "policy",
        "scheduling.k8s.io",
        "storage.k8s.io",
    }
)


def path_of(
    resource: Any, name: str | None = None, namespace: str | None = None
) -> str:
    """Return the path of an object, or of all objects of a kind.

    :param namespace: None: the kind has none, or all namespaces
    :raises InvalidParameters: a name is not possible
    """
    if namespace is not None:
        check_namespace(namespace)
    quoted = None if name is None else path_segment.quote(name)
    return str(resource.path(quoted, namespace))


def check_namespace(namespace: str) -> None:
    """Check the name of a namespace: a DNS-1123 label.

    :raises InvalidParameters: it is not valid
    """
    if not _is_label(namespace):
        raise errors.InvalidParameters(
            f"namespace: {namespace!r} is not the name of a namespace, which "
            f"has up to {MAX_LABEL} lower case letters, digits and '-', and "
            "begins and ends with a letter or digit."
        )


def check_name(group: str, kind: str, name: str) -> None:
    """Check the name of an object by the rule of its kind.

    :raises InvalidParameters: it is not valid
    """
    if (group, kind) in LABEL_KINDS:
        is_valid = _is_label(name)
        rule = f"a DNS label of up to {MAX_LABEL} characters"
    elif group in SUBDOMAIN_GROUPS and kind != "IPAddress":
        is_valid = len(name) <= MAX_SUBDOMAIN and bool(
            SUBDOMAIN.fullmatch(name)
        )
        rule = f"a DNS subdomain of up to {MAX_SUBDOMAIN} characters"
    else:
        is_valid = name not in {".", ".."} and not {"/", "%"} & {*name}
        rule = "without '/' and '%', and not '.' or '..'"
    if not is_valid:
        raise errors.InvalidParameters(
            f"metadata.name: {name!r} is not the name of a {kind}, which is "
            f"{rule}."
        )


def check_kind(api_version: str, kind: str) -> None:
    """Check apiVersion and kind of an object.

    :raises InvalidParameters: one of them is not valid
    """
    group, slash, version = api_version.rpartition("/")
    is_group = SUBDOMAIN.fullmatch(group) if slash else True
    if not is_group or not LABEL.fullmatch(version):
        raise errors.InvalidParameters(
            f"apiVersion: {api_version!r} is neither VERSION nor "
            "GROUP/VERSION, such as v1 or apps/v1."
        )
    if not KIND.fullmatch(kind):
        raise errors.InvalidParameters(
            f"kind: {kind!r} is not a kind, which has letters and digits only."
        )


def _is_label(name: str) -> bool:
    return len(name) <= MAX_LABEL and LABEL.fullmatch(name) is not None
