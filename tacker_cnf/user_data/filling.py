"""Fills the nfv that a template reads."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import yaml

from tacker_cnf import errors
from tacker_cnf.lcm import merge
from tacker_cnf.lcm.connectivity import GIVEN
from tacker_cnf.user_data import parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.package import Package

#: without these Heat would refuse a stack in words that name no cause
NEEDED: Final = frozenset({"computeFlavourId", "vcImageId", "network", "port"})


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

    def kept_nfv(self) -> Json | None:
        """Give the nfv that the stack had before the operation."""
        info = self.inst.get("instantiatedVnfInfo") or {}
        kept: Json | None = info.get("metadata", {}).get("nfv")
        return kept

    def rolled(self) -> frozenset[str]:
        """Give the VDUs that a change of package is about, and their
        storages: those of vdu_params, or all.
        """
        nodes = self.package.get_vdu_nodes(self.flavour_id)
        asked = self.req.get("additionalParams") or {}
        named = {one["vdu_id"] for one in asked.get("vdu_params") or ()}
        vdus = [node for name, node in nodes.items() if name in named]
        chosen = vdus or list(nodes.values())
        storages = (self.package.get_vdu_storages(node) for node in chosen)
        return frozenset(node.id for node in chosen).union(*storages)

    def heals_all(self) -> bool:
        """Tell whether a heal makes all of the VNF anew."""
        asked = self.req.get("additionalParams") or {}
        return asked.get("all") is True and not self.req.get("vnfcInstanceId")

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

    def with_own(self, nfv: Json) -> Json:
        """Put what the request and the grant say of nfv itself over it."""
        for says in (self.req, self.grant):
            own = (says.get("additionalParams") or {}).get("nfv") or {}
            nfv = merge.patched(nfv, own)
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
Points = Callable[[int | None], Finders]


def of_vdus(told: Sources) -> Finders:
    """Tell how each attribute of a VDU or a storage is found."""
    flavour, package = told.flavour_id, told.package
    return {
        "computeFlavourId": lambda name: parameters.get_param_flavor(
            name, flavour, package, told.grant
        ),
        "vcImageId": lambda name: parameters.get_param_image(
            name, flavour, package, told.grant
        ),
        "locationConstraints": lambda name: parameters.get_param_zone(
            name, told.grant_req, told.grant
        ),
        "desired_capacity": lambda name: parameters.get_param_capacity(
            name, told.inst, told.grant_req
        ),
    }


def of_assets(told: Sources) -> Finders:
    """Tell what the grant itself says of a VDU or a storage, if it does."""
    assets = told.grant.get("vimAssets") or {}
    flavours = {
        one["vnfdVirtualComputeDescId"]: one["vimFlavourId"]
        for one in assets.get("computeResourceFlavours", ())
    }
    images = {
        one["vnfdSoftwareImageId"]: one["vimSoftwareImageId"]
        for one in assets.get("softwareImages", ())
    }
    return {"computeFlavourId": flavours.get, "vcImageId": images.get}


def of_new_points(told: Sources) -> Points:
    """Tell how a connection point is connected from now on."""
    grant = _with_known(told.grant, told.inst)
    req = _with_known(told.req, told.inst)
    return lambda number: {
        "network": lambda name: parameters.get_param_network(name, grant, req),
        "port": lambda name: parameters.get_param_port(
            name, grant, req, number
        ),
        "fixed_ips": lambda name: parameters.get_param_fixed_ips(
            name, grant, req, number
        ),
    }


def _with_known(says: Json, inst: Json) -> Json:
    """Put what is said of connection points over their configurations, which
    it patches: null takes one away, one that is not named stays.
    """
    info = inst.get("instantiatedVnfInfo") or {}
    known: dict[str, Json] = {}
    ports: dict[str, list[Json]] = {}
    for link in info.get("extVirtualLinkInfo", ()):
        ports[link["id"]] = [
            {**port, "id": port["id"].removeprefix(GIVEN)}
            for port in link.get("extLinkPorts", ())
        ]
        for point in link.get("currentVnfExtCpData", ()):
            configs = known.setdefault(point["cpdId"], {})
            configs.update(point.get("cpConfig", {}))

    def patched(point: Json) -> Json:
        asked = point.get("cpConfig", {})
        # what is asked for now comes first
        both = {**asked, **known.get(point["cpdId"], {}), **asked}
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
            for link in says.get("extVirtualLinks", ())
        ]
    }


def first_of(asked: Points, told: Sources) -> Points:
    """Tell how a connection point is connected: as it is asked for, if it is,
    and otherwise as before.
    """
    before = of_old_points(told)

    def chosen(attribute: str, number: int | None) -> Callable[[str], Any]:
        return lambda name: (
            before if asked(number)["network"](name) is None else asked
        )(number)[attribute](name)

    return lambda number: {
        attribute: chosen(attribute, number) for attribute in asked(number)
    }


def of_old_points(told: Sources) -> Points:
    """Tell how a connection point is connected before the operation."""
    inst = told.inst
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


def filled(
    read: Mapping[str, Json], finders: Finders, suffix: str = ""
) -> Json:
    """Find what a template reads of VDUs, or of connection points.

    :param read: name -> attribute -> None; those without a finder are left
        out
    :param suffix: of the names, which is no part of what they are found by
    """
    found = {}
    for name, attributes in read.items():
        plain = name.removesuffix(suffix)
        values = {
            attribute: _shaped(wanted, finders[attribute](plain))
            for attribute, wanted in attributes.items()
            if attribute in finders
        }
        found[name] = values
    return found


def _shaped(wanted: Any, value: Any) -> Any:
    """Give of a list of addresses what the template reads of it."""
    if not isinstance(wanted, dict):
        return value
    given = value or []
    return [
        {key: one.get(key) for key in wanted.get(index, {})}
        for index, one in enumerate(given)
        if index in wanted
    ]


def told_only(values: Json) -> Json:
    """Leave out what nobody says anything of."""
    kept = {
        name: {key: value for key, value in inner.items() if value}
        for name, inner in values.items()
    }
    return {name: inner for name, inner in kept.items() if inner}


def named_only(
    values: Json,
    points: Points,
    plain: Callable[[str], str] = lambda name: name,
) -> Json:
    """Leave out the connection points that nobody names. Of those that are
    named all is told: that one has no port any more, or no fixed address.

    :param plain: tells what a name is of
    """
    return {
        name: inner
        for name, inner in values.items()
        if points(None)["network"](plain(name)) is not None
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
                if value is None and attribute in NEEDED:
                    yield f"nfv.{kind}.{name}.{attribute}"


def whole(template: Json, files: Json, nfv: Json) -> Json:
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


def change(told: Sources, **nfv: Json) -> Json:
    """Give what changes of nfv."""
    return {"parameters": {"nfv": told.with_own(nfv)}}


def moved(
    told: Sources, hot: Json, found: Json, reads: Json | None = None
) -> Json:
    """Give what a stack is made of whose package changes: the template, and
    of nfv what was found; all else of nfv stays.

    :param reads: what the template reads of nfv, if it is to be checked
    :raises InvalidParameters: something is missing of it
    """
    kept = told.kept_nfv()
    if kept is None:
        return change(told, **found)
    template = hot["template"]
    for says in (told.managed_links(), told.req, told.grant):
        parameters.apply_ext_managed_vls(template, says, {})
    nfv = told.with_own(merge.patched(kept, found))
    if reads is not None:
        seen = _seen(nfv, reads)
        check(seen)
        for kind, names in seen.items():
            # a merge patch cannot say that there is none of something
            entries = nfv.setdefault(kind, {})
            for name, values in names.items():
                entries[name] = {**entries.get(name, {}), **values}
    return whole(template, hot["files"], nfv)


def _seen(nfv: Json, reads: Json) -> Json:
    """Give what of nfv is read; what it does not have is None."""
    return {
        kind: {
            name: {key: _of(nfv, kind, name).get(key) for key in attributes}
            for name, attributes in names.items()
        }
        for kind, names in reads.items()
    }


def _of(nfv: Json, kind: str, name: str) -> Json:
    found: Json = (nfv.get(kind) or {}).get(name) or {}
    return found
