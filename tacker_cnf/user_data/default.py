"""User data for a template in which a VDU that scales is a group."""

from tacker_cnf.user_data import filling, parameters
from tacker_cnf.user_data.base import Json, UserData
from tacker_cnf.user_data.filling import Finders, Sources


class DefaultUserData(UserData):
    """Fills what BaseHOT reads of nfv, and leaves the template as it is.

    VNFCs are added and removed by nfv.VDU.<VDU>.desired_capacity.
    """

    @staticmethod
    def instantiate(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        hot = told.base_hot()
        template = hot["template"]
        read = parameters.init_nfv_dict(template)
        vdus = filling.filled(read.get("VDU", {}), filling.of_vdus(told))
        points = filling.of_new_points(told)
        found = {
            "VDU": vdus,
            "CP": filling.filled(read.get("CP", {}), points),
        }
        nfv = told.with_own(found)
        filling.check(nfv)
        parameters.apply_ext_managed_vls(template, req, grant)
        return filling.whole(template, hot["files"], nfv)

    @staticmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _sized(told, grant_req)

    @staticmethod
    def scale_rollback(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what the stack was made of before it was scaled."""
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _sized(told, {})

    @staticmethod
    def change_ext_conn(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _connected(told, filling.of_new_points(told))

    @staticmethod
    def change_ext_conn_rollback(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what the stack was made of before its networks changed."""
        told = filling.sources({}, inst, grant_req, {}, tmp_csar_dir)
        return _connected(told, filling.of_old_points(told))

    @staticmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        return filling.change(
            filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        )

    @staticmethod
    def change_vnfpkg(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell what the stack of another package is made of."""
        inst = {**inst, "vnfdId": grant_req["dstVnfdId"]}
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _of_package(told)

    @staticmethod
    def change_vnfpkg_rollback(
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Tell what the stack was made of before its package changed."""
        told = filling.sources({}, inst, grant_req, {}, tmp_csar_dir)
        return filling.moved(told, told.base_hot(), {})


def _sized(told: Sources, grant_req: Json) -> Json:
    read = parameters.init_nfv_dict(told.base_hot()["template"])
    sizes = {
        vdu: {
            "desired_capacity": parameters.get_param_capacity(
                vdu, told.inst, grant_req
            )
        }
        for vdu, attributes in read.get("VDU", {}).items()
        if "desired_capacity" in attributes
    }
    return filling.change(told, VDU=sizes)


def _connected(told: Sources, points: Finders) -> Json:
    read = parameters.init_nfv_dict(told.base_hot()["template"])
    found = filling.filled(read.get("CP", {}), points)
    return filling.change(told, CP=filling.named_only(found, points))


def _of_package(told: Sources) -> Json:
    """Give the template of a package, and in nfv its flavours and images;
    all else is as it was before the operation.
    """
    hot = told.base_hot()
    read = parameters.init_nfv_dict(hot["template"])
    finders = filling.of_vdus(told)
    found = filling.filled(
        read.get("VDU", {}),
        {name: finders[name] for name in ("computeFlavourId", "vcImageId")},
    )
    return filling.moved(told, hot, {"VDU": filling.told_only(found)})
