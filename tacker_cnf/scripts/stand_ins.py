"""Scripts of Tacker that ours take the place of, by the names they have."""

import posixpath
from collections.abc import Mapping
from typing import Final

STAND_INS: Final[Mapping[str, str]] = {
    "container_update_mgmt_v2.py": "tacker_cnf.mgmt_drivers.container_update",
}


def module(script: str) -> str | None:
    """Tell the module that runs instead of a script; None: it runs itself."""
    return STAND_INS.get(posixpath.basename(script))
