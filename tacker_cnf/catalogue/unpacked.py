"""An onboarded VNF package: its VNFD and its unpacked files."""

import dataclasses
from pathlib import Path
from typing import Protocol

from tacker_cnf import errors
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.vnfd.model import Vnfd


def find_file(root: Path, name: str) -> Path | None:
    """Return the path of a file below a directory, or None."""
    try:
        path = (root / name).resolve()
        inside = path.is_relative_to(root.resolve())
        return path if inside and path.is_file() else None
    except (OSError, ValueError):  # not a valid file name
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnpackedPackage:
    """A VNF package that is onboarded."""

    #: SHA-256 of the content; usable as a cache key
    content_id: str
    #: the unpacked files, read-only
    path: Path
    vnfd: Vnfd
    #: whether a valid signature covers all its files
    is_signed: bool = False

    @property
    def code(self) -> PackageCode:
        """What runs the code of the package."""
        return PackageCode(
            tree=self.path,
            vnfd_id=self.vnfd.id,
            content_id=self.content_id,
            is_signed=self.is_signed,
            named_files=self.vnfd.named_files,
            digest=self.vnfd.tree_digest,
        )

    def file(self, name: str) -> Path:
        """Return the path of a file of the package.

        :raises InvalidParameters: the package has no such file
        """
        path = find_file(self.path, name)
        if path is None:
            raise errors.InvalidParameters(
                f"The VNF package of VNFD {self.vnfd.id} has no file {name!r}."
            )
        return path


class PackageSource(Protocol):
    """A catalogue of onboarded packages."""

    def unpacked(self, vnfd_id: str, project_id: str) -> UnpackedPackage:
        """Return an onboarded package that a project may use, with its parsed
        VNFD.

        :raises VnfdNotUsable: no package contains this VNFD
        """
