"""User data for templates in which a scalable VDU is a group."""

from tacker_cnf.user_data import nfv_values, parameters
from tacker_cnf.user_data.base import Json
from tacker_cnf.user_data.builtin import BuiltinUserData, StackContent
from tacker_cnf.user_data.nfv_values import CpFinders, Sources


class DefaultUserData(BuiltinUserData):
    """Sets the values of nfv that BaseHOT reads; keeps the template.

    VNFCs are added and removed by nfv.VDU.<VDU>.desired_capacity.
    """

    @staticmethod
    def stack_content(sources: Sources, cp_finders: CpFinders) -> StackContent:
        hot = sources.base_hot()
        read = parameters.init_nfv_dict(hot["template"])
        nfv = {
            "VDU": nfv_values.resolve_values(
                read.get("VDU", {}), nfv_values.vdu_finders(sources)
            ),
            "CP": nfv_values.resolve_values(
                read.get("CP", {}), cp_finders(None)
            ),
        }
        return StackContent(hot=hot, nfv=nfv)

    @staticmethod
    def scale(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        return _with_capacity(sources, grant_req)

    @staticmethod
    def scale_rollback(
        req: Json,
        inst: Json,
        grant_req: Json,
        grant: Json,
        tmp_csar_dir: str,
    ) -> Json:
        """Return the fields of the stack before it was scaled."""
        sources = nfv_values.sources({}, inst, {}, {}, tmp_csar_dir)
        return _with_capacity(sources, {})

    @staticmethod
    def heal(
        req: Json, inst: Json, grant_req: Json, grant: Json, tmp_csar_dir: str
    ) -> Json:
        """Return the images and flavours in the grant, if the whole VNF is
        recreated. Otherwise VNFCs that are not healed share them.
        """
        sources = nfv_values.sources(req, inst, grant_req, grant, tmp_csar_dir)
        if not sources.heals_all():
            return nfv_values.nfv_patch(sources)
        read = parameters.init_nfv_dict(sources.base_hot()["template"])
        found = nfv_values.resolve_values(
            read.get("VDU", {}), nfv_values.asset_finders(sources)
        )
        return nfv_values.nfv_patch(
            sources, VDU=nfv_values.without_empty(found)
        )


def _with_capacity(sources: Sources, grant_req: Json) -> Json:
    read = parameters.init_nfv_dict(sources.base_hot()["template"])
    sizes = {
        vdu: {
            "desired_capacity": parameters.get_param_capacity(
                vdu, sources.inst, grant_req
            )
        }
        for vdu, attributes in read.get("VDU", {}).items()
        if "desired_capacity" in attributes
    }
    return nfv_values.nfv_patch(sources, VDU=sizes)
