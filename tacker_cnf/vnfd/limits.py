"""How much a VNF package may cost us before it is refused."""

import msgspec

MIB = 1024 * 1024
GIB = 1024 * MIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A package that needs more is refused; sizes are in bytes."""

    max_unpacked_bytes: int = 4 * GIB
    #: files and directories
    max_files: int = 20_000
    max_directory_bytes: int = 8 * MIB
    #: unpacked to packed bytes of one file, once it is past 1 MiB
    max_ratio: int = 200
    max_metadata_bytes: int = 4 * MIB
    max_path_bytes: int = 1024
    max_path_depth: int = 32
    max_yaml_bytes: int = 2 * MIB
    #: what a YAML text holds with its aliases written out
    max_yaml_nodes: int = 200_000
    max_yaml_depth: int = 64
    max_definitions: int = 100
    max_definitions_bytes: int = 8 * MIB
    #: how often a value of the definitions may be looked at
    max_value_reads: int = 1_000_000
    max_import_depth: int = 32
