"""User data for flavour simple that logs its VNF instance."""

import sys

from tacker_cnf.user_data.default import DefaultUserData


class NamedUserData(DefaultUserData):
    """The default, with the VNF instance in the stack's description."""

    @staticmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        fields = DefaultUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        print(f"a stack for {inst['id']}", file=sys.stderr)
        fields["template"] = fields["template"].replace(
            "description: Front and Store",
            f"description: Front and Store of {inst['id']}",
        )
        return fields
