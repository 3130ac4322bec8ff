"""Valid packages and descriptors that tests modify."""

import copy
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENTRY = "Definitions/top.vnfd.yaml"
META = f"""\
TOSCA-Meta-File-Version: 1.0
CSAR-Version: 1.1
Created-By: a vendor
Entry-Definitions: {ENTRY}
"""
SOL001 = [
    "etsi_nfv_sol001_common_types.yaml",
    "etsi_nfv_sol001_vnfd_types.yaml",
]
POLICIES = "tosca.policies.nfv."

Tree = dict[str, Any]


def write_zip(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def package_files(
    more: Mapping[str, str | bytes] | None = None,
) -> dict[str, str | bytes]:
    return {"TOSCA-Metadata/TOSCA.meta": META, ENTRY: "a: 1\n", **(more or {})}


def write_tree(root: Path, files: Mapping[str, Any]) -> Path:
    """Write files; values other than texts are written as JSON."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(content, str)
        path.write_text(content if is_text else json.dumps(content))
    return root


def policy(kind: str, targets: list[str] | None = None, **more: Any) -> Tree:
    written: Tree = {"type": POLICIES + kind, "properties": more}
    return written | ({"targets": targets} if targets else {})


def vdu(name: str, low: int, high: int) -> Tree:
    return {
        "type": "tosca.nodes.nfv.Vdu.Compute",
        "properties": {
            "name": f"{name.lower()}-name",
            "description": f"the {name}",
            "vdu_profile": {
                "min_number_of_instances": low,
                "max_number_of_instances": high,
            },
        },
    }


def count(number: int) -> Tree:
    return {"number_of_instances": number}


TYPES: Tree = {
    "tosca_definitions_version": "tosca_simple_yaml_1_2",
    "imports": SOL001,
    "node_types": {
        "vendor.VNF": {
            "derived_from": "tosca.nodes.nfv.VNF",
            "properties": {
                "descriptor_id": {"type": "string", "default": "of-type"},
                "provider": {"type": "string", "default": "Type & Co"},
                "flavour_id": {"type": "string", "default": "simple"},
            },
        },
    },
}
TOP: Tree = {
    "tosca_definitions_version": "tosca_simple_yaml_1_2",
    "imports": [*SOL001, "types.yaml", "simple.yaml"],
    "topology_template": {
        "inputs": {
            "selected_flavour": {"type": "string"},
            "version": {"type": "string", "default": "7.0"},
        },
        "node_templates": {
            "VNF": {
                "type": "vendor.VNF",
                "properties": {
                    "flavour_id": {"get_input": "selected_flavour"},
                    "descriptor_id": "an-id",
                    "product_name": "Product",
                    "software_version": "1.0",
                    "descriptor_version": {"get_input": "version"},
                },
            },
        },
    },
}
SIMPLE: Tree = {
    "tosca_definitions_version": "tosca_simple_yaml_1_2",
    "description": "the simple flavour",
    "imports": [*SOL001, "types.yaml"],
    "topology_template": {
        "substitution_mappings": {
            "node_type": "vendor.VNF",
            "properties": {"flavour_id": "simple"},
        },
        "node_templates": {
            "VNF": {"type": "vendor.VNF", "properties": {}},
            "VDU1": vdu("VDU1", 1, 5),
            "VDU2": vdu("VDU2", 1, 1),
        },
        "groups": {
            "near": {
                "type": "tosca.groups.nfv.PlacementGroup",
                "members": ["VDU1", "VDU2"],
            },
        },
        "policies": [
            {
                "aspects": policy(
                    "ScalingAspects",
                    aspects={
                        "web": {
                            "name": "Web",
                            "description": "more of it",
                            "max_scale_level": 3,
                            "step_deltas": ["one"],
                        },
                    },
                ),
            },
            {
                "initial": policy(
                    "VduInitialDelta",
                    ["VDU1"],
                    initial_delta=count(2),
                ),
            },
            {
                "deltas": policy(
                    "VduScalingAspectDeltas",
                    ["VDU1"],
                    aspect="web",
                    deltas={"one": count(1)},
                ),
            },
            {
                "levels": policy(
                    "InstantiationLevels",
                    levels={
                        "low": {"description": "little"},
                        "high": {
                            "description": "much",
                            "scale_info": {"web": {"scale_level": 2}},
                        },
                    },
                    default_level="low",
                ),
            },
            {
                "counts": policy(
                    "VduInstantiationLevels",
                    ["VDU1"],
                    levels={"low": count(2), "high": count(4)},
                ),
            },
            {
                "bits": policy(
                    "VirtualLinkInstantiationLevels",
                    ["nowhere"],
                    levels={"any": "thing"},
                ),
            },
            {"together": policy("AffinityRule", ["near"], scope="zone")},
            {
                "apart": policy(
                    "AntiAffinityRule",
                    ["VDU1"],
                    scope="nfvi_node",
                ),
            },
        ],
    },
}


def vnfd_files() -> Tree:
    """Return a valid VNFD of three files: path -> its content."""
    return {
        ENTRY: copy.deepcopy(TOP),
        "Definitions/types.yaml": copy.deepcopy(TYPES),
        "Definitions/simple.yaml": copy.deepcopy(SIMPLE),
    }


def changed(files: Tree, path: str, value: Any) -> Tree:
    """Set the value at a path like ``file|key|0|key``; None deletes it."""
    *way, last = path.split("|")
    place: Any = files
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        place[int(last)] = value
    elif value is None:
        del place[last]
    else:
        place[last] = value
    return files
