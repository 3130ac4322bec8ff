"""The Heat templates of a package."""

from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.drivers.openstack.fields import BaseHot
from tacker_cnf.vnfd import bounded_yaml


def base_hot(package: PackageTree, flavour_id: str) -> BaseHot:
    """Read BaseHOT of a flavour.

    :raises InvalidParameters: the package has none, or several
    """
    folder = package.path / "BaseHOT" / flavour_id
    inside = folder.resolve().is_relative_to(package.path.resolve())
    found = _templates(folder) if inside else []
    if len(found) != 1:
        raise errors.InvalidParameters(
            f"The VNF package of VNFD {package.vnfd.id} has {len(found)} "
            f"Heat templates BaseHOT/{flavour_id}/*.yaml; there has to be one."
        )
    nested = _templates(folder / "nested")
    return BaseHot(
        template=_text(package, found[0]),
        files={path.name: _text(package, path) for path in nested},
    )


def _templates(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def _text(package: PackageTree, path: Path) -> str:
    name = str(path.relative_to(package.path))
    try:
        return bounded_yaml.text_of(package.file(name), name)
    except errors.InvalidPackage as error:
        raise errors.InvalidParameters(f"The template {error}.") from None
