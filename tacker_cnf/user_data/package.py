"""A VNF package, as user data reads it."""

from collections.abc import Mapping
from pathlib import Path

from tacker_cnf.user_data.base import Json
from tacker_cnf.vnfd import base_hot, bounded_yaml
from tacker_cnf.vnfd.model import Flavour, Vdu, Vnfd


class Package:
    """A VNFD and the templates in its package.

    User data written for Tacker calls the public methods by these names.
    """

    def __init__(self, vnfd: Vnfd, folder: Path) -> None:
        self._vnfd = vnfd
        self._folder = folder

    def _flavour(self, flavour_id: str) -> Flavour:
        return self._vnfd.flavours[flavour_id]

    def get_base_hot(self, flavour_id: str) -> Json:
        """Return {"template": the template, "files": {name: nested template}}.

        :raises InvalidParameters: the flavour has no or several templates
        :raises InvalidPackage: a template is not valid YAML
        """
        found = base_hot.read(self._folder, self._vnfd.id, flavour_id)
        return {
            "template": bounded_yaml.load(found.template, found.name),
            "files": {
                name: bounded_yaml.load(text, name)
                for name, text in found.files.items()
            },
        }

    def get_vdu_nodes(self, flavour_id: str) -> Mapping[str, Vdu]:
        return self._flavour(flavour_id).vdus

    def get_vdu_storages(self, vdu: Vdu) -> list[str]:
        return list(vdu.storages)

    def get_vdu_cps(self, flavour_id: str, vdu_name: str) -> list[str]:
        """Return the connection points that are bound to a VDU."""
        points = self._flavour(flavour_id).connection_points.values()
        return [point.id for point in points if point.vdu == vdu_name]

    def get_compute_flavor(self, flavour_id: str, vdu_name: str) -> str | None:
        """Return the compute flavour of a VDU in the VNFD."""
        vdu = self._flavour(flavour_id).vdus.get(vdu_name)
        return vdu.compute_flavour if vdu else None

    def get_sw_image(self, flavour_id: str) -> dict[str, str]:
        """Return VDU or storage -> name of its image."""
        flavour = self._flavour(flavour_id)
        names = {image.id: image.name for image in self._vnfd.software_images}
        image_ids = {id_: vdu.image for id_, vdu in flavour.vdus.items()}
        image_ids |= {
            id_: node.image for id_, node in flavour.storages.items()
        }
        return {id_: names[image] for id_, image in image_ids.items() if image}
