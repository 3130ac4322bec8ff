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


def of_new_points(told: Sources) -> Finders:
    """Tell how a connection point is connected from now on."""
    says = [_with_known(one, told.inst) for one in (told.grant, told.req)]
    return {
        "network": lambda name: parameters.get_param_network(name, *says),
        "port": lambda name: parameters.get_param_port(name, *says),
        "fixed_ips": lambda name: parameters.get_param_fixed_ips(name, *says),
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


def of_old_points(told: Sources) -> Finders:
    """Tell how a connection point is connected before the operation."""
    inst = told.inst
    return {
        "network": lambda name: parameters.get_param_network_from_inst(
            name, inst
        ),
        "port": lambda name: parameters.get_param_port_from_inst(name, inst),
        "fixed_ips": lambda name: parameters.get_param_fixed_ips_from_inst(
            name, inst
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
    points: Finders,
    plain: Callable[[str], str] = lambda name: name,
) -> Json:
    """Leave out the connection points that nobody names. Of those that are
    named all is told: that one has no port any more, or no fixed address.

    :param plain: tells what a name is of
    """
    return {
        name: inner
        for name, inner in values.items()
        if points["network"](plain(name)) is not None
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


def moved(told: Sources, hot: Json, found: Json) -> Json:
    """Give what a stack is made of whose package changes: the template, and
    of nfv what was found; all else of nfv stays.
    """
    kept = told.kept_nfv()
    if kept is None:
        return change(told, **found)
    template = hot["template"]
    for says in (told.managed_links(), told.req, told.grant):
        parameters.apply_ext_managed_vls(template, says, {})
    nfv = told.with_own(merge.patched(kept, found))
    return whole(template, hot["files"], nfv)
