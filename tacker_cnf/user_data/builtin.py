"""The common part of the built-in user data: set nfv, which BaseHOT reads."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Final

from tacker_cnf.user_data import nfv_values, parameters
from tacker_cnf.user_data.base import Json, UserData
from tacker_cnf.user_data.nfv_values import CpFinders, Sources

#: attributes of VDUs and storages that a change of package updates
ASSET_ATTRIBUTES: Final = ("computeFlavourId", "vcImageId")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackContent:
    """A stack with the VNFCs of the desired state."""

    #: {"template": the template, "files": {name: nested template}}
    hot: Json
    #: all values that the template reads: {"VDU": {...}, "CP": {...}}
    nfv: Json
    #: name in nfv -> name in the VNFD, where they differ
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def original_name(self, name: str) -> str:
        return self.origins.get(name, name)


class BuiltinUserData(UserData):
    """Takes values from the grant, the request and the VNFD."""

    @staticmethod
    @abc.abstractmethod
    def stack_content(sources: Sources, cp_finders: CpFinders) -> StackContent:
        """Build a stack with the VNFCs of the desired state.

        :param cp_finders: returns the values of connection points
        """

    @classmethod
    def instantiate(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        stack_content = cls.stack_content(
            sources, nfv_values.new_cp_finders(sources)
        )
        nfv = sources.with_overrides(stack_content.nfv)
        nfv_values.check(nfv)
        template = stack_content.hot["template"]
        parameters.apply_ext_managed_vls(template, req, grant)
        return nfv_values.full_fields(
            template, stack_content.hot["files"], nfv
        )

    @staticmethod
    @abc.abstractmethod
    def scale_rollback(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the fields of the stack before it was scaled."""

    @classmethod
    def scale_to_level(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of a stack with the VNFCs of the grant request."""
        return cls.scale(req, inst, grant_req, grant, tmp_csar_dir)

    @classmethod
    def scale_to_level_rollback(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of the stack before it was scaled."""
        return cls.scale_rollback(req, inst, grant_req, grant, tmp_csar_dir)

    @classmethod
    def change_ext_conn(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return cls._with_cps(sources, nfv_values.new_cp_finders(sources))

    @classmethod
    def change_ext_conn_rollback(
        cls,
        req: Json,  # noqa: ARG003
        inst: Json,
        grant_req: Json,
        grant: Json,  # noqa: ARG003
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of the stack before its networks changed."""
        sources = nfv_values.sources({}, inst, grant_req, {}, tmp_csar_dir)
        return cls._with_cps(sources, nfv_values.current_cp_finders(sources))

    @classmethod
    def _with_cps(cls, sources: Sources, cp_finders: CpFinders) -> Json:
        stack_content = cls.stack_content(sources, cp_finders)
        cps = nfv_values.only_requested_cps(
            stack_content.nfv["CP"], cp_finders, stack_content.original_name
        )
        return nfv_values.nfv_patch(sources, CP=cps)

    @classmethod
    def change_flavour(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Return the complete fields of the stack with another flavour: its
        template, with the networks in the request, or else the current ones.
        """
        req = {**req, "flavourId": req["newFlavourId"]}
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        stack_content = cls.stack_content(
            sources,
            nfv_values.requested_or_current(
                nfv_values.new_cp_finders(sources), sources
            ),
        )
        nfv = sources.with_overrides(stack_content.nfv)
        nfv_values.check(nfv)
        template = stack_content.hot["template"]
        sources.apply_ext_managed_vls(template)
        return nfv_values.full_fields(
            template, stack_content.hot["files"], nfv
        )

    @classmethod
    def change_vnfpkg(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of the stack with another package: its template,
        and in nfv the flavours and images of the VDUs in the request, the
        networks in the request, and new attributes. Other values of nfv are
        unchanged.
        """
        inst = {**inst, "vnfdId": grant_req["dstVnfdId"]}
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        requested = nfv_values.new_cp_finders(sources)
        stack_content = cls.stack_content(
            sources, nfv_values.requested_or_current(requested, sources)
        )
        previous_nfv = sources.current_nfv() or {}
        vdus_to_update = sources.vdus_to_update()
        changes: Json = {"VDU": {}, "CP": {}}
        for name, values in stack_content.nfv["VDU"].items():
            updated = (
                ASSET_ATTRIBUTES
                if stack_content.original_name(name) in vdus_to_update
                else ()
            )
            changes["VDU"][name] = _changed_values(
                values, previous_nfv, "VDU", name, updated
            )
        for name, values in stack_content.nfv["CP"].items():
            is_moved = (
                requested(None)["network"](stack_content.original_name(name))
                is not None
            )
            updated = tuple(values) if is_moved else ()
            changes["CP"][name] = _changed_values(
                values, previous_nfv, "CP", name, updated
            )
        return nfv_values.package_change_fields(
            sources,
            stack_content.hot,
            changes,
            read_attributes=stack_content.nfv,
        )

    @classmethod
    def change_vnfpkg_rollback(
        cls,
        req: Json,  # noqa: ARG003
        inst: Json,
        grant_req: Json,  # noqa: ARG003
        grant: Json,  # noqa: ARG003
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of the stack before its package changed."""
        sources = nfv_values.sources({}, inst, {}, {}, tmp_csar_dir)
        stack_content = cls.stack_content(
            sources, nfv_values.current_cp_finders(sources)
        )
        return nfv_values.package_change_fields(sources, stack_content.hot, {})


def _changed_values(
    values: Json,
    previous_nfv: Json,
    kind: str,
    name: str,
    updated: tuple[str, ...],
) -> Json:
    """Return the updated values, and those that nfv did not have before.

    :param updated: names of the attributes to update
    """
    previous = (previous_nfv.get(kind) or {}).get(name) or {}
    return {
        key: value
        for key, value in values.items()
        if (key in updated and _is_set(kind, value)) or key not in previous
    }


def _is_set(kind: str, value: object) -> bool:
    """Return whether a value is set. For a connection point None counts: it
    removes the port or the fixed address.
    """
    return kind == "CP" or bool(value)
