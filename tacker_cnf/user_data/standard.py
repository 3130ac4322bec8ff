"""User data for a template in which each VNFC is a resource of its own.

BaseHOT has one resource of each VDU. A stack has as many as there are VNFCs:
``VDU1-0``, ``VDU1-1`` and so on, and each reads an nfv of its own: where that
of the VDU reads ``[nfv, VDU, VDU1, vcImageId]``, the first one reads ``[nfv,
VDU, VDU1-0, vcImageId]``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tacker_cnf.user_data import filling, parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.filled import FilledUserData, Made
from tacker_cnf.user_data.filling import Finders, Points, Sources

#: VDU -> the numbers of some of its VNFCs
Indexes = Mapping[str, Sequence[int]]


def add_idx(name: str, index: int) -> str:
    return f"{name}-{index}"


def rm_idx(name_idx: str) -> str:
    return name_idx.rpartition("-")[0]


class StandardUserData(FilledUserData):
    """Makes a resource of each VNFC."""

    @staticmethod
    def made(told: Sources, points: Points) -> Made:
        hot = told.base_hot()
        template = hot["template"]
        units = _Units(told, template)
        resources, nfv, origins = units.made(units.wanted(), points)
        # what other resources than VDUs read
        read = parameters.init_nfv_dict(template)
        for kind, by in (("VDU", filling.of_vdus(told)), ("CP", points(None))):
            nfv[kind] |= filling.filled(read.get(kind, {}), by)
        template["resources"].update(resources)
        return Made(hot=hot, nfv=nfv, origins=origins)

    @staticmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        whole = told.base_hot()["template"]
        units = _Units(told, whole)
        if req["type"] == "SCALE_IN":
            return units.without(units.removed())
        points = filling.of_old_points(told)
        resources, found, _ = units.made(units.added(), points)
        nfv = told.with_own(found)
        filling.check(nfv)
        # those of others that they refer to may not be in the stack
        whole["resources"].update(resources)
        parameters.apply_ext_managed_vls(whole, told.managed_links(), {})
        added = {name: whole["resources"][name] for name in resources}
        template = {"resources": added}
        return {
            "template": yaml.safe_dump(template),
            "parameters": {"nfv": nfv},
        }

    @staticmethod
    def scale_rollback(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what the stack was made of before it was scaled out."""
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        units = _Units(told, told.base_hot()["template"])
        return units.without(units.added())

    @staticmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell the images and flavours that the grant names, of what is made
        anew: servers, and with additionalParams.all their storages.
        """
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        units = _Units(told, told.base_hot()["template"])
        gone = units.removed()
        _, nfv, origins = units.made(
            gone, lambda _: {}, filling.of_assets(told)
        )
        anew = set(gone)
        if (req.get("additionalParams") or {}).get("all") is True:
            anew |= set(origins.values())
        found = {
            name: values
            for name, values in nfv["VDU"].items()
            if origins[name] in anew
        }
        return filling.change(told, VDU=filling.told_only(found))


class _Units:
    """The VNFCs of a VNF, each a resource.

    :param template: BaseHOT, from which the resources of VDUs are taken away
    """

    def __init__(self, told: Sources, template: Json) -> None:
        self._told = told
        resources = template["resources"]
        self._nodes = told.package.get_vdu_nodes(told.flavour_id)
        self._resources = {
            vdu: resources.pop(vdu) for vdu in self._nodes if vdu in resources
        }

    def there(self) -> dict[str, list[int]]:
        """Tell the VNFCs that there are."""
        found: dict[str, list[int]] = {vdu: [] for vdu in self._resources}
        for vdu, index in _known(self._told.inst).values():
            if vdu in found:
                found[vdu].append(index)
        return found

    def added(self) -> dict[str, list[int]]:
        """Tell the VNFCs that come to those that there are, by the lowest
        free numbers.
        """
        return {
            vdu: _free(taken, max(self._more(vdu), 0))
            for vdu, taken in self.there().items()
        }

    def wanted(self) -> dict[str, list[int]]:
        """Tell the VNFCs that there are to be: those that come first."""
        there = self.there()
        return {vdu: new + there[vdu] for vdu, new in self.added().items()}

    def _more(self, vdu: str) -> int:
        """Tell how many VNFCs of a VDU the grant adds to those it has."""
        told = self._told
        had = parameters.get_current_capacity(vdu, told.inst)
        wanted = parameters.get_param_capacity(vdu, told.inst, told.grant_req)
        return wanted - had

    def removed(self) -> dict[str, list[int]]:
        """Tell the VNFCs that the grant removes."""
        known = _known(self._told.inst)
        found: dict[str, list[int]] = {vdu: [] for vdu in self._resources}
        for one in self._told.grant_req.get("removeResources", ()):
            where = (one.get("resource") or {}).get("resourceId")
            vdu, index = known.get(where, ("", 0))
            if one["type"] == "COMPUTE" and vdu in found:
                found[vdu].append(index)
        return found

    def _zones(self, vdu: str) -> list[str | None]:
        told = self._told
        return parameters.get_param_zones(vdu, told.grant_req, told.grant)

    def made(
        self,
        indexes: Indexes,
        points: Points,
        vdus: Finders | None = None,
    ) -> tuple[Json, Json, dict[str, str]]:
        """Give resources of VNFCs, the nfv that they read, and for each name
        in it what the package calls it.

        :param vdus: tells of VDUs and storages, if not all that is known
        """
        resources: Json = {}
        nfv: Json = {"VDU": {}, "CP": {}}
        origins: dict[str, str] = {}
        for vdu, index, zone in self._each(indexes):
            name = add_idx(vdu, index)
            resources[name] = _indexed(self._resources[vdu], index)
            finders = self._finders(zone) if vdus is None else vdus
            read = parameters.init_nfv_dict(
                {"resources": {name: resources[name]}}
            )
            suffix = add_idx("", index)
            for kind, by in (("VDU", finders), ("CP", points(index))):
                names = read.get(kind, {})
                nfv[kind] |= filling.filled(names, by, suffix)
                origins |= {key: key.removesuffix(suffix) for key in names}
        return resources, nfv, origins

    def _finders(self, zone: str | None) -> Finders:
        def its_own(_: str) -> str | None:
            return zone

        return {
            **filling.of_vdus(self._told),
            "locationConstraints": its_own,
        }

    def _each(self, indexes: Indexes) -> Iterator[tuple[str, int, str | None]]:
        for vdu, numbers in indexes.items():
            zones = self._zones(vdu)
            for place, index in enumerate(numbers):
                zone = zones[place] if place < len(zones) else None
                yield vdu, index, zone

    def without(self, indexes: Indexes) -> Json:
        """Give what takes VNFCs from a stack."""
        resources: Json = {}
        nfv: Json = {"VDU": {}, "CP": {}}
        for vdu, index, _ in self._each(indexes):
            resources[add_idx(vdu, index)] = None
            package = self._told.package
            storages = package.get_vdu_storages(self._nodes[vdu])
            cps = package.get_vdu_cps(self._told.flavour_id, vdu)
            for name in (vdu, *storages):
                nfv["VDU"][add_idx(name, index)] = None
            for name in cps:
                nfv["CP"][add_idx(name, index)] = None
        template = yaml.safe_dump({"resources": resources})
        return {"template": template, "parameters": {"nfv": nfv}}


def _known(inst: Json) -> dict[Any, tuple[str, int]]:
    """Tell the VDU and the number of each VNFC, by its compute resource."""
    info = inst.get("instantiatedVnfInfo") or {}
    return {
        vnfc["computeResource"]["resourceId"]: (
            vnfc["vduId"],
            int(vnfc["metadata"]["vdu_idx"]),
        )
        for vnfc in info.get("vnfcResourceInfo", ())
        if vnfc.get("metadata", {}).get("vdu_idx") is not None
    }


def _free(taken: Sequence[int], count: int) -> list[int]:
    numbers = (n for n in range(len(taken) + count) if n not in taken)
    return [next(numbers) for _ in range(count)]


def _indexed(value: Any, index: int) -> Any:
    """Copy a resource, to read an nfv of its own."""
    if isinstance(value, list):
        return [_indexed(inner, index) for inner in value]
    if not isinstance(value, dict):
        return value
    path = value.get("get_param")
    if isinstance(path, list) and len(path) > 3 and path[0] == "nfv":
        return {"get_param": [*path[:2], add_idx(path[2], index), *path[3:]]}
    return {key: _indexed(inner, index) for key, inner in value.items()}
