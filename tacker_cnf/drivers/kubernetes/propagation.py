"""What becomes of the dependents of an object that is deleted."""

from typing import Final

from tacker_cnf.drivers.kubernetes.link import BUILTIN
from tacker_cnf.drivers.kubernetes.manifests import TEMPLATED

#: kinds of Kubernetes that own others
OWNERS: Final = TEMPLATED | {"CronJob", "Pod", "Service"}


def policy_of(group: str, kind: str) -> str:
    """Return the propagation policy with which a kind is deleted.

    Foreground deletes the dependents first: the garbage collector puts a
    finalizer on the object, and removes it by a PATCH. What owns nothing
    needs none, and a server may refuse that PATCH for ever: that of a
    ControllerRevision, for one.
    """
    owns = group not in BUILTIN or kind in OWNERS
    return "Foreground" if owns else "Background"
