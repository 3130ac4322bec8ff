"""How a change of package modifies a VNF instance (SOL003 5.5.2.11a)."""

import msgspec

from tacker_cnf.lcm import masked_patch, modification, vnfd_compatibility
from tacker_cnf.sol.lcm_request import ChangeCurrentVnfPkgRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import ModificationsTriggeredByVnfPkgChange
from tacker_cnf.vnfd.model import Vnfd

#: attributes that a request may change besides the package
REQUEST_ATTRIBUTES = ("extensions", "vnf_configurable_properties")


def check(instance: VnfInstance, vnfd: Vnfd) -> None:
    """Check that a running VNF can change to another VNFD.

    :raises IncompatibleVnfd: the VNFD lacks an element that the VNF uses
    """
    if info := instance.instantiated_vnf_info:
        vnfd_compatibility.apply_vnfd(info, vnfd)


def changed(
    instance: VnfInstance, request: ChangeCurrentVnfPkgRequest, vnfd: Vnfd
) -> VnfInstance:
    """Apply the VNFD, its defaults, and the request's values."""
    values = modification.of_vnfd(instance, vnfd)
    for name in REQUEST_ATTRIBUTES:
        values[name] = masked_patch.patched(
            values[name], getattr(request, name)
        )
    return msgspec.structs.replace(instance, **values)


def list_modifications(
    before: VnfInstance, after: VnfInstance
) -> ModificationsTriggeredByVnfPkgChange | None:
    """Return the changed attributes of the instance; None: nothing changed."""
    changes = modification.changed(before, after)
    if changes is None:
        return None
    names = ModificationsTriggeredByVnfPkgChange.__struct_fields__
    return ModificationsTriggeredByVnfPkgChange(
        **{name: getattr(changes, name) for name in names}
    )
