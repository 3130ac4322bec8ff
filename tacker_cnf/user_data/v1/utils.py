"""The functions that user data of version 1 calls by these names.

``base_hot_dict`` is "heat_template" -> BaseHOT, and file name -> nested
template; ``vnfd_dict`` is the definitions file of a flavour.
"""

import copy
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from tacker_cnf.user_data.base import Json
from tacker_cnf.vnfd.limits import MIB
from tacker_cnf.vnfd.values import Value

HOT_NOVA_SERVER: Final = "OS::Nova::Server"
HOT_NOVA_FLAVOR: Final = "OS::Nova::Flavor"
HOT_NEUTRON_PORT: Final = "OS::Neutron::Port"
HOT_CINDER_VOLUME: Final = "OS::Cinder::Volume"
AUTO_SCALING_GROUP: Final = "OS::Heat::AutoScalingGroup"
PORT_SERVER_TYPE: Final = [
    HOT_NOVA_SERVER,
    HOT_NEUTRON_PORT,
    HOT_CINDER_VOLUME,
]
SUPPORTED_HOT_TYPE: Final = [*PORT_SERVER_TYPE, HOT_NOVA_FLAVOR]
GIB: Final = 1024 * MIB
_POLICIES: Final = "tosca.policies.nfv."


def create_initial_param_dict(base_hot_dict: Json) -> Json:
    """Return nfv with an empty entry for each VDU and CP that servers, ports,
    volumes, flavours and members of groups read.
    """
    return _initial_params(base_hot_dict, SUPPORTED_HOT_TYPE)


def create_initial_param_server_port_dict(base_hot_dict: Json) -> Json:
    """Return the same, without the entries that flavours read."""
    return _initial_params(base_hot_dict, PORT_SERVER_TYPE)


def _initial_params(base_hot_dict: Json, types: Collection[str]) -> Json:
    nfv: Json = {"VDU": {}, "CP": {}}
    for hot in base_hot_dict.values():
        if not (hot.get("parameters") or {}).get("nfv"):
            continue
        for resource in (hot.get("resources") or {}).values():
            for value in _values(resource, types):
                path = value.get("get_param") if _is_map(value) else None
                if isinstance(path, list) and len(path) == 4:
                    first, kind, name, _ = path
                    if first == "nfv" and kind in nfv:
                        nfv[kind].setdefault(name, {})
    return {"nfv": nfv}


def _values(resource: Json, types: Collection[str]) -> Iterator[Any]:
    """Return the properties of a resource, or of the members of a group."""
    properties = resource.get("properties") or {}
    if resource.get("type") == AUTO_SCALING_GROUP:
        member = properties.get("resource") or {}
        yield from (member.get("properties") or {}).values()
    elif resource.get("type") in types:
        yield from properties.values()
        for device in properties.get("block_device_mapping_v2") or ():
            yield device.get("image")


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def create_final_param_dict(
    param_dict: Json,
    vdu_flavor_dict: Json,
    vdu_image_dict: Json,
    cpd_vl_dict: Json,
) -> Json:
    """Return the parameters with flavours, images, networks and addresses.

    :param param_dict: the result of create_initial_param_dict
    :param vdu_flavor_dict: VDU -> flavour
    :param vdu_image_dict: VDU or storage -> image
    :param cpd_vl_dict: CP -> network, or map with ``network`` and
        ``fixed_ips``
    """
    found = copy.deepcopy(param_dict)
    nfv = found.get("nfv") or {}
    for name, values in dict(nfv.get("VDU") or {}).items():
        values["flavor"] = vdu_flavor_dict.get(name)
        values["image"] = vdu_image_dict.get(name)
    for name, values in dict(nfv.get("CP") or {}).items():
        point = (cpd_vl_dict or {}).get(name) or {}
        if isinstance(point, str):
            point = {"network": point}
        values.update(
            {
                key: copy.deepcopy(point[key])
                for key in ("network", "fixed_ips")
                if key in point
            }
        )
    return found


def create_vdu_flavor_dict(vnfd_dict: Json) -> Json:
    """Return VDU -> ``vcpus``, ``ram`` in MiB, ``disk`` in GiB."""
    found = {}
    for name, compute in _computes(vnfd_dict):
        flavor: dict[str, Any] = {}
        if "virtual_cpu" in compute:
            flavor["vcpus"] = compute["virtual_cpu"]["num_virtual_cpu"]
        if "virtual_memory" in compute:
            memory = compute["virtual_memory"]["virtual_mem_size"]
            flavor["ram"] = _size(memory, MIB)
        if disks := compute.get("virtual_local_storage"):
            flavor["disk"] = _size(disks[0]["size_of_storage"], GIB)
        found[name] = flavor
    return found


def _size(size: Any, unit: int) -> int:
    found = Value(size, "the VNFD").size()
    assert found is not None
    return found // unit


def create_vdu_flavor_capability_name_dict(vnfd_dict: Json) -> Json:
    """Return VDU -> its requested_additional_capability_name."""
    found = {}
    for name, compute in _computes(vnfd_dict):
        requested = compute.get("requested_additional_capabilities") or {}
        properties = requested.get("properties") or {}
        if "requested_additional_capability_name" in properties:
            found[name] = properties["requested_additional_capability_name"]
    return found


