"""Limits on the resources that reading a VNF package may use."""

import msgspec

MIB = 1024 * 1024
GIB = 1024 * MIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A package that exceeds a limit is rejected; sizes are in bytes."""

    max_unpacked_bytes: int = 4 * GIB
    #: files and directories
    max_files: int = 20_000
    max_directory_bytes: int = 8 * MIB
    #: unpacked size to packed size of a file, above 1 MiB
    max_ratio: int = 200
    #: unpacked size of all files to the size of the package, above 16 MiB
    max_package_ratio: int = 200
    #: bytes that stay free on the disk; 0: no limit
    min_free_bytes: int = 0
    max_metadata_bytes: int = 4 * MIB
    max_path_bytes: int = 1024
    max_path_depth: int = 32
    max_yaml_bytes: int = 2 * MIB
    #: values of a YAML text with aliases expanded
    max_yaml_nodes: int = 200_000
    max_yaml_depth: int = 64
    max_definitions: int = 100
    max_definitions_bytes: int = 8 * MIB
    #: reads of values of the definitions
    max_value_reads: int = 1_000_000
    max_import_depth: int = 32
