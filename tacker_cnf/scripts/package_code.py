"""The code of a VNF package, as the processes of scripts get it."""

import dataclasses
from collections.abc import Collection
from pathlib import Path

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.vnfd import tree_digest

LOG = log.getLogger(__name__)


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
    #: the files that its VNFD, TOSCA.meta or manifest names; None: not recorded
    named_files: Collection[str] | None = None
    #: digest of all its files when it was onboarded; None: not recorded
    digest: str | None = None

    def check_unchanged(self) -> None:
        """Check that all files are as they were onboarded.

        :raises ScriptFailed: a file was changed, added or removed, or cannot
            be read
        """
        if self.digest is None:
            LOG.warning(
                "Package files not verified, no digest was recorded: vnfd=%s",
                self.vnfd_id,
            )
            return
        try:
            found = tree_digest.compute(self.tree)
        except OSError as error:
            raise errors.ScriptFailed(
                f"The files of the VNF package of VNFD {self.vnfd_id} in "
                f"{self.tree} cannot be read: {error.strerror}."
            ) from None
        if found != self.digest:
            raise errors.ScriptFailed(
                f"The files of the VNF package of VNFD {self.vnfd_id} in "
                f"{self.tree} are not those that were onboarded; its code "
                "does not run. Find out what has changed them, delete the "
                "package, and onboard it again."
            )
