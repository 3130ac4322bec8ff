"""Validation of names and labels."""

import re
from collections.abc import Iterator

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_PATH_RE = re.compile(r"[^/%]+")
_KEY_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY_NAME_RE = re.compile(_KEY_NAME)
_CONFIG_KEY_RE = re.compile(r"[-._a-zA-Z0-9]+")
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
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', "
    f" or '123-abc', regex used for validation is '{_KEY_NAME}')"
)
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or"
    " '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for"
    " validation is '[-._a-zA-Z0-9]+')"
)
#: Kinds whose names are DNS labels.
_LABEL_KINDS = frozenset({"namespaces.", "services.", "statefulsets.apps"})
#: Kinds whose names are path segments.
_PATH_KINDS = frozenset(
    {
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
    }
)


def name_error(key: str, name: str) -> str | None:
    """Return why a name is invalid for a kind; None if it is valid."""
    if key in _PATH_KINDS:
        return None if _PATH_RE.fullmatch(name) else "may not contain '/'"
    if key in _LABEL_KINDS:
        if len(name) > 63:
            return "must be no more than 63 characters"
        if "." in name:
            return "must not contain dots"
        return None if _LABEL_RE.fullmatch(name) else _LABEL_RULE
    if len(name) > 253:
        return "must be no more than 253 characters"
    return None if _SUBDOMAIN_RE.fullmatch(name) else _SUBDOMAIN_RULE


def label_value_error(value: str) -> str | None:
    """Return why a label value is invalid; None if it is valid."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return None if _VALUE_RE.fullmatch(value) else _VALUE_RULE


def dns_label_error(name: str) -> str | None:
    """Return why a DNS label is invalid; None if it is valid."""
    return None if _LABEL_RE.fullmatch(name) else _LABEL_RULE


def qualified_name_errors(name: str) -> Iterator[str]:
    """Return why a label or annotation key is invalid."""
    *prefixes, base = name.split("/")
    if len(prefixes) > 1:
        yield (
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain"
            " prefix and '/' (e.g. 'example.com/MyName')"
        )
        return
    for prefix in prefixes:
        if not _SUBDOMAIN_RE.fullmatch(prefix):
            yield f"prefix part {_SUBDOMAIN_RULE}"
    if not base:
        yield "name part must be non-empty"
    if len(base) > 63:
        yield "name part must be no more than 63 bytes"
    if not _KEY_NAME_RE.fullmatch(base):
        yield f"name part {_KEY_RULE}"


def config_key_error(key: str) -> str | None:
    """Return why a key of a ConfigMap or Secret is invalid, if it is."""
    return None if _CONFIG_KEY_RE.fullmatch(key) else _CONFIG_KEY_RULE
