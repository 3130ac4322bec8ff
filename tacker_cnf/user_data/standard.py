"""User data for templates in which each VNFC is a separate resource.

BaseHOT has one resource for each VDU. A stack has one for each VNFC,
``VDU1-0``, ``VDU1-1`` and so on, which read separate entries of nfv: instead
of ``[nfv, VDU, VDU1, vcImageId]``, the first one reads ``[nfv, VDU, VDU1-0,
vcImageId]``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tacker_cnf.user_data import nfv_values, parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.builtin import BuiltinUserData, StackContent
from tacker_cnf.user_data.nfv_values import CpFinders, Finders, Sources

#: VDU -> indexes of some of its VNFCs
Indexes = Mapping[str, Sequence[int]]


def add_idx(name: str, index: int) -> str:
    return f"{name}-{index}"


def rm_idx(name_idx: str) -> str:
    return name_idx.rpartition("-")[0]


def add_idx_to_vdu_template(vdu_template: Any, vdu_idx: int) -> Any:
    """Copy a resource so that it reads the entries of nfv of one VNFC."""
    if isinstance(vdu_template, list):
        return [
            add_idx_to_vdu_template(item, vdu_idx) for item in vdu_template
        ]
    if not isinstance(vdu_template, dict):
        return vdu_template
    path = vdu_template.get("get_param")
    if isinstance(path, list) and len(path) > 3 and path[0] == "nfv":
        return {"get_param": [*path[:2], add_idx(path[2], vdu_idx), *path[3:]]}
    return {
        key: add_idx_to_vdu_template(inner, vdu_idx)
        for key, inner in vdu_template.items()
    }


class StandardUserData(BuiltinUserData):
    """Creates a resource for each VNFC."""

    @staticmethod
    def stack_content(sources: Sources, cp_finders: CpFinders) -> StackContent:
        hot = sources.base_hot()
        template = hot["template"]
        vnfc_resources = _VnfcResources(sources, template)
        resources, nfv, origins = vnfc_resources.stack_content(
            vnfc_resources.desired(), cp_finders
        )
        # values that resources other than VDUs read
        read = parameters.init_nfv_dict(template)
        for kind, value_finders in (
            ("VDU", nfv_values.vdu_finders(sources)),
            ("CP", cp_finders(None)),
        ):
            nfv[kind] |= nfv_values.resolve_values(
                read.get(kind, {}), value_finders
            )
        template["resources"].update(resources)
        return StackContent(hot=hot, nfv=nfv, origins=origins)

    @staticmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        base_template = sources.base_hot()["template"]
        vnfc_resources = _VnfcResources(sources, base_template)
        cp_finders = nfv_values.current_cp_finders(sources)
        resources, found, _ = vnfc_resources.stack_content(
            vnfc_resources.added(), cp_finders
        )
        nfv = sources.with_overrides(found)
        nfv_values.check(nfv)
        return vnfc_resources.patch(
            resources, nfv, vnfc_resources.removed(), base_template
        )

    @staticmethod
    def scale_rollback(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return a patch that removes the added VNFCs, and adds the removed
        ones, whose values nfv had before.
        """
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        base_template = sources.base_hot()["template"]
        vnfc_resources = _VnfcResources(sources, base_template)
        resources, _, _ = vnfc_resources.stack_content(
            vnfc_resources.removed(), nfv_values.current_cp_finders(sources)
        )
        return vnfc_resources.patch(
            resources, {}, vnfc_resources.added(), base_template
        )

    @staticmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the images and flavours in the grant, of what the heal
        replaces: servers, and with additionalParams.all their storages.
        """
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        vnfc_resources = _VnfcResources(
            sources, sources.base_hot()["template"]
        )
        removed_vnfcs = vnfc_resources.removed()
        _, nfv, origins = vnfc_resources.stack_content(
            removed_vnfcs, lambda _: {}, nfv_values.asset_finders(sources)
        )
        replaced = set(removed_vnfcs)
        if (req.get("additionalParams") or {}).get("all") is True:
            replaced |= set(origins.values())
        found = {
            name: values
            for name, values in nfv["VDU"].items()
            if origins[name] in replaced
        }
        return nfv_values.nfv_patch(
            sources, VDU=nfv_values.without_empty(found)
        )


class _VnfcResources:
    """The VNFCs of a VNF, each a separate resource.

    :param template: BaseHOT, from which the resources of VDUs are removed
    """

    def __init__(self, sources: Sources, template: Json) -> None:
        self._sources = sources
        resources = template["resources"]
        self._vdus = sources.package.flavour(sources.flavour_id).vdus
        self._resources = {
            vdu: resources.pop(vdu) for vdu in self._vdus if vdu in resources
        }

    def current(self) -> dict[str, list[int]]:
        """Return VDU -> indexes of its current VNFCs."""
        found: dict[str, list[int]] = {vdu: [] for vdu in self._resources}
        for vdu, index in _vnfc_indexes(self._sources.inst).values():
            if vdu in found:
                found[vdu].append(index)
        return found

    def added(self) -> dict[str, list[int]]:
        """Return VDU -> indexes of the VNFCs to add: the lowest free ones."""
        return {
            vdu: _free_indexes(taken, max(self._count_to_add(vdu), 0))
            for vdu, taken in self.current().items()
        }

    def desired(self) -> dict[str, list[int]]:
        """Return VDU -> indexes of its VNFCs after the operation; added ones
        are first. VNFCs of another flavour may have no index: they are
        replaced.
        """
        removed = self.removed()
        found: dict[str, list[int]] = {}
        for vdu, taken in self.current().items():
            kept = [index for index in taken if index not in removed[vdu]]
            missing = self._capacity(vdu) - len(kept)
            found[vdu] = _free_indexes(kept, max(missing, 0)) + kept
        return found

    def _count_to_add(self, vdu: str) -> int:
        """Return the number of VNFCs of a VDU that the operation adds."""
        return self._capacity(vdu) - parameters.get_current_capacity(
            vdu, self._sources.inst
        )

    def _capacity(self, vdu: str) -> int:
        """Return the number of VNFCs of a VDU after the operation."""
        sources = self._sources
        return parameters.get_param_capacity(
            vdu, sources.inst, sources.grant_req
        )

    def removed(self) -> dict[str, list[int]]:
        """Return VDU -> indexes of the VNFCs that the operation removes."""
        by_server = _vnfc_indexes(self._sources.inst)
        found: dict[str, list[int]] = {vdu: [] for vdu in self._resources}
        for removed in self._sources.grant_req.get("removeResources", ()):
            server = (removed.get("resource") or {}).get("resourceId")
            vdu, index = by_server.get(server, ("", 0))
            if removed["type"] == "COMPUTE" and vdu in found:
                found[vdu].append(index)
        return found

    def _zones(self, vdu: str) -> list[str | None]:
        sources = self._sources
        return parameters.get_param_zones(
            vdu, sources.grant_req, sources.grant
        )

    def stack_content(
        self,
        indexes: Indexes,
        cp_finders: CpFinders,
        vdus: Finders | None = None,
    ) -> tuple[Json, Json, dict[str, str]]:
        """Build the resources of VNFCs, and the nfv that they read.

        :param vdus: finders of VDUs and storages; None: all values
        :returns: name -> resource, nfv, name in nfv -> name in the VNFD
        """
        resources: Json = {}
        nfv: Json = {"VDU": {}, "CP": {}}
        origins: dict[str, str] = {}
        for vdu, index, zone in self._each(indexes):
            name = add_idx(vdu, index)
            resources[name] = add_idx_to_vdu_template(
                self._resources[vdu], index
            )
            finders = self._finders(zone) if vdus is None else vdus
            read = parameters.init_nfv_dict(
                {"resources": {name: resources[name]}}
            )
            suffix = add_idx("", index)
            for kind, value_finders in (
                ("VDU", finders),
                ("CP", cp_finders(index)),
            ):
                names = read.get(kind, {})
                nfv[kind] |= nfv_values.resolve_values(
                    names, value_finders, suffix
                )
                origins |= {key: key.removesuffix(suffix) for key in names}
        return resources, nfv, origins

    def _finders(self, zone: str | None) -> Finders:
        def fixed_zone(_: str) -> str | None:
            return zone

        return {
            **nfv_values.vdu_finders(self._sources),
            "locationConstraints": fixed_zone,
        }

    def _each(self, indexes: Indexes) -> Iterator[tuple[str, int, str | None]]:
        for vdu, numbers in indexes.items():
            zones = self._zones(vdu)
            for position, index in enumerate(numbers):
                zone = zones[position] if position < len(zones) else None
                yield vdu, index, zone

    def patch(
        self, added: Json, nfv: Json, removed: Indexes, base_template: Json
    ) -> Json:
        """Build the result of user data that adds VNFCs to a stack and removes
        others.

        :param added: name -> resource
        :param nfv: values that the added ones read
        :param base_template: template without the resources of VDUs
        """
        # the networks that they refer to may be externally managed
        base_template["resources"].update(added)
        parameters.apply_ext_managed_vls_from_inst(
            base_template, self._sources.inst
        )
        resources = {name: base_template["resources"][name] for name in added}
        values = {kind: dict(nfv.get(kind, {})) for kind in ("VDU", "CP")}
        for vdu, index, _ in self._each(removed):
            resources[add_idx(vdu, index)] = None
            package = self._sources.package
            cps = package.get_vdu_cps(self._sources.flavour_id, vdu)
            for name in (vdu, *self._vdus[vdu].storages):
                values["VDU"][add_idx(name, index)] = None
            for name in cps:
                values["CP"][add_idx(name, index)] = None
        template = yaml.safe_dump({"resources": resources})
        return {"template": template, "parameters": {"nfv": {**nfv, **values}}}


def _vnfc_indexes(inst: Json) -> dict[Any, tuple[str, int]]:
    """Return id of the compute resource -> VDU and index of its VNFC."""
    info = inst.get("instantiatedVnfInfo") or {}
    return {
        vnfc["computeResource"]["resourceId"]: (
            vnfc["vduId"],
            int(vnfc["metadata"]["vdu_idx"]),
        )
        for vnfc in info.get("vnfcResourceInfo", ())
        if vnfc.get("metadata", {}).get("vdu_idx") is not None
    }


def _free_indexes(taken: Sequence[int], count: int) -> list[int]:
    numbers = (n for n in range(len(taken) + count) if n not in taken)
    return [next(numbers) for _ in range(count)]
