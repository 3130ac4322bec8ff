"""The code of a VNF package, as the processes of scripts get it."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackageCode:
    """An unpacked VNF package whose code may run."""

    #: the unpacked files, read-only
    tree: Path
    vnfd_id: str
    #: SHA-256 of the package as it was uploaded
    content_id: str
    #: whether a valid signature covers all files of the package
    is_signed: bool = False
