"""What becomes of the dependents of an object that is deleted."""

from typing import Final

from tacker_cnf.drivers.kubernetes.cluster_session import BUILTIN_GROUPS
from tacker_cnf.drivers.kubernetes.manifests import POD_TEMPLATE_KINDS

#: kinds of Kubernetes that own others
OWNER_KINDS: Final = POD_TEMPLATE_KINDS | {"CronJob", "Pod", "Service"}


def policy_of(group: str, kind: str) -> str:
    """Return the propagation policy with which a kind is deleted.

    Foreground deletes the dependents first: the garbage collector puts a
    finalizer on the object, and removes it by a PATCH. What owns nothing
    needs none, and a server may refuse that PATCH for ever: that of a
    ControllerRevision, for one.
    """
    has_dependents = group not in BUILTIN_GROUPS or kind in OWNER_KINDS
    return "Foreground" if has_dependents else "Background"
