"""A VNF package, as user data reads it."""

import copy
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tacker_cnf.user_data.base import Json
from tacker_cnf.vnfd import base_hot, bounded_yaml, descriptor, nodes, scaling
from tacker_cnf.vnfd.model import Flavour, Vnfd
from tacker_cnf.vnfd.topology import Topology, requirements_of
from tacker_cnf.vnfd.values import Value

#: scopes of affinity rules that a VIM knows
SCOPES: Final = frozenset({"ZONE", "NFVI_NODE"})


class Package:
    """A VNFD and the templates in its package.

    User data written for Tacker calls the public methods by these names.
    Nodes and policies are as the VNFD writes them.
    """

    def __init__(self, vnfd: Vnfd, folder: Path) -> None:
        self._vnfd = vnfd
        self._folder = folder
        self._topology = functools.cache(self._read_topology)

    @property
    def csar_dir(self) -> str:
        """The directory of the package."""
        return str(self._folder)

    def flavour(self, flavour_id: str) -> Flavour:
        return self._vnfd.flavours[flavour_id]

    def _read_topology(self, flavour_id: str) -> Topology:
        """Read the definitions of a flavour."""
        folder = self._folder
        files = self._vnfd.files or [
            path.relative_to(folder).as_posix()
            for path in sorted(folder.glob("Definitions/*.y*ml"))
        ]
        return descriptor.find_topology(folder, files, flavour_id)

    def definitions(self, flavour_id: str) -> Json:
        """Return the definitions file of a flavour."""
        return copy.deepcopy(dict(self._topology(flavour_id).document.raw))

    def _raw_nodes(
        self, flavour_id: str, names: Iterable[str]
    ) -> dict[str, Json]:
        found = self._topology(flavour_id).nodes
        return {name: found[name].value.raw for name in names}

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

    def get_vdu_nodes(self, flavour_id: str) -> dict[str, Json]:
        return self._raw_nodes(flavour_id, self.flavour(flavour_id).vdus)

    def get_storage_nodes(self, flavour_id: str) -> dict[str, Json]:
        return self._raw_nodes(flavour_id, self.flavour(flavour_id).storages)

    def get_virtual_link_nodes(self, flavour_id: str) -> dict[str, Json]:
        links = self.flavour(flavour_id).virtual_links
        return self._raw_nodes(flavour_id, links)

    def get_vducp_nodes(self, flavour_id: str) -> dict[str, Json]:
        found = self._topology(flavour_id).nodes_of_type(nodes.VDU_CP_TYPE)
        return self._raw_nodes(flavour_id, found)

    def get_vdu_storages(self, vdu_node: Json) -> list[str]:
        """Return the storages that the node of a VDU requires."""
        value = Value(vdu_node, "VNFD")
        targets = requirements_of(value, nodes.STORAGE_REQUIREMENT)
        return [target.text() for target in targets]

    def get_vdu_cps(self, flavour_id: str, vdu_name: str) -> list[str]:
        """Return the connection points that are bound to a VDU."""
        points = self.flavour(flavour_id).connection_points.values()
        return [point.id for point in points if point.vdu == vdu_name]

    def get_compute_flavor(self, flavour_id: str, vdu_name: str) -> str | None:
        """Return the compute flavour of a VDU in the VNFD."""
        vdu = self.flavour(flavour_id).vdus.get(vdu_name)
        return vdu.compute_flavour if vdu else None

    def get_sw_image(self, flavour_id: str) -> dict[str, str]:
        """Return VDU or storage -> name of its image."""
        flavour = self.flavour(flavour_id)
        names = {image.id: image.name for image in self._vnfd.software_images}
        image_ids = {id_: vdu.image for id_, vdu in flavour.vdus.items()}
        image_ids |= {
            id_: node.image for id_, node in flavour.storages.items()
        }
        return {id_: names[image] for id_, image in image_ids.items() if image}

    def get_sw_image_data(self, flavour_id: str) -> dict[str, Json]:
        """Return VDU or storage -> its sw_image_data, with the ``file`` of its
        artifact ``sw_image``.
        """
        found = {}
        for name in self.get_sw_image(flavour_id):
            node = self._topology(flavour_id).nodes[name]
            found[name] = dict(node.property("sw_image_data").raw)
            if artifact := node.artifacts().get("sw_image"):
                found[name]["file"] = artifact.reference.text()
        return found

    def get_policy_values_by_type(
        self, flavour_id: str, policy_type: str
    ) -> list[Json]:
        policies = self._topology(flavour_id).policies(policy_type)
        return [policy.value.raw for policy in policies]

    def get_default_instantiation_level(self, flavour_id: str) -> str | None:
        return self.flavour(flavour_id).default_level

    def get_vdu_num(
        self, flavour_id: str, vdu_name: str, instantiation_level: str | None
    ) -> int:
        """Return the number of VNFCs of a VDU at a level."""
        counts = scaling.counts_of_level(
            self.flavour(flavour_id), instantiation_level
        )
        return counts.get(vdu_name, 0)

    def get_initial_delta(self, flavour_id: str, vdu_id: str) -> int | None:
        return self.flavour(flavour_id).initial_deltas.get(vdu_id)

    def get_scale_vdu_and_num(
        self, flavour_id: str, aspect_id: str
    ) -> dict[str, int]:
        """Return VDU -> number of VNFCs that the first step adds."""
        flavour = self.flavour(flavour_id)
        if aspect_id not in flavour.aspects:
            return {}
        return scaling.step(flavour, aspect_id, 0, 1)

    def get_max_scale_level(self, flavour_id: str, aspect_id: str) -> int:
        return scaling.max_levels(self.flavour(flavour_id)).get(aspect_id, 0)

    def get_placement_groups(self, flavour_id: str) -> dict[str, list[str]]:
        groups = self.flavour(flavour_id).placement_groups
        return {name: list(members) for name, members in groups.items()}

    def get_affinity_targets(
        self, flavour_id: str
    ) -> list[tuple[list[str], str]]:
        """Return the targets and the scope of each affinity rule."""
        return self._affinity_targets(flavour_id, "AFFINITY")

    def get_anti_affinity_targets(
        self, flavour_id: str
    ) -> list[tuple[list[str], str]]:
        """Return the targets and the scope of each anti-affinity rule."""
        return self._affinity_targets(flavour_id, "ANTI_AFFINITY")

    def _affinity_targets(
        self, flavour_id: str, kind: str
    ) -> list[tuple[list[str], str]]:
        groups = self.get_placement_groups(flavour_id)
        return [
            (
                [
                    member
                    for target in rule.targets
                    for member in groups.get(target, [target])
                ],
                rule.scope.lower(),
            )
            for rule in self.flavour(flavour_id).affinity_rules
            if rule.kind == kind and rule.scope in SCOPES
        ]

    def get_interface_script(
        self, flavour_id: str, operation: str
    ) -> str | None:
        """Return the path of a management script in the package."""
        return self.flavour(flavour_id).scripts.get(operation)
