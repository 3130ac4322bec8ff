"""The VIM: a file for each VNFC, in ``<root>/<VNF instance id>``.

``<root>/capacity`` limits the number of files, as a quota does in a cloud.
"""

import contextlib
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol.common import VimConnectionInfo

#: what may name a directory: nothing outside of the root
SAFE_NAME: Final = re.compile(r"[0-9A-Za-z_-]+")


class Vnfc(msgspec.Struct, frozen=True):
    """A VNFC: the content of its file."""

    #: the name of the file, without .json
    id: str
    vdu_id: str
    #: the operation that created it
    operation_id: str = ""


class Directory:
    """The files of all VNFs below one directory."""

    def __init__(self, connection: VimConnectionInfo) -> None:
        """Find the directory that a VIM connection names.

        :raises InvalidVimConnection: the endpoint is not an absolute path
        :raises VimUnreachable: the directory does not exist
        """
        endpoint = connection.interface_info.get("endpoint")
        if not isinstance(endpoint, str) or not endpoint.startswith("/"):
            raise errors.InvalidVimConnection(
                f"interfaceInfo.endpoint: {endpoint!r} is not the absolute "
                "path of a directory."
            )
        self._root = Path(endpoint)
        if not self._root.is_dir():
            raise errors.VimUnreachable(f"{endpoint} is not a directory.")

    def instances(self) -> list[str]:
        """Return the ids of the VNF instances that have a directory."""
        with _vim_errors():
            homes = [path for path in self._root.iterdir() if path.is_dir()]
        return [home.name for home in homes if SAFE_NAME.fullmatch(home.name)]

    def vnfcs(self, instance_id: str) -> tuple[Vnfc, ...]:
        """Read the VNFCs of a VNF instance."""
        with _vim_errors():
            files = sorted(self._home(instance_id).glob("*.json"))
            return tuple(map(_read, files))

    def create(self, instance_id: str, vdu_id: str, operation_id: str) -> None:
        """Create the file of a VNFC; it is complete, or it does not exist."""
        vnfc = Vnfc(str(uuid.uuid4()), vdu_id, operation_id)
        unfinished = self._home(instance_id) / f"{vnfc.id}.unfinished"
        with _vim_errors():
            unfinished.parent.mkdir(exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(vnfc))
            unfinished.rename(unfinished.with_suffix(".json"))

    def delete(self, instance_id: str, vnfc: Vnfc) -> None:
        """Delete the file of a VNFC that was read, if it exists."""
        with _vim_errors():
            path = self._home(instance_id) / f"{vnfc.id}.json"
            path.unlink(missing_ok=True)

    def delete_home(self, instance_id: str) -> None:
        """Delete the directory of a VNF instance, with all files in it."""
        with _vim_errors(), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._home(instance_id))

    def is_full(self) -> bool:
        """Return whether there are as many files as the capacity allows."""
        with _vim_errors(), contextlib.suppress(FileNotFoundError):
            capacity = int((self._root / "capacity").read_text())
            return len(list(self._root.glob("*/*.json"))) >= capacity
        return False

    def _home(self, instance_id: str) -> Path:
        if not SAFE_NAME.fullmatch(instance_id):
            raise errors.BadRequest(
                f"{instance_id!r} cannot name a directory."
            )
        return self._root / instance_id


def _read(file: Path) -> Vnfc:
    vnfc = msgspec.json.decode(file.read_bytes(), type=Vnfc)
    return msgspec.structs.replace(vnfc, id=file.stem)


@contextlib.contextmanager
def _vim_errors() -> Iterator[None]:
    """Convert the errors of files to those of VIMs."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise errors.InfraError(f"The directory failed: {error}") from error
