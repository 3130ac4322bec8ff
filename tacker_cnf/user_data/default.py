"""User data for a template in which a VDU that scales is a group."""

from tacker_cnf.user_data import filling, parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.filled import FilledUserData, Made
from tacker_cnf.user_data.filling import Points, Sources


class DefaultUserData(FilledUserData):
    """Fills what BaseHOT reads of nfv, and leaves the template as it is.

    VNFCs are added and removed by nfv.VDU.<VDU>.desired_capacity.
    """

    @staticmethod
    def made(told: Sources, points: Points) -> Made:
        hot = told.base_hot()
        read = parameters.init_nfv_dict(hot["template"])
        nfv = {
            "VDU": filling.filled(read.get("VDU", {}), filling.of_vdus(told)),
            "CP": filling.filled(read.get("CP", {}), points(None)),
        }
        return Made(hot=hot, nfv=nfv)

    @staticmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _sized(told, grant_req)

    @staticmethod
    def scale_rollback(
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Tell what the stack was made of before it was scaled."""
        told = filling.sources({}, inst, {}, {}, tmp_csar_dir)
        return _sized(told, {})

    @staticmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Tell the images and flavours that the grant names, if all is made
        anew. Otherwise VNFCs that stay share them.
        """
        told = filling.sources(req, inst, grant_req, grant, tmp_csar_dir)
        if not told.heals_all():
            return filling.change(told)
        read = parameters.init_nfv_dict(told.base_hot()["template"])
        found = filling.filled(read.get("VDU", {}), filling.of_assets(told))
        return filling.change(told, VDU=filling.told_only(found))


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
