"""What our user data have in common: they fill the nfv that BaseHOT reads."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Final

from tacker_cnf.user_data import filling, parameters
from tacker_cnf.user_data.base import Json, UserData
from tacker_cnf.user_data.filling import Points, Sources

#: what a package tells of its VDUs and storages
TOLD: Final = ("computeFlavourId", "vcImageId")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Made:
    """A stack at the size that it is to have."""

    #: its template and files
    hot: Json
    #: all that the template reads of nfv
    nfv: Json
    #: name in nfv -> what the package calls it, where that is another
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def plain(self, name: str) -> str:
        return self.origins.get(name, name)


class FilledUserData(UserData):
    """Takes values from the grant, the request and the VNFD."""

    @staticmethod
    @abc.abstractmethod
    def made(told: Sources, points: Points) -> Made:
        """Make a stack at the size that it is to have.

        :param points: tells how connection points are connected
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
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        made = cls.made(told, filling.of_new_points(told))
        nfv = told.with_own(made.nfv)
        filling.check(nfv)
        template = made.hot["template"]
        parameters.apply_ext_managed_vls(template, req, grant)
        return filling.whole(template, made.hot["files"], nfv)

    @classmethod
    def change_ext_conn(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return cls._connected(told, filling.of_new_points(told))

    @classmethod
    def change_ext_conn_rollback(
        cls,
        req: Json,  # noqa: ARG003
        inst: Json,
        grant_req: Json,
        grant: Json,  # noqa: ARG003
        tmp_csar_dir: str,
    ) -> Json:
        """Tell what the stack was made of before its networks changed."""
        told = filling.sources({}, inst, grant_req, {}, tmp_csar_dir)
        return cls._connected(told, filling.of_old_points(told))

    @classmethod
    def _connected(cls, told: Sources, points: Points) -> Json:
        made = cls.made(told, points)
        named = filling.named_only(made.nfv["CP"], points, made.plain)
        return filling.change(told, CP=named)

    @classmethod
    def change_vnfpkg(
        cls,
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Tell what the stack of another package is made of: its template,
        and in nfv the flavours and images of the VDUs that the request names,
        networks that it names, and what there was nothing of before. All
        else is as it was.
        """
        inst = {**inst, "vnfdId": grant_req["dstVnfdId"]}
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        asked = filling.of_new_points(told)
        made = cls.made(told, filling.first_of(asked, told))
        kept = told.kept_nfv() or {}
        rolled = told.rolled()
        changes: Json = {"VDU": {}, "CP": {}}
        for name, values in made.nfv["VDU"].items():
            fresh = TOLD if made.plain(name) in rolled else ()
            changes["VDU"][name] = _changed(values, kept, "VDU", name, fresh)
        for name, values in made.nfv["CP"].items():
            moves = asked(None)["network"](made.plain(name)) is not None
            fresh = tuple(values) if moves else ()
            changes["CP"][name] = _changed(values, kept, "CP", name, fresh)
        return filling.moved(told, made.hot, changes, reads=made.nfv)

    @classmethod
    def change_vnfpkg_rollback(
        cls,
        req: Json,  # noqa: ARG003
        inst: Json,
        grant_req: Json,  # noqa: ARG003
        grant: Json,  # noqa: ARG003
        tmp_csar_dir: str,
    ) -> Json:
        """Tell what the stack was made of before its package changed."""
        told = filling.sources({}, inst, {}, {}, tmp_csar_dir)
        made = cls.made(told, filling.of_old_points(told))
        return filling.moved(told, made.hot, {})


def _changed(
    values: Json, kept: Json, kind: str, name: str, fresh: tuple[str, ...]
) -> Json:
    """Give of values those that are fresh, and those that nobody knew."""
    known = (kept.get(kind) or {}).get(name) or {}
    return {
        key: value
        for key, value in values.items()
        if (key in fresh and _says(kind, value)) or key not in known
    }


def _says(kind: str, value: object) -> bool:
    """Tell whether a value is one; of a connection point, none is, too: it
    has no port any more, or no fixed address.
    """
    return kind == "CP" or bool(value)
