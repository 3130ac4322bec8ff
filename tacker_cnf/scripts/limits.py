"""What scripts may use, as the configuration sets it."""

import dataclasses
import enum
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from oslo_config import cfg

from tacker_cnf.db import keys
from tacker_cnf.scripts.isolation import Isolation
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.temporary_directories import TemporaryDirectories
from tacker_cnf.vnfd import code_files


class RunPolicy(enum.StrEnum):
    """The packages whose code runs."""

    NONE = "none"
    SIGNED = "signed"
    ALL = "all"


#: in network_packages: all packages
ANY_PACKAGE = "*"
#: maximum number of files in an error
MAX_NAMES: Final = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptLimits:
    """Limits of a script, and its directories; sizes are in bytes."""

    #: seconds
    timeout: float
    #: directories for its working copies of packages
    temporary_directories: TemporaryDirectories
    #: parent of the persistent directories of the VNF instances
    state: Path
    max_memory_bytes: int
    max_file_bytes: int
    max_output_bytes: int
    max_log_bytes: int
    #: of its /tmp
    max_disk_bytes: int = 0
    #: of the persistent directory of a VNF instance; 0: no limit
    max_state_bytes: int = 0
    #: with their threads, in a sandbox; 0: no limit
    max_processes: int = 0
    max_open_files: int = 0
    #: of each process
    max_cpu_seconds: int = 0
    run: RunPolicy = RunPolicy.SIGNED
    #: whether a request may name a file that the package does not name
    unlisted_files: bool = False
    isolation: Isolation = Isolation.BUBBLEWRAP
    #: SHA-256 of packages whose code may use the network
    network_packages: frozenset[str] = frozenset()
    #: further paths that it may read, or write to
    readable_paths: Sequence[str] = ()
    writable_paths: Sequence[str] = ()
    #: files and directories of this service
    hidden_paths: Sequence[Path] = ()
    #: whether its input has the credentials of the VNF's VIMs
    vim_credentials: bool = True
    #: whether scripts of the reference implementation are replaced
    replace_reference_drivers: bool = True

    @property
    def resource_limits(self) -> dict[str, int]:
        """The limits of setrlimit(2), by their names."""
        values = {
            "AS": self.max_memory_bytes,
            "FSIZE": self.max_file_bytes,
            "NOFILE": self.max_open_files,
            "CPU": self.max_cpu_seconds,
        }
        if self.isolation is not Isolation.NONE:
            # elsewhere all processes of the conductor's user count
            values["NPROC"] = self.max_processes
        return {name: value for name, value in values.items() if value}

    def find_objection(
        self, package: PackageCode, requested_file: str | None = None
    ) -> str | None:
        """Return why the code of a package does not run, or None.

        :param requested_file: the file that a request names, if it does
        """
        return self._find_package_objection(package) or (
            self._find_file_objection(package, requested_file)
            if requested_file is not None
            else None
        )

    def named_files(self, package: PackageCode) -> Collection[str] | None:
        """Return the files of a package that a request may name to be run;
        None: all.
        """
        return None if self.unlisted_files else package.named_files

    def _find_file_objection(
        self, package: PackageCode, file: str
    ) -> str | None:
        named = self.named_files(package)
        if file.endswith(code_files.SUFFIX) and (
            named is None or file in named
        ):
            return None
        names = sorted(
            name for name in named or () if name.endswith(code_files.SUFFIX)
        )
        return (
            f"{file!r} may not run: it has to be a Python file "
            f"({code_files.SUFFIX}) that the VNFD, TOSCA.meta or the manifest "
            f"of the VNF package of VNFD {package.vnfd_id} names. It names "
            f"{', '.join(names[:MAX_NAMES]) or 'none'}."
        )

    def _find_package_objection(self, package: PackageCode) -> str | None:
        if self.run is RunPolicy.ALL:
            return None
        if self.run is RunPolicy.NONE:
            return (
                "The code of VNF packages does not run here: [scripts] run is "
                "none."
            )
        if package.is_signed:
            return None
        return (
            f"The VNF package of VNFD {package.vnfd_id} has no verified "
            "signature (packageSecurityOption), and its code runs only with "
            "one: [scripts] run is signed. Sign the package and onboard it "
            "again, or set the option to all."
        )

    def allows_network(self, content_id: str) -> bool:
        """Return whether the code of a package may use the network."""
        return not self.network_packages.isdisjoint({content_id, ANY_PACKAGE})


def limits_of(conf: cfg.ConfigOpts) -> ScriptLimits:
    """Return the limits that the configuration sets."""
    options = conf.scripts
    return ScriptLimits(
        timeout=options.timeout,
        temporary_directories=TemporaryDirectories(
            Path(conf.state_path) / "scripts"
        ),
        state=Path(conf.state_path) / "vnf",
        max_memory_bytes=options.max_memory_bytes,
        max_file_bytes=options.max_file_bytes,
        max_output_bytes=options.max_output_bytes,
        max_log_bytes=options.max_log_bytes,
        max_disk_bytes=options.max_disk_bytes,
        max_state_bytes=options.max_state_bytes,
        max_processes=options.max_processes,
        max_open_files=options.max_open_files,
        max_cpu_seconds=options.max_cpu_seconds,
        run=RunPolicy(options.run),
        unlisted_files=options.unlisted_files,
        isolation=Isolation(options.isolation),
        network_packages=frozenset(
            name.lower() for name in options.network_packages
        ),
        readable_paths=tuple(options.readable_paths),
        writable_paths=tuple(options.writable_paths),
        hidden_paths=(
            Path(conf.state_path),
            keys.key_file_path(conf),
            *map(Path, (*(conf.config_file or ()), *(conf.config_dir or ()))),
        ),
        vim_credentials=options.vim_credentials,
        replace_reference_drivers=options.replace_reference_drivers,
    )
