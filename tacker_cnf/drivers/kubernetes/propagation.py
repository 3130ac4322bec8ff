"""Deletion propagation: what happens to the dependents of an object."""

from typing import Final

from tacker_cnf.drivers.kubernetes.cluster_session import BUILTIN_GROUPS
from tacker_cnf.drivers.kubernetes.manifests import POD_TEMPLATE_KINDS

#: Kubernetes kinds that own dependents
OWNER_KINDS: Final = POD_TEMPLATE_KINDS | {"CronJob", "Pod", "Service"}


def policy_of(group: str, kind: str) -> str:
    """Return the propagation policy with which a kind is deleted.

    ``Foreground`` deletes the dependents first: the garbage collector puts a
    finalizer on the object, and removes it by a PATCH. A kind without
    dependents does not need it, and for some kinds, such as
    ControllerRevision, the API server rejects that PATCH forever.
    """
    has_dependents = group not in BUILTIN_GROUPS or kind in OWNER_KINDS
    return "Foreground" if has_dependents else "Background"
