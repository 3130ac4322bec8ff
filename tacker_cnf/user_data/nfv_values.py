"""Computes the values of nfv that a template reads."""

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

#: without these Heat rejects the stack with an error that does not name them
REQUIRED_ATTRIBUTES: Final = frozenset(
    {"computeFlavourId", "flavor", "image", "vcImageId", "network", "port"}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sources:
    """The input of a user data method."""

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
        """Return nfv of the stack before the operation; None: unknown."""
        info = self.inst.get("instantiatedVnfInfo") or {}
        nfv: Json | None = info.get("metadata", {}).get("nfv")
        return nfv

    def vdus_to_update(self) -> frozenset[str]:
        """Return the VDUs that a change of package updates, and their
        storages: the VDUs in vdu_params, or all.
        """
        vdus = self.package.flavour(self.flavour_id).vdus
        requested = self.req.get("additionalParams") or {}
        vdu_ids = {one["vdu_id"] for one in requested.get("vdu_params") or ()}
        named = [vdu for name, vdu in vdus.items() if name in vdu_ids]
        chosen = named or list(vdus.values())
        storages = (vdu.storages for vdu in chosen)
        return frozenset(vdu.id for vdu in chosen).union(*storages)

    def heals_all(self) -> bool:
        """Return whether a heal recreates the whole VNF."""
        requested = self.req.get("additionalParams") or {}
        return requested.get("all") is True and not self.req.get(
            "vnfcInstanceId"
        )

    def apply_ext_managed_vls(self, template: Json) -> None:
        """Replace networks in a template by the externally managed ones of
        the instance, or else of the request or of the grant.
        """
        parameters.apply_ext_managed_vls_from_inst(template, self.inst)
        parameters.apply_ext_managed_vls(template, self.req, {})
        parameters.apply_ext_managed_vls(template, self.grant, {})

    def with_overrides(self, nfv: Json) -> Json:
        """Merge additionalParams.nfv of request and grant into nfv."""
        for body in (self.req, self.grant):
            overrides = (body.get("additionalParams") or {}).get("nfv") or {}
            nfv = merge.patched(nfv, overrides)
        return nfv


def sources(
    req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
) -> Sources:
    """Build Sources from the arguments of a user data method."""
    return Sources(
        req=req,
        inst=inst,
        grant_req=grant_req,
        grant=grant,
        package=parameters.get_vnfd(inst["vnfdId"], tmp_csar_dir),
    )


Finders = Mapping[str, Callable[[str], Any]]
#: index of a VNFC, if each has a configuration of its own -> finders of its
#: connection points
CpFinders = Callable[[int | None], Finders]


def vdu_finders(sources: Sources) -> Finders:
    """Return attribute of a VDU or storage -> function of its name."""
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
    """Return finders of the flavours and images in the grant alone."""
    assets = sources.grant.get("vimAssets") or {}
    flavours = {
        asset["vnfdVirtualComputeDescId"]: asset["vimFlavourId"]
        for asset in assets.get("computeResourceFlavours", ())
    }
    images = {
        asset["vnfdSoftwareImageId"]: asset["vimSoftwareImageId"]
        for asset in assets.get("softwareImages", ())
    }
    return {"computeFlavourId": flavours.get, "vcImageId": images.get}


def new_cp_finders(sources: Sources) -> CpFinders:
    """Return finders of connection points after the operation."""
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
    """Merge the connection points of a request or grant into the current
    configurations: null removes one, one that is absent is unchanged.
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
        # requested configurations first
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
    """Return finders of connection points: as requested, or else current."""
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
    """Return finders of connection points before the operation."""
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
    """Return name -> attribute -> value of what a template reads.

    :param read: name of a VDU or connection point -> attribute -> None;
        attributes without a finder are left out
    :param suffix: suffix of the names, removed before the finders are called
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
    """Select the fields of a list of addresses that the template reads.

    :param wanted: index -> field -> None; otherwise the value is returned
    """
    if not isinstance(wanted, dict):
        return value
    addresses = value or []
    return [
        {key: address.get(key) for key in wanted.get(index, {})}
        for index, address in enumerate(addresses)
        if index in wanted
    ]


def without_empty(values: Json) -> Json:
    """Remove values that are not set, and entries without any value."""
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
    """Remove the connection points that are not requested. Those requested
    keep all values: None removes a port or a fixed address.

    :param original_name: returns the name in the VNFD
    """
    return {
        name: inner
        for name, inner in values.items()
        if cp_finders(None)["network"](original_name(name)) is not None
    }


def check(nfv: Json) -> None:
    """Check that all required values are set.

    :raises InvalidParameters: a value is missing
    """
    if missing := sorted(_missing(nfv)):
        raise errors.InvalidParameters(
            f"{', '.join(missing)}: required by the template, but set neither "
            "in the grant, nor in the request, nor in the VNFD."
        )


def _missing(nfv: Json) -> Iterator[str]:
    for kind in ("VDU", "CP"):
        for name, attributes in (nfv.get(kind) or {}).items():
            for attribute, value in attributes.items():
                if value is None and attribute in REQUIRED_ATTRIBUTES:
                    yield f"nfv.{kind}.{name}.{attribute}"


def full_fields(template: Json, files: Json, nfv: Json) -> Json:
    """Build the result of user data with complete fields."""
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
    """Build the result of user data with a patch of nfv."""
    return {"parameters": {"nfv": sources.with_overrides(nfv)}}


def package_change_fields(
    sources: Sources,
    hot: Json,
    found: Json,
    read_attributes: Json | None = None,
) -> Json:
    """Build the result of user data for a change of package: the complete
    template, and nfv patched by ``found``.

    :param found: patch of nfv
    :param read_attributes: what the template reads of nfv, to check that it
        is complete; None: do not check
    :raises InvalidParameters: a value that the template requires is missing
    """
    previous_nfv = sources.current_nfv()
    if previous_nfv is None:
        return nfv_patch(sources, **found)
    template = hot["template"]
    sources.apply_ext_managed_vls(template)
    nfv = sources.with_overrides(merge.patched(previous_nfv, found))
    if read_attributes is not None:
        resolved = read_values(nfv, read_attributes)
        check(resolved)
        for kind, names in resolved.items():
            # a merge patch cannot set a value to None
            entries = nfv.setdefault(kind, {})
            for name, values in names.items():
                entries[name] = {**entries.get(name, {}), **values}
    return full_fields(template, hot["files"], nfv)


def read_values(nfv: Json, read_attributes: Json) -> Json:
    """Return the values of nfv that are read; None for missing ones."""
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
