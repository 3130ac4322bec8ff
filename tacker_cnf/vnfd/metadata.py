"""Parse TOSCA.meta and the manifest.

Both consist of blocks of ``Name: value`` lines; a line that begins with a
space continues the previous one.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tacker_cnf import errors
from tacker_cnf.vnfd import digests
from tacker_cnf.vnfd.digests import DeclaredDigest

TOSCA_META: Final = "TOSCA-Metadata/TOSCA.meta"
CSAR_VERSIONS: Final = frozenset({"1.0", "1.1"})
META_FILE_VERSIONS: Final = frozenset({"1.0", "1.1"})
LINE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_./-]*)[ \t]*:[ \t]*(.*)")
#: where the signature of a manifest begins (SOL004 5.2)
SIGNATURE: Final = re.compile(r"^-----BEGIN (?:CMS|PKCS7)-----", re.MULTILINE)
#: the attributes of a file in a manifest, besides its name
FILE_ATTRIBUTES: Final = frozenset(
    {"algorithm", "hash", "signature", "certificate"}
)
URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")


class Line(NamedTuple):
    """A name as written, its value, and the number of its first line."""

    number: int
    name: str
    value: str


Block = list[Line]


class Meta(NamedTuple):
    """The content of TOSCA.meta."""

    entry_definitions: str
    manifest: str | None = None
    certificate: str | None = None
    created_by: str | None = None
    digests: tuple[DeclaredDigest, ...] = ()


def read_tosca_meta(text: str) -> Meta:
    """Parse TOSCA.meta.

    :raises InvalidPackage: it is malformed, or a value is not supported
    """
    blocks = list(_blocks(text, TOSCA_META))
    head = _head(blocks)
    _check_version(head, "CSAR-Version", CSAR_VERSIONS)
    _check_version(head, "TOSCA-Meta-File-Version", META_FILE_VERSIONS)
    entry = head.get("entry-definitions")
    if entry is None or not entry.value:
        raise errors.InvalidPackage(f"{TOSCA_META}: no Entry-Definitions")
    manifest = head.get("etsi-entry-manifest")
    certificate = head.get("etsi-entry-certificate")
    created_by = head.get("created-by")
    return Meta(
        entry_definitions=canonical(entry.value),
        manifest=canonical(manifest.value) if manifest else None,
        certificate=canonical(certificate.value) if certificate else None,
        created_by=created_by.value if created_by else None,
        digests=tuple(_of_blocks(blocks[1:], TOSCA_META)),
    )


def read_manifest(text: str, path: str) -> list[DeclaredDigest]:
    """Parse the digests of a manifest (SOL004 4.3.2).

    ``metadata:`` and non-MANO artifact sets between the blocks of digests are
    ignored. Text after the beginning of the signature is not signed, and
    not read.

    :raises InvalidPackage: a digest is not complete
    """
    signature = SIGNATURE.search(text)
    body = text[: signature.start()] if signature else text
    lines = list(_manifest_lines(body))
    blocks: list[Block] = []
    for line in lines:
        if line.name.lower() == "source":
            blocks.append([])
        if blocks and line.name.lower() in {"source", *FILE_ATTRIBUTES}:
            blocks[-1].append(line)
    digest_blocks = [block for block in blocks if len(block) > 1]
    return list(_of_blocks(digest_blocks, path))


def canonical(path: str) -> str:
    """Return a path as archives write it."""
    return path.removeprefix("./")


def _blocks(text: str, path: str) -> Iterator[Block]:
    """Return the blocks, which blank lines separate."""
    block: Block = []
    for number, line in _unfolded(text):
        if line:
            block.append(_line(line, number, path))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _unfolded(text: str) -> list[tuple[int, str]]:
    """Return the lines with their numbers, continuation lines joined."""
    lines: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(" ") and line.strip() and lines and lines[-1][1]:
            lines[-1][1].append(line[1:])
        else:
            lines.append((number, [line] if line.strip() else []))
    return [(number, "".join(parts)) for number, parts in lines]


def _line(line: str, number: int, path: str) -> Line:
    match = LINE.fullmatch(line)
    if match is None:
        raise errors.InvalidPackage(
            f"{path}, line {number}: 'Name: value' is expected, not"
            f" {line!r:.80}",
        )
    return Line(number, match[1], match[2].strip())


def _manifest_lines(text: str) -> Iterator[Line]:
    """Return the lines of a manifest that look like attributes."""
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.fullmatch(line.strip())
        if match:
            yield Line(number, match[1], match[2].strip())


def _head(blocks: list[Block]) -> dict[str, Line]:
    if not blocks:
        raise errors.InvalidPackage(f"{TOSCA_META}: the file is empty")
    return _attributes(blocks[0], TOSCA_META)


def _attributes(block: Block, path: str) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for line in block:
        if found.setdefault(line.name.lower(), line) is not line:
            raise errors.InvalidPackage(
                f"{path}, line {line.number}: a second {line.name}",
            )
    return found


def _check_version(
    head: dict[str, Line],
    name: str,
    accepted: frozenset[str],
) -> None:
    line = head.get(name.lower())
    if line is None:
        raise errors.InvalidPackage(f"{TOSCA_META}: no {name}")
    if line.value not in accepted:
        raise errors.InvalidPackage(
            f"{TOSCA_META}, line {line.number}: {name} is {line.value!r:.80},"
            f" not one of {', '.join(sorted(accepted))}",
        )


def _of_blocks(blocks: list[Block], path: str) -> Iterator[DeclaredDigest]:
    for block in blocks:
        attributes = _attributes(block, path)
        name_line = attributes.get("name") or attributes.get("source")
        where = f"{path}, line {block[0].number}"
        if name_line is None or not name_line.value:
            raise errors.InvalidPackage(f"{where}: the block names no file")
        source = name_line.value
        listed = source if URL.fullmatch(source) else canonical(source)
        values = {name: line.value for name, line in attributes.items()}
        yield digests.stated(values, listed, where)
