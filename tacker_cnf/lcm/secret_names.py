"""Decide by their names which attributes contain secrets.

Names are compared without case and separators: ``adminPass``, ``admin_pass``
and ``admin.pass`` are one name.
"""

import re
from typing import Final

_SECRET: Final = re.compile(
    # with any prefix
    r"(passwords?|passwd|passphrase|passcode|pwd|secret|(?<!pull)secrets"
    r"|tokens?|credentials?|authorization|psk|jwt|cookie|kubeconfig)$"
    # "bypass" and "monkey" are not secrets
    r"|(^|admin|root|user|login|db|database|bind|proxy|auth)pass$"
    r"|(client|api|access|secret|ssh|tls|ssl|auth|account|shared|master"
    r"|signing|encryption|server)keys?(data|pem)?$"
    r"|privatekey"
)
_SEPARATORS: Final = re.compile(r"[-_. ]")
#: attributes of accessInfo that are not secrets
_PUBLIC_ACCESS: Final = frozenset(
    {
        "username",
        "userid",
        "userdomain",
        "userdomainname",
        "userdomainid",
        "project",
        "projectname",
        "projectid",
        "projectdomain",
        "projectdomainname",
        "projectdomainid",
        "tenant",
        "domain",
        "region",
        "namespace",
        "sslcacert",
        "clientcert",
        "certverify",
    }
)


def _normalized(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


def is_secret(name: str) -> bool:
    """Check by its name whether an attribute contains a secret."""
    return bool(_SECRET.search(_normalized(name)))


def is_secret_access(name: str) -> bool:
    """Check whether an attribute of accessInfo counts as a secret: every one
    that is not listed as public.
    """
    return _normalized(name) not in _PUBLIC_ACCESS


def is_access(name: str) -> bool:
    """Check whether an attribute is an accessInfo."""
    return _normalized(name) == "accessinfo"
