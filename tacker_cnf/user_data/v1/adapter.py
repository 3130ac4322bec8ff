"""Calls user data of version 1 as that of version 2."""

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from tacker_cnf.lcm import merge
from tacker_cnf.user_data import nfv_values, parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.nfv_values import Sources
from tacker_cnf.user_data.v1 import groups, objects
from tacker_cnf.user_data.v1.groups import Sizes
from tacker_cnf.vnfd.model import Flavour

#: arguments of the methods of version 2: the request, the VNF instance, the
#: grant request, the grant, and the directory of the package
Call = tuple[Json, Json, Json, Json, str]


class Version1UserData:
    """The methods of version 2 of a class of version 1.

    Operations for which the class has no method keep the parameters of the
    stack, but for the size of its groups and the networks in the request.
    """

    def __init__(self, user_data: Any) -> None:
        self._user_data = user_data

    def instantiate(self, *call: *Call) -> Json:
        """Return the fields of a new stack.

        :raises InvalidParameters: the class lacks a value that the template
            requires, or a VDU cannot have its number of VNFCs
        """
        sources = nfv_values.sources(*call)
        hot = sources.base_hot()
        result = self._user_data.instantiate(
            *_package_arguments(sources, hot),
            objects.from_json(sources.req),
            _grant_info(sources.grant),
        )
        sizes = _sizes(sources, hot, dict.fromkeys(_scaled_vdus(sources), 1))
        found = merge.patched(_checked(result), sizes.parameters)
        nfv = found.setdefault("nfv", {})
        _apply_grant(nfv, sources)
        template = merge.patched(hot["template"], sizes.template)
        _check_complete(nfv, template)
        parameters.apply_ext_managed_vls(template, sources.req, sources.grant)
        fields = nfv_values.full_fields(template, hot["files"], nfv)
        return {**fields, "parameters": found}

    def scale(self, *call: *Call) -> Json:
        """Return the changed fields of a stack that is scaled."""
        sources = nfv_values.sources(*call)
        result: Any = {}
        if hasattr(self._user_data, "scale"):
            aspect = _flavour(sources).aspects[sources.req["aspectId"]]
            counts = (_count(sources, vdu) for vdu in aspect.deltas)
            result = self._user_data.scale(
                *_update_arguments(sources), next(counts, None)
            )
        return _changed_fields(sources, _checked(result))

    def scale_to_level(self, *call: *Call) -> Json:
        """Return the changed fields of a stack, with the VNFCs of the grant
        request.
        """
        sources = nfv_values.sources(*call)
        return _changed_fields(sources, {})

    def heal(self, *call: *Call) -> Json:
        """Return the changed fields of a stack that is healed. The whole VNF
        gets the parameters that it has.
        """
        sources = nfv_values.sources(*call)
        result: Any = {}
        if hasattr(self._user_data, "heal") and not sources.heals_all():
            arguments = _update_arguments(sources)
            _, _, request, _, info, _ = arguments
            vnfcs = _vnfcs_to_heal(sources, info)
            if request.vnfc_instance_id:
                request.vnfc_instance_id = [vnfc.id for vnfc in vnfcs]
            result = self._user_data.heal(*arguments, vnfcs)
        return _changed_fields(sources, _checked(result))

    def change_ext_conn(self, *call: *Call) -> Json:
        """Return the networks and addresses in the request, for the
        connection points in nfv.
        """
        sources = nfv_values.sources(*call)
        finders = nfv_values.new_cp_finders(sources)(None)
        points = {}
        for name, values in (_current_nfv(sources).get("CP") or {}).items():
            network = finders["network"](name)
            fixed_ips = finders["fixed_ips"](name)
            if network is not None:
                points[name] = {"network": network}
                if fixed_ips or "fixed_ips" in values:
                    points[name]["fixed_ips"] = fixed_ips
        return nfv_values.nfv_patch(sources, CP=points)

    def scale_rollback(self, *call: *Call) -> Json:
        """Return the fields of the stack before the operation."""
        _, inst, _, _, tmp_csar_dir = call
        sources = nfv_values.sources({}, inst, {}, {}, tmp_csar_dir)
        return _changed_fields(sources, {})

    scale_to_level_rollback = change_ext_conn_rollback = scale_rollback


def _checked(result: Any) -> Json:
    """Check the result of a method.

    :raises TypeError: it, or "nfv" in it, is not a dict
    """
    if isinstance(result, dict) and isinstance(result.get("nfv", {}), dict):
        return result
    raise TypeError(
        "user data of version 1 has to return a dict, the parameters of the "
        f'stack, in which "nfv" is a dict, not {result!r:.80}'
    )


