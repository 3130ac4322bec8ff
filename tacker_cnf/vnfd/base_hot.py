"""The Heat templates of a flavour, as they stand in a package."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.vnfd import bounded_yaml


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaseHot:
    """The texts of the Heat templates of a flavour.

    They are BaseHOT/<flavour>/*.yaml, of which there is one, and
    BaseHOT/<flavour>/nested/*.yaml.
    """

    #: file name, as errors tell it
    name: str = "BaseHOT"
    template: str
    #: file name, as resources name it as their type -> nested template
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read(package: Path, vnfd_id: str, flavour_id: str) -> BaseHot:
    """Read the templates of a flavour.

    :param package: the directory of the unpacked package
    :raises InvalidParameters: the package has none, or several, or one that
        is no text or lies outside of it
    """
    folder = package / "BaseHOT" / flavour_id
    found = _templates(package, folder)
    if len(found) != 1:
        raise errors.InvalidParameters(
            f"The VNF package of VNFD {vnfd_id} has {len(found)} Heat "
            f"templates BaseHOT/{flavour_id}/*.yaml; there has to be one."
        )
    nested = _templates(package, folder / "nested")
    return BaseHot(
        name=_name(package, found[0]),
        template=_text(package, found[0]),
        files={path.name: _text(package, path) for path in nested},
    )


def _templates(package: Path, folder: Path) -> list[Path]:
    """Find the templates in a folder; one that leads out has none."""
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
            f"The template {name} is no file of the VNF package."
        )
    try:
        return bounded_yaml.text_of(path, name)
    except errors.InvalidPackage as error:
        raise errors.InvalidParameters(f"The template {error}.") from None