def _computes(vnfd_dict: Json) -> Iterator[tuple[str, Json]]:
    """Return the properties of each virtual_compute that has some."""
    for name, node in _nodes(vnfd_dict):
        compute = (node.get("capabilities") or {}).get("virtual_compute") or {}
        if compute.get("properties"):
            yield name, compute["properties"]


def _nodes(vnfd_dict: Json) -> Iterator[tuple[str, Json]]:
    topology = vnfd_dict.get("topology_template") or {}
    yield from (topology.get("node_templates") or {}).items()


def create_vdu_image_dict(grant_info: Mapping[str, Any]) -> Json:
    """Return VDU or storage -> image in the grant."""
    return {
        name: resource.resource_identifier
        for name, resources in grant_info.items()
        for resource in resources
    }


def create_sw_image_dict(vnfd_dict: Json) -> Json:
    """Return VDU or storage -> name of its image in the VNFD."""
    found = {}
    for name, node in _nodes(vnfd_dict):
        image = (node.get("properties") or {}).get("sw_image_data") or {}
        if "name" in image:
            found[name] = image["name"]
    return found


def create_cpd_vl_dict(base_hot_dict: Json, inst_req_info: Any) -> Json:
    """Return CP -> network, for those that are resources of a template."""
    resources = {
        name
        for hot in base_hot_dict.values()
        for name in hot.get("resources") or {}
    }
    return {
        point.cpd_id: link.resource_id
        for link in inst_req_info.ext_virtual_links or ()
        for point in link.ext_cps
        if point.cpd_id in resources
    }


def create_network_dict(inst_req_info: Any, param_dict: Json) -> Json:
    """Return CP -> ``network`` and ``fixed_ips``, for those in nfv."""
    cps = (param_dict.get("nfv") or {}).get("CP") or {}
    return {
        point.cpd_id: {
            "network": link.resource_id,
            "fixed_ips": list(_fixed_ips(point)),
        }
        for link in inst_req_info.ext_virtual_links or ()
        for point in link.ext_cps
        if point.cpd_id in cps
    }


def _fixed_ips(point: Any) -> Iterator[Json]:
    for config in point.cp_config or ():
        for protocol in config.cp_protocol_data or ():
            ethernet = protocol.ip_over_ethernet
            for requested in ethernet.ip_addresses if ethernet else ():
                yield from _fixed_ips_of(requested)


def _fixed_ips_of(requested: Any) -> Iterator[Json]:
    subnet = {"subnet": requested.subnet_id} if requested.subnet_id else {}
    for address in requested.fixed_addresses or ():
        yield {"ip_address": address, **subnet}
    if subnet and not requested.fixed_addresses:
        yield subnet


def get_diff_base_hot_param_from_api(
    base_hot_dict: Json, inst_req_info: Any
) -> Json:
    """Return the additionalParams that are parameters of BaseHOT."""
    names = base_hot_dict["heat_template"].get("parameters") or {}
    requested = inst_req_info.additional_params or {}
    return {name: requested[name] for name in names if requested.get(name)}


def create_desired_capacity_dict(
    base_hot_dict: Json, vnfd_dict: Json, inst_req_info: Any
) -> Json:
    """Return aspect -> number of VNFCs of its VDU at the requested level."""
    wanted = getattr(inst_req_info, "instantiation_level_id", None)
    levels: dict[str, int] = {}
    for properties, _ in _policies(vnfd_dict, "InstantiationLevels"):
        level = properties["levels"][wanted or properties["default_level"]]
        for aspect, info in (level.get("scale_info") or {}).items():
            levels[aspect] = info["scale_level"]
    return _capacities(base_hot_dict, vnfd_dict, levels)


def get_desired_capacity_dict(
    base_hot_dict: Json, vnfd_dict: Json, inst_vnf_info: Any
) -> Json:
    """Return aspect -> number of VNFCs of its VDU at its scale level."""
    levels = {
        status.aspect_id: status.scale_level
        for status in inst_vnf_info.scale_status
    }
    return _capacities(base_hot_dict, vnfd_dict, levels)


def _capacities(
    base_hot_dict: Json, vnfd_dict: Json, levels: Mapping[str, int]
) -> Json:
    """Return the numbers at these scale levels; none without a group."""
    resources = base_hot_dict["heat_template"].get("resources") or {}
    types = {resource.get("type") for resource in resources.values()}
    if AUTO_SCALING_GROUP not in types:
        return {}
    initial = {
        vdu: properties["initial_delta"]["number_of_instances"]
        for properties, targets in _policies(vnfd_dict, "VduInitialDelta")
        for vdu in targets
    }
    found = {}
    for properties, vdus in _policies(vnfd_dict, "VduScalingAspectDeltas"):
        *_, delta = properties["deltas"].values()
        for vdu in vdus:
            if vdu in initial and properties["aspect"] in levels:
                found[properties["aspect"]] = (
                    initial[vdu]
                    + delta["number_of_instances"]
                    * levels[properties["aspect"]]
                )
    return found


def _policies(
    vnfd_dict: Json, name: str
) -> Iterator[tuple[Json, Collection[str]]]:
    """Return properties and targets of each policy of a type."""
    topology = vnfd_dict.get("topology_template") or {}
    for entry in topology.get("policies") or ():
        for policy in entry.values():
            if policy.get("type") == f"{_POLICIES}{name}":
                yield policy["properties"], policy.get("targets") or ()
