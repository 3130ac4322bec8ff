"""Read the Heat templates of a flavour from a package."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.vnfd import bounded_yaml


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaseHot:
    """The Heat templates of a flavour, as texts.

    They are BaseHOT/<flavour>/*.yaml, of which there is one, and
    BaseHOT/<flavour>/nested/*.yaml.
    """

    #: file name for errors
    name: str = "BaseHOT"
    template: str
    #: file name, which resources use as their type -> nested template
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read(package: Path, vnfd_id: str, flavour_id: str) -> BaseHot:
    """Read the templates of a flavour.

    :param package: the directory of the unpacked package
    :raises InvalidParameters: the package has no template or several, or one
        is not a text or is outside of the package
    """
    folder = package / "BaseHOT" / flavour_id
    found = _templates(package, folder)
    if len(found) != 1:
        raise errors.InvalidParameters(
            f"The VNF package of VNFD {vnfd_id} has {len(found)} Heat "
            f"templates BaseHOT/{flavour_id}/*.yaml; it has to have one."
        )
    nested = _templates(package, folder / "nested")
    return BaseHot(
        name=_name(package, found[0]),
        template=_text(package, found[0]),
        files={path.name: _text(package, path) for path in nested},
    )


def _templates(package: Path, folder: Path) -> list[Path]:
    """List the templates in a folder; none if it is outside the package."""
    if not _is_inside(package, folder):
        return []
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def _is_inside(package: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(package.resolve())


def _name(package: Path, path: Path) -> str:
    return str(path.relative_to(package))


def _text(package: Path, path: Path) -> str:
    name = _name(package, path)
    if not (_is_inside(package, path) and path.is_file()):
        raise errors.InvalidParameters(
            f"The template {name} is not a file of the VNF package."
        )
    try:
        return bounded_yaml.text_of(path, name)
    except errors.InvalidPackage as error:
        raise errors.InvalidParameters(f"The template {error}.") from None
