"""User data for flavour simple that tells what it is asked."""

import sys

from tacker_cnf.user_data.default import DefaultUserData


class NamedUserData(DefaultUserData):
    """As the default, and the description of a new stack says whose it is."""

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
