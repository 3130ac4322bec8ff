"""Where the values of a stack's parameter ``nfv`` are found.

BaseHOT reads them by ``get_param: [nfv, VDU, <VDU or storage>, <attribute>]``
and ``get_param: [nfv, CP, <connection point>, <attribute>]``. What the grant
says comes before what the request says, and that before what the VNFD says.

Public names are those that user data written for Tacker calls. None stands
for what nobody says.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.package import Package
from tacker_cnf.vnfd.model import Vnfd

#: directory -> the VNFD of the package in it
_PACKAGES: ContextVar[Mapping[str, Vnfd]] = ContextVar("known")


@contextlib.contextmanager
def use_package(csar_dir: str, vnfd: Vnfd) -> Iterator[None]:
    """Have get_vnfd know the package in a directory."""
    token = _PACKAGES.set({csar_dir: vnfd})
    try:
        yield
    finally:
        _PACKAGES.reset(token)


def get_vnfd(vnfd_id: str, csar_dir: str) -> Package:
    """Give the package in a directory, which is that of a VNFD."""
    vnfd = _PACKAGES.get()[csar_dir]
    if vnfd.id != vnfd_id:
        raise ValueError(f"the package has VNFD {vnfd.id}, not {vnfd_id}")
    return Package(vnfd, Path(csar_dir))


def init_nfv_dict(hot_template: Json) -> Json:
    """Give the nfv that a template's resources read, each value None.

    What is read of a list stands under the number as it is written there.
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
    """Find the lists that get_param is given."""
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
    """Tell the compute flavour of a VDU."""
    for asset in _assets(grant, "computeResourceFlavours"):
        if asset["vnfdVirtualComputeDescId"] == vdu_name:
            return str(asset["vimFlavourId"])
    return vnfd.get_compute_flavor(flavour_id, vdu_name)


def get_param_image(
    vdu_name: str, flavour_id: str, vnfd: Package, grant: Json
) -> str | None:
    """Tell the image of a VDU or a storage."""
    for asset in _assets(grant, "softwareImages"):
        if asset["vnfdSoftwareImageId"] == vdu_name:
            return str(asset["vimSoftwareImageId"])
    return vnfd.get_sw_image(flavour_id).get(vdu_name)


def _assets(grant: Json, kind: str) -> Iterable[Json]:
    found: Iterable[Json] = (grant.get("vimAssets") or {}).get(kind, ())
    return found


def get_param_zone(vdu_name: str, grant_req: Json, grant: Json) -> str | None:
    """Tell the zone of a VDU: that of the first VNFC added that has one."""
    zones = get_param_zones(vdu_name, grant_req, grant)
    return next(filter(None, zones), None)


def get_param_zones(
    vdu_name: str, grant_req: Json, grant: Json
) -> list[str | None]:
    """Tell the zone of each VNFC of a VDU that is added."""
    names = {zone["id"]: zone["zoneId"] for zone in grant.get("zones", ())}
    placed = {
        info["resourceDefinitionId"]: names.get(info.get("zoneId"))
        for info in grant.get("addResources", ())
    }
    added = _computes(grant_req, "addResources", vdu_name)
    return [placed.get(one["id"]) for one in added]


def _computes(grant_req: Json, change: str, vdu_name: str) -> list[Json]:
    return [
        one
        for one in grant_req.get(change, ())
        if one["type"] == "COMPUTE" and one["resourceTemplateId"] == vdu_name
    ]


def get_current_capacity(vdu_name: str, inst: Json) -> int:
    """Tell how many VNFCs a VDU has."""
    info = inst.get("instantiatedVnfInfo") or {}
    vnfcs = info.get("vnfcResourceInfo", ())
    return sum(vnfc["vduId"] == vdu_name for vnfc in vnfcs)


def get_param_capacity(vdu_name: str, inst: Json, grant_req: Json) -> int:
    """Tell how many VNFCs a VDU is to have."""
    return (
        get_current_capacity(vdu_name, inst)
        + len(_computes(grant_req, "addResources", vdu_name))
        - len(_computes(grant_req, "removeResources", vdu_name))
    )


def get_param_network(cp_name: str, grant: Json, req: Json) -> str | None:
    """Tell the network that a connection point is to be on."""
    for link, _ in _requested_cps(cp_name, grant, req):
        return str(link["resourceId"])
    return None


def get_param_fixed_ips(
    cp_name: str, grant: Json, req: Json, number: int | None = None
) -> list[Json] | None:
    """Tell the addresses and subnets that a connection point is to have.

    :param number: of the VNFC, if each has a configuration of its own
    """
    for _, point in _requested_cps(cp_name, grant, req):
        return _fixed_ips(point, number)
    return None


def get_param_port(
    cp_name: str, grant: Json, req: Json, number: int | None = None
) -> str | None:
    """Tell the port that somebody else made for a connection point.

    :param number: of the VNFC, if each has a configuration of its own
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
    """Find what is said of a connection point, and its external link."""
    for one in bodies:
        for link in one.get("extVirtualLinks", ()):
            for point in link["extCps"]:
                if point["cpdId"] == cp_name:
                    yield link, point


def get_param_network_from_inst(cp_name: str, inst: Json) -> str | None:
    """Tell the network that a connection point is on."""
    for link, _ in _current_cps(cp_name, inst):
        return str(link["resourceHandle"]["resourceId"])
    return None


def get_param_fixed_ips_from_inst(
    cp_name: str, inst: Json, number: int | None = None
) -> list[Json] | None:
    """Tell the addresses and subnets that a connection point has.

    :param number: of the VNFC, if each has a configuration of its own
    """
    for _, point in _current_cps(cp_name, inst):
        return _fixed_ips(point, number)
    return None


def get_param_port_from_inst(
    cp_name: str, inst: Json, number: int | None = None
) -> str | None:
    """Tell the port of somebody else that a connection point has.

    :param number: of the VNFC, if each has a configuration of its own
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
    """Give the configurations of a connection point; null is none.

    :param number: of a VNFC, which has one of them; where there are fewer,
        the last one. None: all are meant
    """
    found = [one for one in point.get("cpConfig", {}).values() if one]
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
    """Give each address, with its subnet; or the subnet alone, of which
    Neutron chooses one.
    """
    subnet = (
        {"subnet": requested["subnetId"]} if requested.get("subnetId") else {}
    )
    addresses = requested.get("fixedAddresses") or ()
    fixed = [{"ip_address": str(one), **subnet} for one in addresses]
    return fixed or ([subnet] if subnet else [])


def apply_ext_managed_vls(hot_dict: Json, req: Json, grant: Json) -> None:
    """Put the networks that somebody else manages in the place of those
    that a template would make, which go, and their subnets.
    """
    for one in (grant, req):
        for link in one.get("extManagedVirtualLinks", ()):
            name, network = link["vnfVirtualLinkDescId"], link["resourceId"]
            with contextlib.suppress(KeyError):
                _replace_network(hot_dict["resources"], name, network)


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
    """Let a resource wait for those only that are still there."""
    depends_on = resource.pop("depends_on", [])
    names = [depends_on] if isinstance(depends_on, str) else depends_on
    if remaining := [name for name in names if name not in removed]:
        resource["depends_on"] = remaining


def _replace(value: Any, change: Callable[[Any], Any]) -> None:
    """Change what is in a JSON value, in place."""
    if isinstance(value, dict):
        pairs: Iterable[tuple[Any, Any]] = list(value.items())
    else:
        pairs = list(enumerate(value)) if isinstance(value, list) else ()
    for key, inner in pairs:
        value[key] = change(inner)
        _replace(value[key], change)
