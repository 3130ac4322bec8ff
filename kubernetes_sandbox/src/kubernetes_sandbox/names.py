"""What names, labels and keys may look like."""

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_PATH_RE = re.compile(r"[^/%]+")
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_VALUE_RE = re.compile(_VALUE)

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric"
    " characters, '-' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'example.com', regex used for validation is"
    f" '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric"
    " characters or '-', and must start and end with an alphanumeric"
    " character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    f" '{_LABEL}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric"
    " characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
    f" regex used for validation is '{_VALUE}')"
)
#: Kinds whose names are one DNS label.
_LABEL_KINDS = frozenset({"namespaces.", "services.", "statefulsets.apps"})
#: Kinds whose names need only fit into a path.
_PATH_KINDS = frozenset(
    {
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
    }
)


def name_fault(key: str, name: str) -> str | None:
    """Tell what is wrong with the name of an object of a kind."""
    if key in _PATH_KINDS:
        return None if _PATH_RE.fullmatch(name) else "may not contain '/'"
    if key in _LABEL_KINDS:
        if len(name) > 63:
            return "must be no more than 63 characters"
        return None if _LABEL_RE.fullmatch(name) else _LABEL_RULE
    if len(name) > 253:
        return "must be no more than 253 characters"
    return None if _SUBDOMAIN_RE.fullmatch(name) else _SUBDOMAIN_RULE


def label_fault(value: str) -> str | None:
    """Tell what is wrong with the value of a label."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    return None if _VALUE_RE.fullmatch(value) else _VALUE_RULE


def dns_label_fault(name: str) -> str | None:
    """Tell what is wrong with a name that is a DNS label."""
    return None if _LABEL_RE.fullmatch(name) else _LABEL_RULE
