"""Adds images and flavours of the VIM that a grant does not have.

The driver does this, not the NFVO client, as only the driver reads its VIM;
so the result is the same with an external NFVO and without one.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.sol.grant import (
    Grant,
    ResourceDefinitionType,
    VimAssets,
    VimComputeResourceFlavour,
    VimSoftwareImage,
)
from tacker_cnf.vnfd.model import Flavour, SoftwareImage


class Images(Protocol):
    """The images of a VIM."""

    def find_ids(self, wanted: tuple[SoftwareImage, ...]) -> Mapping[str, str]:
        """Return image id in the VNFD -> image id in the VIM, if found."""


def complete_grant(task: InfraTask, images: Images) -> Grant | None:
    """Add the VNFD's flavours and the VIM's ids of the VNFD's images to a
    grant that adds VNFCs. Assets in the grant have priority.

    A heal and a rollback keep the current assets, so their grants are
    returned unchanged.

    :raises InfraError: the images cannot be read from the VIM
    """
    grant, desired = task.grant, task.change.desired
    if grant is None or desired is None or not _adds_compute(task):
        return grant
    flavour = flavour_of(task.package.vnfd, desired.flavour_id)
    assets = grant.vim_assets or VimAssets()
    return msgspec.structs.replace(
        grant,
        vim_assets=msgspec.structs.replace(
            assets,
            compute_resource_flavours=(
                *assets.compute_resource_flavours,
                *_flavours(flavour, assets),
            ),
            software_images=(
                *assets.software_images,
                *_images(flavour, assets, task, images),
            ),
        ),
    )


def _adds_compute(task: InfraTask) -> bool:
    request = task.grant_request
    if request is None or task.change.replace or task.change.restores:
        return False
    compute = ResourceDefinitionType.COMPUTE
    return any(added.type is compute for added in request.add_resources)


def _flavours(
    flavour: Flavour, assets: VimAssets
) -> list[VimComputeResourceFlavour]:
    granted = {
        asset.vnfd_virtual_compute_desc_id
        for asset in assets.compute_resource_flavours
    }
    return [
        VimComputeResourceFlavour(
            vnfd_virtual_compute_desc_id=vdu.id,
            vim_flavour_id=vdu.compute_flavour,
        )
        for vdu in flavour.vdus.values()
        if vdu.compute_flavour and vdu.id not in granted
    ]


def _images(
    flavour: Flavour, assets: VimAssets, task: InfraTask, images: Images
) -> list[VimSoftwareImage]:
    granted = {
        asset.vnfd_software_image_id for asset in assets.software_images
    }
    image_ids = {id_: vdu.image for id_, vdu in flavour.vdus.items()}
    image_ids |= {id_: node.image for id_, node in flavour.storages.items()}
    missing = {
        id_: image
        for id_, image in image_ids.items()
        if image and id_ not in granted
    }
    wanted = tuple(
        image
        for image in task.package.vnfd.software_images
        if image.id in missing.values()
    )
    found = images.find_ids(wanted) if wanted else {}
    return [
        VimSoftwareImage(
            vnfd_software_image_id=id_, vim_software_image_id=found[image]
        )
        for id_, image in missing.items()
        if image in found
    ]
