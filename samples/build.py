#!/usr/bin/env python3
"""Pack a source directory as a VNF package (CSAR).

    samples/build.py SOURCE_DIR [OUTPUT.csar] [--vnfd-id UUID]
        [--sign KEY CERTIFICATE]

TOSCA.meta is generated: the first block of the source's TOSCA.meta, then a
SHA-256 digest of every file outside of Definitions. The same source always
gives the same bytes, unless it is signed.
"""

import argparse
import hashlib
import re
import subprocess
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

META = "TOSCA-Metadata/TOSCA.meta"
DEFINITIONS = "Definitions/"
MANIFEST = "signed.mf"
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


def build(
    source: Path,
    output: Path,
    vnfd_id: str | None = None,
    sign: tuple[Path, Path] | None = None,
) -> Path:
    """Build the package of a source directory and return its path.

    :param sign: key and certificate with which to sign the manifest

    :raises ValueError: the source has no TOSCA.meta, or not exactly one
        descriptor_id; or it cannot be signed
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
    if sign:
        head += f"\nETSI-Entry-Manifest: {MANIFEST}"
    meta = "\n\n".join([head, *_blocks(files)]) + "\n"
    files = {META: meta.encode(), **files}
    if sign:
        manifest = _manifest(files)
        files[MANIFEST] = manifest + _signature(manifest, *sign)
    _write(files, output)
    return output


def _manifest(files: dict[str, bytes]) -> bytes:
    """Build the manifest of all files (SOL004 4.3.2)."""
    blocks = [
        f"Source: {name}\nAlgorithm: SHA-256\n"
        f"Hash: {hashlib.sha256(data).hexdigest()}\n"
        for name, data in sorted(files.items())
    ]
    return "\n".join(["metadata:\n", *blocks, ""]).encode()


def _signature(data: bytes, key: Path, certificate: Path) -> bytes:
    """Create a detached signature in PEM by openssl (SOL004 5.2).

    :raises ValueError: openssl failed
    """
    options = ["-binary", "-md", "sha256", "-outform", "PEM"]
    options += ["-inkey", str(key), "-signer", str(certificate)]
    done = subprocess.run(  # noqa: S603
        ["openssl", "cms", "-sign", *options],  # noqa: S607
        input=data,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"openssl: {done.stderr.decode().strip()}")
    return done.stdout


def _renamed(files: dict[str, bytes], vnfd_id: str) -> dict[str, bytes]:
    """Return the definitions with another id of the VNFD."""
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
    parser.add_argument(
        "--sign",
        type=Path,
        nargs=2,
        metavar=("KEY", "CERTIFICATE"),
        help="sign a manifest of all files with these, in PEM, by openssl",
    )
    args = parser.parse_args()
    source = args.source.resolve()
    output = args.output or source.with_suffix(".csar")
    vnfd_id = str(args.vnfd_id) if args.vnfd_id else None
    try:
        sign = (args.sign[0], args.sign[1]) if args.sign else None
        print(build(source, output, vnfd_id, sign))
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
