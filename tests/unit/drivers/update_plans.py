"""Changes between the sample cnf-update-before and another package."""

import dataclasses
from pathlib import Path
from typing import Final

from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.kubernetes import (
    content,
    manifests,
    package_change,
    pod_references,
    pod_update,
)
from tacker_cnf.drivers.kubernetes.manifests import VDU_KINDS
from tacker_cnf.drivers.kubernetes.plan import ObjectPlan
from tacker_cnf.mgmt_drivers import update_plan
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.vnfd.model import Flavour, Vdu
from tests import factories

SAMPLES: Final = Path(__file__).parents[3] / "samples"
BEFORE: Final = SAMPLES / "cnf-update-before"
AFTER: Final = SAMPLES / "cnf-update-after"
FOLDER: Final = "Files/kubernetes"
CONFIGS: Final = f"{FOLDER}/configuration-2.yaml"
REST: Final = tuple(f"{FOLDER}/{name}.yaml" for name in ("other", "workloads"))
OLD_FILES: Final = (f"{FOLDER}/configuration.yaml", *REST)
NEW_FILES: Final = (CONFIGS, *REST)


def texts() -> dict[str, str]:
    """Return the manifests of the package cnf-update-after."""
    return {name: (AFTER / name).read_text() for name in NEW_FILES}


def write(tree: Path, files: dict[str, str]) -> Path:
    (tree / FOLDER).mkdir(parents=True)
    for name, text in files.items():
        (tree / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return tree


def _workloads() -> dict[str, str]:
    """Return the kind of each VDU."""
    package = UnpackedPackage(
        content_id=str(BEFORE), path=BEFORE, vnfd=factories.a_vnfd()
    )
    return {
        manifest.name: manifest.kind
        for manifest in manifests.load(package, OLD_FILES)
        if manifest.kind in VDU_KINDS
    }


def update(tree: Path, *, undoes: bool = False) -> ObjectPlan:
    """Plan an update to the package in a directory, or its rollback.

    :raises InvalidParameters: the package breaks a rule of updates
    """
    recorded = {
        "lcm-kubernetes-def-files": list(OLD_FILES),
        "vdu_reses": {
            vdu: {"kind": kind, "metadata": {"name": vdu}}
            for vdu, kind in _workloads().items()
        },
    }
    script_input = ScriptInput(
        operation="modify_information_end",
        vnf_lcm_op_occ_id="an-op-occ",
        request={"metadata": {update_plan.PATHS_KEY: [CONFIGS]}},
        vnf_instance=factories.a_running_instance(
            info=factories.an_info(metadata=recorded)
        ),
        package_dir=str(BEFORE),
        state_dir=str(BEFORE),
        vnfd_id="before",
        new_package_dir=str(tree),
        new_vnfd_id="after",
        timeout=10.0,
    )
    plan = update_plan.build(script_input, undoes=undoes)
    assert plan is not None
    return plan


def package_change_to(tree: Path) -> ObjectPlan:
    """Plan a change to the package in a directory.

    :raises InvalidParameters: the change is not possible
    """
    vdus = {
        vdu: Vdu(id=vdu, name=vdu, min_instances=0, max_instances=1)
        for vdu in _workloads()
    }
    vnfd = factories.a_vnfd(Flavour(id="simple", vdus=vdus))
    current, desired = (
        factories.a_state(
            counts=dict.fromkeys(vdus, 1),
            parameters={"lcm-kubernetes-def-files": list(files)},
        )
        for files in (OLD_FILES, NEW_FILES)
    )
    task = factories.a_task(
        tree,
        vnfd,
        current=current,
        desired=desired,
        parameters={"upgrade_type": "RollingUpdate"},
    )
    former_package = UnpackedPackage(
        content_id=str(BEFORE), path=BEFORE, vnfd=vnfd
    )
    task = dataclasses.replace(task, current_package=former_package)
    rendered = manifests.render(task.instance.id, task.package, desired)
    return package_change.plan(task, rendered)


def read(tree: Path) -> None:
    """Build all plans, and read from them all that their execution reads.

    :raises InvalidParameters: a plan is not possible
    """
    for plan in (
        update(tree),
        update(tree, undoes=True),
        package_change_to(tree),
    ):
        _read(plan)


def _read(plan: ObjectPlan) -> None:
    for manifest in (*plan.created, *plan.applied, *plan.rolled):
        plan.mark.put_on(manifest)
        for template in manifests.pod_templates(manifest.body):
            pod_references.pod_reads(template["spec"])
    for change in plan.written:
        plan.mark.put_on(change.after)
        content.is_same_content(change.before.body, change.after.body)
    for change in plan.restarted:
        old, new = change.before.body["spec"], change.after.body["spec"]
        pod_update.changed_images(old, new)
        plan.mark.put_on(change.after)
        spec = pod_update.pod_spec_of(new)
        pod_references.reading_containers(spec, pod_references.pod_reads(spec))
        pod_update.containers_of(new)
