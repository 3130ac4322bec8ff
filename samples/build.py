#!/usr/bin/env python3
"""Pack a source directory as a VNF package (CSAR).

    samples/build.py SOURCE_DIR [OUTPUT.csar] [--vnfd-id UUID]

TOSCA.meta is written anew: the first block of the source's own, then a
SHA-256 digest of every file outside of Definitions. The same source always
gives the same bytes.
"""

import argparse
import hashlib
import re
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

META = "TOSCA-Metadata/TOSCA.meta"
DEFINITIONS = "Definitions/"
EPOCH = (1980, 1, 1, 0, 0, 0)
FILE = 0o100644
DESCRIPTOR_ID = re.compile(rb"descriptor_id:\s*['\"]?([0-9a-fA-F-]{36})\b")
TYPES = {
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".py": "text/x-python",
    ".json": "application/json",
    ".tgz": "application/gzip",
}


def build(source: Path, output: Path, vnfd_id: str | None = None) -> Path:
    """Write the package of a source directory; give where it is.

    :raises ValueError: the source has no TOSCA.meta, or not one descriptor_id
    """
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    if META not in files:
        raise ValueError(f"there is no {META} in {source}")
    if vnfd_id:
        files |= _renamed(files, vnfd_id)
    head = files.pop(META).decode().strip().partition("\n\n")[0]
    meta = "\n\n".join([head, *_blocks(files)]) + "\n"
    _write({META: meta.encode(), **files}, output)
    return output


def _renamed(files: dict[str, bytes], vnfd_id: str) -> dict[str, bytes]:
    """Give the definitions with another id of the VNFD."""
    definitions = {
        name: data
        for name, data in files.items()
        if name.startswith(DEFINITIONS)
    }
    old = {
        match
        for data in definitions.values()
        for match in DESCRIPTOR_ID.findall(data)
    }
    if len(old) != 1:
        raise ValueError(f"{len(old)} descriptor_ids where there should be 1")
    (old_id,) = old
    return {
        name: data.replace(old_id, vnfd_id.encode())
        for name, data in definitions.items()
    }


def _blocks(files: dict[str, bytes]) -> Iterator[str]:
    for name, data in sorted(files.items()):
        if name.startswith(DEFINITIONS):
            continue
        kind = TYPES.get(Path(name).suffix, "application/octet-stream")
        digest = hashlib.sha256(data).hexdigest()
        yield (
            f"Name: {name}\nContent-Type: {kind}\n"
            f"Algorithm: SHA-256\nHash: {digest}"
        )


def _write(files: dict[str, bytes], output: Path) -> None:
    with zipfile.ZipFile(output, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3
            entry.external_attr = FILE << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Pack a source directory as a VNF package (CSAR).",
    )
    parser.add_argument("source", type=Path, metavar="SOURCE_DIR")
    parser.add_argument(
        "output",
        type=Path,
        nargs="?",
        metavar="OUTPUT.csar",
        help="where to write; by default beside the source",
    )
    parser.add_argument(
        "--vnfd-id",
        type=uuid.UUID,
        metavar="UUID",
        help="give the VNFD this id, so that a package exists twice",
    )
    given = parser.parse_args()
    source = given.source.resolve()
    output = given.output or source.with_suffix(".csar")
    vnfd_id = str(given.vnfd_id) if given.vnfd_id else None
    try:
        print(build(source, output, vnfd_id))
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