def _package_arguments(sources: Sources, hot: Json) -> tuple[Json, Json]:
    """Return base_hot_dict and vnfd_dict; user data may change the first."""
    templates = {**hot["files"], "heat_template": hot["template"]}
    return templates, sources.package.definitions(sources.flavour_id)


def _update_arguments(sources: Sources) -> tuple[Any, ...]:
    """Return the arguments of ``scale`` and ``heal``, without the last."""
    inst = objects.from_json(sources.inst)
    return (
        *_package_arguments(sources, sources.base_hot()),
        objects.from_json(sources.req),
        inst,
        inst.instantiated_vnf_info,
        {"nfv": copy.deepcopy(_current_nfv(sources))},
    )


def _current_nfv(sources: Sources) -> Json:
    return sources.current_nfv() or {}


def _vnfcs_to_heal(sources: Sources, info: Any) -> list[Any]:
    removed = {
        resource["resource"]["resourceId"]
        for resource in sources.grant_req.get("removeResources", ())
        if resource["type"] == "COMPUTE"
    }
    return [
        vnfc
        for vnfc in info.vnfc_resource_info
        if vnfc.compute_resource.resource_id in removed
    ]


def _grant_info(grant: Json) -> dict[str, list[Any]]:
    """Return VDU or storage -> its image, as a resource."""
    assets = grant.get("vimAssets") or {}
    return {
        image["vnfdSoftwareImageId"]: [
            objects.SolObject(
                resource_identifier=image["vimSoftwareImageId"],
                resource_type="image",
            )
        ]
        for image in assets.get("softwareImages", ())
    }


def _apply_grant(nfv: Json, sources: Sources) -> None:
    """Replace flavours and images that are those of the VNFD by the granted
    ones, and set the granted zones.
    """
    package, flavour_id = sources.package, sources.flavour_id
    images = package.get_sw_image(flavour_id)
    granted = nfv_values.asset_finders(sources)
    for name, values in (nfv.get("VDU") or {}).items():
        of_vnfd = {
            "flavor": package.get_compute_flavor(flavour_id, name),
            "image": images.get(name),
        }
        for key, attribute in (
            ("flavor", "computeFlavourId"),
            ("image", "vcImageId"),
        ):
            if values.get(key) == of_vnfd[key]:
                values[key] = granted[attribute](name) or of_vnfd[key]
        zone = parameters.get_param_zone(
            name, sources.grant_req, sources.grant
        )
        if zone is not None:
            values.setdefault("zone", zone)


def _check_complete(nfv: Json, template: Json) -> None:
    """Check that nfv has the flavours and networks that the template reads.

    :raises InvalidParameters: one of them is missing
    """
    read = parameters.init_nfv_dict(template)
    kinds = {kind: read.get(kind, {}) for kind in ("VDU", "CP")}
    nfv_values.check(nfv_values.read_values(nfv, kinds))


def _changed_fields(sources: Sources, found: Json) -> Json:
    """Return the result of a method, with the size of the groups."""
    current = {
        vdu: parameters.get_current_capacity(vdu, sources.inst)
        for vdu in _scaled_vdus(sources)
    }
    sizes = _sizes(sources, sources.base_hot(), current)
    return {
        "parameters": merge.patched(found, sizes.parameters),
        **_template_patch(sizes),
    }


def _template_patch(sizes: Sizes) -> Mapping[str, str]:
    if not sizes.template:
        return {}
    return {"template": yaml.safe_dump(sizes.template, sort_keys=False)}


def _sizes(sources: Sources, hot: Json, current: Mapping[str, int]) -> Sizes:
    desired = {vdu: _count(sources, vdu) for vdu in _scaled_vdus(sources)}
    return groups.set_sizes(hot, desired, current)


def _scaled_vdus(sources: Sources) -> list[str]:
    """Return the VDUs that an aspect scales."""
    aspects = _flavour(sources).aspects.values()
    return sorted({vdu for aspect in aspects for vdu in aspect.deltas})


def _count(sources: Sources, vdu: str) -> int:
    """Return the number of VNFCs of a VDU after the operation."""
    return parameters.get_param_capacity(vdu, sources.inst, sources.grant_req)


def _flavour(sources: Sources) -> Flavour:
    return sources.package.flavour(sources.flavour_id)
