"""The fields of templates, and of the parameter "nfv", whose values a plan
shows.

They name, size and connect resources. Others may have secrets, such as user
data, and the metadata and the passwords of servers.
"""

from typing import Final

from tacker_cnf.drivers.field_changes import Structure

_RESOURCES: Final = (
    "type depends_on condition get_attr get_param get_resource get_file name "
    "availability_zone computeFlavourId desired_capacity flavor "
    "floating_network image image_id vcImageId key_name locationConstraints "
    "max_size min_size cooldown scaling_adjustment adjustment_type "
    "auto_scaling_group_id size volume_id volume_type snapshot_id count "
    "deletion_policy delete_on_termination boot_index device_name "
    "network network_id net_id port port_id subnet subnet_id ip_address "
    "fixed_ip mac_address binding:vnic_type cidr gateway_ip ip_version "
    "enable_dhcp port_security_enabled security_groups security_group "
    "server_groups policies policy group scheduler_hints resource_group"
)
_PARENTS: Final = (
    "properties resource_def resource fixed_ips allowed_address_pairs "
    "networks network_interfaces block_device_mapping "
    "block_device_mapping_v2 resources_def"
)

STRUCTURE: Final = Structure(
    fields=frozenset(_RESOURCES.split()),
    parents=frozenset(_PARENTS.split()),
    # ids of resources, and of the elements of a VNFD in "nfv"
    keyed=frozenset({"resources", "VDU", "CP", "VL"}),
)
