"""Finds the values of a stack's parameter ``nfv``.

BaseHOT reads them by ``get_param: [nfv, VDU, <VDU or storage>, <attribute>]``
and ``get_param: [nfv, CP, <connection point>, <attribute>]``. The grant has
priority over the request, and the request over the VNFD.

User data written for Tacker calls the public functions by these names. They
return None for a value that is not set.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.package import Package
from tacker_cnf.vnfd.model import Vnfd

#: directory -> the VNFD of the package in it
_PACKAGES: ContextVar[Mapping[str, Vnfd]] = ContextVar("packages")


@contextlib.contextmanager
def use_package(csar_dir: str, vnfd: Vnfd) -> Iterator[None]:
    """Make get_vnfd return the package in a directory."""
    token = _PACKAGES.set({csar_dir: vnfd})
    try:
        yield
    finally:
        _PACKAGES.reset(token)


def get_vnfd(vnfd_id: str, csar_dir: str) -> Package:
    """Return the package in a directory.

    :raises ValueError: it has another VNFD
    """
    vnfd = _PACKAGES.get()[csar_dir]
    if vnfd.id != vnfd_id:
        raise ValueError(f"the package has VNFD {vnfd.id}, not {vnfd_id}")
    return Package(vnfd, Path(csar_dir))


def init_nfv_dict(hot_template: Json) -> Json:
    """Return the nfv that the resources of a template read, all values None.

    An item of a list is an entry with its index as the key.
    """
    nfv: Json = {}
    for path in _paths(hot_template.get("resources", {})):
        if len(path) < 4 or path[0] != "nfv":
            continue
        inner = nfv
        for name in path[1:-1]:
            inner = inner.setdefault(name, {})
        inner.setdefault(path[-1], None)
    return nfv


def _paths(value: Any) -> Iterator[list[Any]]:
    """Return the arguments of get_param that are lists."""
    if isinstance(value, Mapping):
        path = value.get("get_param")
        if isinstance(path, list):
            yield path
        for inner in value.values():
            yield from _paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner)


def get_param_flavor(
    vdu_name: str, flavour_id: str, vnfd: Package, grant: Json
) -> str | None:
    """Return the compute flavour of a VDU."""
    for asset in _assets(grant, "computeResourceFlavours"):
        if asset["vnfdVirtualComputeDescId"] == vdu_name:
            return str(asset["vimFlavourId"])
    return vnfd.get_compute_flavor(flavour_id, vdu_name)


def get_param_image(
    vdu_name: str,
    flavour_id: str,
    vnfd: Package,
    grant: Json,
    fallback_vnfd: bool = True,  # noqa: FBT002  # may be positional
) -> str | None:
    """Return the image of a VDU or a storage.

    :param fallback_vnfd: return that in the VNFD if the grant has none
    """
    for asset in _assets(grant, "softwareImages"):
        if asset["vnfdSoftwareImageId"] == vdu_name:
            return str(asset["vimSoftwareImageId"])
    return (
        vnfd.get_sw_image(flavour_id).get(vdu_name) if fallback_vnfd else None
    )


def _assets(grant: Json, kind: str) -> Iterable[Json]:
    found: Iterable[Json] = (grant.get("vimAssets") or {}).get(kind, ())
    return found


def get_param_zone(vdu_name: str, grant_req: Json, grant: Json) -> str | None:
    """Return the zone of the first added VNFC of a VDU that has one."""
    zones = get_param_zones(vdu_name, grant_req, grant)
    return next(filter(None, zones), None)


def get_param_zones(
    vdu_name: str, grant_req: Json, grant: Json
) -> list[str | None]:
    """Return the zone of each added VNFC of a VDU."""
    zones = _zones_of_added(grant)
    added = _computes(grant_req, "addResources", vdu_name)
    return [zones.get(resource["id"]) for resource in added]


def get_param_zone_by_vnfc(res_id: str, grant: Json) -> str | None:
    """Return the zone of an added resource.

    :param res_id: its id in addResources of the grant request
    """
    return _zones_of_added(grant).get(res_id)


def _zones_of_added(grant: Json) -> dict[str, str | None]:
    """Return added resource -> its zone."""
    names = {zone["id"]: zone["zoneId"] for zone in grant.get("zones", ())}
    return {
        info["resourceDefinitionId"]: names.get(info.get("zoneId"))
        for info in grant.get("addResources", ())
    }


def _computes(grant_req: Json, change: str, vdu_name: str) -> list[Json]:
    return [
        resource
        for resource in grant_req.get(change, ())
        if resource["type"] == "COMPUTE"
        and resource["resourceTemplateId"] == vdu_name
    ]


def get_current_capacity(vdu_name: str, inst: Json) -> int:
    """Return the current number of VNFCs of a VDU."""
    info = inst.get("instantiatedVnfInfo") or {}
    vnfcs = info.get("vnfcResourceInfo", ())
    return sum(vnfc["vduId"] == vdu_name for vnfc in vnfcs)


def get_param_capacity(vdu_name: str, inst: Json, grant_req: Json) -> int:
    """Return the number of VNFCs of a VDU after the operation."""
    return (
        get_current_capacity(vdu_name, inst)
        + len(_computes(grant_req, "addResources", vdu_name))
        - len(_computes(grant_req, "removeResources", vdu_name))
    )


def get_param_network(cp_name: str, grant: Json, req: Json) -> str | None:
    """Return the requested network of a connection point."""
    for link, _ in _requested_cps(cp_name, grant, req):
        return str(link["resourceId"])
    return None


def get_param_fixed_ips(
    cp_name: str, grant: Json, req: Json, number: int | None = None
) -> list[Json] | None:
    """Return the requested addresses and subnets of a connection point.

    :param number: index of the VNFC, if each has its own configuration
    :returns: dicts with ``ip_address``, ``subnet`` or both
    """
    for _, point in _requested_cps(cp_name, grant, req):
        return _fixed_ips(point, number)
    return None


def get_param_port(
    cp_name: str, grant: Json, req: Json, number: int | None = None
) -> str | None:
    """Return the port that the request provides for a connection point.

    :param number: index of the VNFC, if each has its own configuration
    """
    for link, point in _requested_cps(cp_name, grant, req):
        ports = {
            port["id"]: port["resourceHandle"]["resourceId"]
            for port in link.get("extLinkPorts", ())
        }
        for config in _configs(point, number):
            if config.get("linkPortId") in ports:
                return str(ports[config["linkPortId"]])
    return None


def _requested_cps(cp_name: str, *bodies: Json) -> Iterator[tuple[Json, Json]]:
    """Return the entries of a connection point in extCps, each with its
    external link: (link, entry).
    """
    for body in bodies:
        for link in body.get("extVirtualLinks", ()):
            for point in link["extCps"]:
                if point["cpdId"] == cp_name:
                    yield link, point


def get_param_network_from_inst(cp_name: str, inst: Json) -> str | None:
    """Return the current network of a connection point."""
    for link, _ in _current_cps(cp_name, inst):
        return str(link["resourceHandle"]["resourceId"])
    return None


def get_param_fixed_ips_from_inst(
    cp_name: str, inst: Json, number: int | None = None
) -> list[Json] | None:
    """Return the current addresses and subnets of a connection point.

    :param number: index of the VNFC, if each has its own configuration
    :returns: dicts with ``ip_address``, ``subnet`` or both
    """
    for _, point in _current_cps(cp_name, inst):
        return _fixed_ips(point, number)
    return None


def get_param_port_from_inst(
    cp_name: str, inst: Json, number: int | None = None
) -> str | None:
    """Return the current port of a connection point that a request provided.

    :param number: index of the VNFC, if each has its own configuration
    """
    for link, point in _current_cps(cp_name, inst):
        configs = _configs(point, number)
        wanted = {config.get("linkPortId") for config in configs}
        for port in link.get("extLinkPorts", ()):
            if port["id"].removeprefix(REQUEST_PORT_PREFIX) in wanted:
                return str(port["resourceHandle"]["resourceId"])
    return None


def _current_cps(cp_name: str, inst: Json) -> Iterator[tuple[Json, Json]]:
    info = inst.get("instantiatedVnfInfo") or {}
    for link in info.get("extVirtualLinkInfo", ()):
        for point in link.get("currentVnfExtCpData", ()):
            if point["cpdId"] == cp_name:
                yield link, point


def _configs(point: Json, number: int | None) -> list[Json]:
    """Return the configurations of a connection point that are not null.

    :param number: index of the VNFC that has one of them, or the last one if
        there are fewer; None: return all
    """
    found = [config for config in point.get("cpConfig", {}).values() if config]
    return found if number is None else found[: number + 1][-1:]


def _fixed_ips(point: Json, number: int | None) -> list[Json]:
    found: list[Json] = []
    for config in _configs(point, number):
        for protocol in config.get("cpProtocolData", ()):
            ethernet = protocol.get("ipOverEthernet") or {}
            for requested in ethernet.get("ipAddresses", ()):
                found += _fixed_ips_of(requested)
    return found


def _fixed_ips_of(requested: Json) -> list[Json]:
    """Return each address with its subnet; or only the subnet, from which
    Neutron assigns an address.
    """
    subnet = (
        {"subnet": requested["subnetId"]} if requested.get("subnetId") else {}
    )
    addresses = requested.get("fixedAddresses") or ()
    fixed = [{"ip_address": str(address), **subnet} for address in addresses]
    return fixed or ([subnet] if subnet else [])


def json_merge_patch(target: Json, patch: Json) -> Json:
    """Apply a JSON merge patch (IETF RFC 7396) in place, and return it all."""
    patched = merge.patched(target, patch)
    target.clear()
    target.update(patched)
    return target


def apply_ext_managed_vls(hot_dict: Json, req: Json, grant: Json) -> None:
    """Replace networks in a template by externally managed ones, and remove
    their subnets.
    """
    for body in (grant, req):
        for link in body.get("extManagedVirtualLinks", ()):
            name, network = link["vnfVirtualLinkDescId"], link["resourceId"]
            with contextlib.suppress(KeyError):
                _replace_network(hot_dict["resources"], name, network)


def apply_ext_managed_vls_from_inst(hot_dict: Json, inst: Json) -> None:
    """Replace networks in a template by the externally managed ones of the
    instance, and remove their subnets.
    """
    info = inst.get("instantiatedVnfInfo") or {}
    links = [
        {
            "vnfVirtualLinkDescId": link["vnfVirtualLinkDescId"],
            "resourceId": link["networkResource"]["resourceId"],
        }
        for link in info.get("extManagedVirtualLinkInfo") or ()
    ]
    apply_ext_managed_vls(hot_dict, {"extManagedVirtualLinks": links}, {})


def _replace_network(resources: Json, name: str, network: str) -> None:
    reference = {"get_resource": name}
    removed = {name}
    for key, value in resources.items():
        of = (value.get("properties") or {}).get("network")
        if value["type"] == "OS::Neutron::Subnet" and of == reference:
            removed.add(key)
    for key in removed:
        del resources[key]
    for value in resources.values():
        _drop_dependencies(value, removed)
    _replace(resources, lambda value: network if value == reference else value)


def _drop_dependencies(resource: Json, removed: set[str]) -> None:
    """Remove the names of removed resources from depends_on."""
    depends_on = resource.pop("depends_on", [])
    names = [depends_on] if isinstance(depends_on, str) else depends_on
    if remaining := [name for name in names if name not in removed]:
        resource["depends_on"] = remaining


def _replace(value: Any, change: Callable[[Any], Any]) -> None:
    """Apply a function to each value in a JSON value, in place."""
    if isinstance(value, dict):
        pairs: Iterable[tuple[Any, Any]] = list(value.items())
    else:
        pairs = list(enumerate(value)) if isinstance(value, list) else ()
    for key, inner in pairs:
        value[key] = change(inner)
        _replace(value[key], change)
