"""Fills the nfv that a template reads."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import yaml

from tacker_cnf import errors
from tacker_cnf.lcm import merge
from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.user_data import parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.package import Package

#: without these Heat would refuse a stack in words that name no cause
REQUIRED_ATTRIBUTES: Final = frozenset(
    {"computeFlavourId", "vcImageId", "network", "port"}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sources:
    """What user data is told."""

    req: Json
    inst: Json
    grant_req: Json
    grant: Json
    package: Package

    @property
    def flavour_id(self) -> str:
        info = self.inst.get("instantiatedVnfInfo") or {}
        return str(self.req.get("flavourId") or info["flavourId"])

    def base_hot(self) -> Json:
        return self.package.get_base_hot(self.flavour_id)

    def current_nfv(self) -> Json | None:
        """Give the nfv that the stack had before the operation."""
        info = self.inst.get("instantiatedVnfInfo") or {}
        nfv: Json | None = info.get("metadata", {}).get("nfv")
        return nfv

    def vdus_to_update(self) -> frozenset[str]:
        """Give the VDUs that a change of package is about, and their
        storages: those of vdu_params, or all.
        """
        nodes = self.package.get_vdu_nodes(self.flavour_id)
        requested = self.req.get("additionalParams") or {}
        vdu_ids = {one["vdu_id"] for one in requested.get("vdu_params") or ()}
        vdus = [node for name, node in nodes.items() if name in vdu_ids]
        chosen = vdus or list(nodes.values())
        storages = (self.package.get_vdu_storages(node) for node in chosen)
        return frozenset(node.id for node in chosen).union(*storages)

    def heals_all(self) -> bool:
        """Tell whether a heal makes all of the VNF anew."""
        requested = self.req.get("additionalParams") or {}
        return requested.get("all") is True and not self.req.get(
            "vnfcInstanceId"
        )

    def managed_links(self) -> Json:
        """Give the links that others manage, as a request says it."""
        info = self.inst.get("instantiatedVnfInfo") or {}
        return {
            "extManagedVirtualLinks": [
                {
                    "vnfVirtualLinkDescId": link["vnfVirtualLinkDescId"],
                    "resourceId": link["networkResource"]["resourceId"],
                }
                for link in info.get("extManagedVirtualLinkInfo", ())
            ]
        }

    def with_overrides(self, nfv: Json) -> Json:
        """Put what the request and the grant say of nfv itself over it."""
        for body in (self.req, self.grant):
            overrides = (body.get("additionalParams") or {}).get("nfv") or {}
            nfv = merge.patched(nfv, overrides)
        return nfv


def sources(
    req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
) -> Sources:
    """Bring together what a method of user data gets."""
    return Sources(
        req=req,
        inst=inst,
        grant_req=grant_req,
        grant=grant,
        package=parameters.get_vnfd(inst["vnfdId"], tmp_csar_dir),
    )


Finders = Mapping[str, Callable[[str], Any]]
#: gives those of connection points, by the number of a VNFC, if each has a
#: configuration of its own
CpFinders = Callable[[int | None], Finders]


def vdu_finders(sources: Sources) -> Finders:
    """Tell how each attribute of a VDU or a storage is found."""
    flavour, package = sources.flavour_id, sources.package
    return {
        "computeFlavourId": lambda name: parameters.get_param_flavor(
            name, flavour, package, sources.grant
        ),
        "vcImageId": lambda name: parameters.get_param_image(
            name, flavour, package, sources.grant
        ),
        "locationConstraints": lambda name: parameters.get_param_zone(
            name, sources.grant_req, sources.grant
        ),
        "desired_capacity": lambda name: parameters.get_param_capacity(
            name, sources.inst, sources.grant_req
        ),
    }


def asset_finders(sources: Sources) -> Finders:
    """Tell what the grant itself says of a VDU or a storage, if it does."""
    assets = sources.grant.get("vimAssets") or {}
    flavours = {
        one["vnfdVirtualComputeDescId"]: one["vimFlavourId"]
        for one in assets.get("computeResourceFlavours", ())
    }
    images = {
        one["vnfdSoftwareImageId"]: one["vimSoftwareImageId"]
        for one in assets.get("softwareImages", ())
    }
    return {"computeFlavourId": flavours.get, "vcImageId": images.get}


def new_cp_finders(sources: Sources) -> CpFinders:
    """Tell how a connection point is connected from now on."""
    grant = _with_current_configs(sources.grant, sources.inst)
    req = _with_current_configs(sources.req, sources.inst)
    return lambda number: {
        "network": lambda name: parameters.get_param_network(name, grant, req),
        "port": lambda name: parameters.get_param_port(
            name, grant, req, number
        ),
        "fixed_ips": lambda name: parameters.get_param_fixed_ips(
            name, grant, req, number
        ),
    }


def _with_current_configs(body: Json, inst: Json) -> Json:
    """Put what is said of connection points over their configurations, which
    it patches: null takes one away, one that is not named stays.
    """
    info = inst.get("instantiatedVnfInfo") or {}
    current: dict[str, Json] = {}
    ports: dict[str, list[Json]] = {}
    for link in info.get("extVirtualLinkInfo", ()):
        ports[link["id"]] = [
            {**port, "id": port["id"].removeprefix(REQUEST_PORT_PREFIX)}
            for port in link.get("extLinkPorts", ())
        ]
        for point in link.get("currentVnfExtCpData", ()):
            configs = current.setdefault(point["cpdId"], {})
            configs.update(point.get("cpConfig", {}))

    def patched(point: Json) -> Json:
        requested = point.get("cpConfig", {})
        # what is asked for now comes first
        both = {**requested, **current.get(point["cpdId"], {}), **requested}
        return {**point, "cpConfig": both}

    return {
        "extVirtualLinks": [
            {
                **link,
                "extCps": [patched(point) for point in link["extCps"]],
                "extLinkPorts": [
                    *ports.get(link.get("id", ""), ()),
                    *link.get("extLinkPorts", ()),
                ],
            }
            for link in body.get("extVirtualLinks", ())
        ]
    }


def requested_or_current(requested: CpFinders, sources: Sources) -> CpFinders:
    """Tell how a connection point is connected: as it is asked for, if it is,
    and otherwise as before.
    """
    current_finders = current_cp_finders(sources)

    def chosen(attribute: str, number: int | None) -> Callable[[str], Any]:
        return lambda name: (
            current_finders
            if requested(number)["network"](name) is None
            else requested
        )(number)[attribute](name)

    return lambda number: {
        attribute: chosen(attribute, number) for attribute in requested(number)
    }


def current_cp_finders(sources: Sources) -> CpFinders:
    """Tell how a connection point is connected before the operation."""
    inst = sources.inst
    return lambda number: {
        "network": lambda name: parameters.get_param_network_from_inst(
            name, inst
        ),
        "port": lambda name: parameters.get_param_port_from_inst(
            name, inst, number
        ),
        "fixed_ips": lambda name: parameters.get_param_fixed_ips_from_inst(
            name, inst, number
        ),
    }


def resolve_values(
    read: Mapping[str, Json], finders: Finders, suffix: str = ""
) -> Json:
    """Find what a template reads of VDUs, or of connection points.

    :param read: name -> attribute -> None; those without a finder are left
        out
    :param suffix: of the names, which is no part of what they are found by
    """
    found = {}
    for name, attributes in read.items():
        original_name = name.removesuffix(suffix)
        values = {
            attribute: _select_fields(
                wanted, finders[attribute](original_name)
            )
            for attribute, wanted in attributes.items()
            if attribute in finders
        }
        found[name] = values
    return found


def _select_fields(wanted: Any, value: Any) -> Any:
    """Give of a list of addresses what the template reads of it."""
    if not isinstance(wanted, dict):
        return value
    addresses = value or []
    return [
        {key: one.get(key) for key in wanted.get(index, {})}
        for index, one in enumerate(addresses)
        if index in wanted
    ]


def without_empty(values: Json) -> Json:
    """Leave out what nobody says anything of."""
    non_empty = {
        name: {key: value for key, value in inner.items() if value}
        for name, inner in values.items()
    }
    return {name: inner for name, inner in non_empty.items() if inner}


def only_requested_cps(
    values: Json,
    cp_finders: CpFinders,
    original_name: Callable[[str], str] = lambda name: name,
) -> Json:
    """Leave out the connection points that nobody names. Of those that are
    named all is told: that one has no port any more, or no fixed address.

    :param original_name: tells what a name is of
    """
    return {
        name: inner
        for name, inner in values.items()
        if cp_finders(None)["network"](original_name(name)) is not None
    }


def check(nfv: Json) -> None:
    """Make sure that nothing is missing without which there is no stack.

    :raises InvalidParameters: something is
    """
    if missing := sorted(_missing(nfv)):
        raise errors.InvalidParameters(
            f"{', '.join(missing)}: the template needs it, and neither the "
            "grant, nor the request, nor the VNFD says it."
        )


def _missing(nfv: Json) -> Iterator[str]:
    for kind in ("VDU", "CP"):
        for name, attributes in (nfv.get(kind) or {}).items():
            for attribute, value in attributes.items():
                if value is None and attribute in REQUIRED_ATTRIBUTES:
                    yield f"nfv.{kind}.{name}.{attribute}"


def full_fields(template: Json, files: Json, nfv: Json) -> Json:
    """Give all that a stack is made of."""
    return {
        "template": yaml.safe_dump(template, sort_keys=False),
        "files": {
            name: yaml.safe_dump(nested, sort_keys=False)
            for name, nested in files.items()
        },
        "parameters": {"nfv": nfv},
        "existing": False,
    }


def nfv_patch(sources: Sources, **nfv: Json) -> Json:
    """Give what changes of nfv."""
    return {"parameters": {"nfv": sources.with_overrides(nfv)}}


def package_change_fields(
    sources: Sources,
    hot: Json,
    found: Json,
    read_attributes: Json | None = None,
) -> Json:
    """Give what a stack is made of whose package changes: the template, and
    of nfv what was found; all else of nfv stays.

    :param read_attributes: what the template reads of nfv, if it is to be checked
    :raises InvalidParameters: something is missing of it
    """
    previous_nfv = sources.current_nfv()
    if previous_nfv is None:
        return nfv_patch(sources, **found)
    template = hot["template"]
    for body in (sources.managed_links(), sources.req, sources.grant):
        parameters.apply_ext_managed_vls(template, body, {})
    nfv = sources.with_overrides(merge.patched(previous_nfv, found))
    if read_attributes is not None:
        read_values = _read_values(nfv, read_attributes)
        check(read_values)
        for kind, names in read_values.items():
            # a merge patch cannot say that there is none of something
            entries = nfv.setdefault(kind, {})
            for name, values in names.items():
                entries[name] = {**entries.get(name, {}), **values}
    return full_fields(template, hot["files"], nfv)


def _read_values(nfv: Json, read_attributes: Json) -> Json:
    """Give what of nfv is read; what it does not have is None."""
    return {
        kind: {
            name: {key: _entry(nfv, kind, name).get(key) for key in attributes}
            for name, attributes in names.items()
        }
        for kind, names in read_attributes.items()
    }


def _entry(nfv: Json, kind: str, name: str) -> Json:
    found: Json = (nfv.get(kind) or {}).get(name) or {}
    return found
