"""Scripts of the reference implementation that ours take the place of.

They import its inside, which is not here. Which script is one is decided by
its content: a vendor's own script may have any file name.
"""

from pathlib import Path
from typing import Final

from tacker_cnf.vnfd import script_source

#: the package whose inside they import
REFERENCE_PACKAGE: Final = "tacker"
#: class -> the hook that it has to have, and the module that replaces it
REPLACEMENTS: Final = {
    "ContainerUpdateMgmtDriver": (
        "modify_information_end",
        "tacker_cnf.mgmt_drivers.container_update",
    ),
}


def replacement_module(script: Path) -> str | None:
    """Return the module that runs instead of a script: of one that imports
    the reference implementation and defines one of its drivers. None: the
    script runs itself.
    """
    tree = script_source.parse(script)
    imported = {name.partition(".")[0] for name in script_source.imports(tree)}
    if REFERENCE_PACKAGE not in imported:
        return None
    for name, methods in script_source.classes(tree).items():
        hook, replacement = REPLACEMENTS.get(name, ("", None))
        if hook in methods:
            return replacement
    return None
