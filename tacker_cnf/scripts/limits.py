"""What scripts may use, as the configuration sets it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from oslo_config import cfg

from tacker_cnf.db import keys
from tacker_cnf.scripts.isolation import Isolation
from tacker_cnf.temporary_directories import TemporaryDirectories

#: in network_packages: all packages
ANY_PACKAGE = "*"


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
