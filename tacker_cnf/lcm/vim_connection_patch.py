"""Apply patches to VIM connections (SOL003 4.4.1.6)."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import merge
from tacker_cnf.lcm.shown_names import is_credential
from tacker_cnf.sol.common import VimConnectionInfo

Connections = Mapping[str, VimConnectionInfo]

#: the address of a VIM, and how its identity is verified
_ADDRESS_FIELDS: Final = ("vim_id", "vim_type", "interface_info")
#: a CA certificate may be set here, too
_CA_KEY: Final = "ssl_ca_cert"


def patched(
    current: Connections, patch: Mapping[str, Any]
) -> dict[str, VimConnectionInfo]:
    """Apply a JSON merge patch to VIM connections.

    Credentials are sent only to the address that they were set for: a patch
    that changes an address has to include its own.

    :raises InvalidVimConnection: it does not, or an entry is incomplete
    """
    merged = merge.patched(msgspec.to_builtins(current), patch)
    try:
        found = msgspec.convert(merged, dict[str, VimConnectionInfo])
    except msgspec.ValidationError as error:
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo: {error}."
        ) from None
    for key in current.keys() & found.keys() & patch.keys():
        if current[key].access_info and _is_address_changed(
            current[key], found[key]
        ):
            own = _patched_credentials(key, current[key], patch[key])
            found[key] = msgspec.structs.replace(found[key], access_info=own)
    return found


def _is_address_changed(
    before: VimConnectionInfo, after: VimConnectionInfo
) -> bool:
    changed = any(
        getattr(before, n) != getattr(after, n) for n in _ADDRESS_FIELDS
    )
    ca = before.access_info.get(_CA_KEY), after.access_info.get(_CA_KEY)
    return changed or ca[0] != ca[1]


def _patched_credentials(
    key: str, before: VimConnectionInfo, patch: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the credentials of a patch only; null: none.

    Values sent back as they were shown, with secrets removed, do not count.
    """
    own = patch.get("accessInfo", {})
    hidden = any(map(is_credential, before.access_info))
    given = own and any(map(is_credential, own)) if hidden else own
    if own is not None and not given:
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo.{key}: credentials are sent only to the "
            "address that they were set for; include accessInfo, too."
        )
    return merge.patched({}, own or {})
