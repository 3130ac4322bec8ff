"""Replacements for management scripts of the reference implementation.

Those scripts import modules of Tacker, which are not installed here. They are
recognized by their content, because a vendor may use any file name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tacker_cnf.vnfd import script_source

#: class name -> hook that the class has to have, and module that replaces it
REPLACEMENTS: Final = {
    "ContainerUpdateMgmtDriver": (
        "modify_information_end",
        "tacker_cnf.mgmt_drivers.container_update",
    ),
}


def replacement_module(script: Path) -> str | None:
    """Return the module to run instead of a script that imports the reference
    implementation and defines one of its drivers; None for other scripts.
    """
    tree = script_source.parse(script)
    imported = {name.partition(".")[0] for name in script_source.imports(tree)}
    if script_source.REFERENCE_PACKAGE not in imported:
        return None
    for name, methods in script_source.classes(tree).items():
        hook, replacement = REPLACEMENTS.get(name, ("", None))
        if hook in methods:
            return replacement
    return None


def select_script(
    scripts: Mapping[str, str],
    hook: str,
    phase: str,
    package: Path,
    *,
    is_rollback: bool,
    replaces: bool,
) -> str | None:
    """Return the script that an operation runs in a phase; None: it runs none.

    :param scripts: those of the VNFD, by their hooks
    :param hook: that of the operation
    :param phase: start or end
    :param package: directory of the files of the VNF package
    :param replaces: whether scripts of the reference implementation are
        replaced
    """
    forward = scripts.get(f"{hook}_{phase}")
    if not is_rollback:
        return forward
    own = scripts.get(f"{hook}_rollback_{phase}")
    # a replacement undoes its work without a rollback hook in the VNFD
    undoes = own is None and forward and replaces
    if undoes and replacement_module(package / str(forward)):
        return forward
    return own
