"""A VNF package as those read it who act on it."""

import dataclasses
from pathlib import Path
from typing import Protocol

from tacker_cnf import errors
from tacker_cnf.vnfd.model import Vnfd


def find_file(root: Path, name: str) -> Path | None:
    """Find a file below a directory; None: there is none of this name."""
    try:
        path = (root / name).resolve()
        inside = path.is_relative_to(root.resolve())
        return path if inside and path.is_file() else None
    except (OSError, ValueError):  # no file can have such a name
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnpackedPackage:
    """A VNF package that is onboarded."""

    #: the content's SHA-256: what was made of it may be kept under this name
    content_id: str
    #: the unpacked files, read-only
    path: Path
    vnfd: Vnfd

    def file(self, name: str) -> Path:
        """Find a file of the package.

        :raises InvalidParameters: the package has no such file
        """
        path = find_file(self.path, name)
        if path is None:
            raise errors.InvalidParameters(
                f"The VNF package of VNFD {self.vnfd.id} has no file {name!r}."
            )
        return path


class PackageSource(Protocol):
    """Where packages come from."""

    def unpacked(self, vnfd_id: str) -> UnpackedPackage:
        """Give an onboarded package, its VNFD parsed.

        :raises VnfdNotUsable: there is no package that holds this VNFD
        """
