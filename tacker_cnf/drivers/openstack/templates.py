"""The Heat templates of a package."""

from collections.abc import Mapping

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.vnfd import base_hot as hot
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.base_hot import BaseHot


def base_hot(package: UnpackedPackage, flavour_id: str) -> BaseHot:
    """Read the BaseHOT of a flavour.

    :raises InvalidParameters: the package has no or several templates, or
        the template is not valid or hides nfv
    """
    found = hot.read(package.path, package.vnfd.id, flavour_id)
    if _is_nfv_hidden(found):
        raise errors.InvalidParameters(
            f"The template {found.name} hides its parameter nfv, which has "
            'to be readable. Remove "hidden" from nfv, and move secrets to '
            "another parameter."
        )
    return found


def _is_nfv_hidden(found: BaseHot) -> bool:
    read: object = _read(found)
    for key in ("parameters", "nfv"):
        read = read.get(key) if isinstance(read, Mapping) else None
    return isinstance(read, Mapping) and bool(read.get("hidden"))


def _read(found: BaseHot) -> object:
    try:
        return bounded_yaml.load(found.template, found.name)
    except errors.InvalidPackage as error:
        raise errors.InvalidParameters(f"The template {error}.") from None
