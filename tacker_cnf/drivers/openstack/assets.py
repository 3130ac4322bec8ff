"""What a grant leaves open: the images and flavours of the VIM.

They are found here and not by who grants, since only a driver knows its VIM;
so it is the same whether an NFVO has granted, or this service itself.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.lcm.target import flavour_of
from tacker_cnf.sol.grant import (
    Grant,
    ResourceDefinitionType,
    VimAssets,
    VimComputeResourceFlavour,
    VimSoftwareImage,
)
from tacker_cnf.vnfd.model import Flavour, SoftwareImage


class Images(Protocol):
    """What knows the images of a VIM."""

    def find_ids(self, wanted: tuple[SoftwareImage, ...]) -> Mapping[str, str]:
        """Tell the VNFD's id of an image -> the VIM's, if it has it."""


def complete_grant(task: InfraTask, images: Images) -> Grant | None:
    """Put what the VNFD says of flavours, and the VIM's ids of the images
    that it names, into a grant that adds VNFCs. What the grant says stays.

    A heal and what undoes an operation take what is there.

    :raises InfraError: the VIM could not tell
    """
    grant, target = task.grant, task.target
    if grant is None or target is None or not _adds_compute(task):
        return grant
    flavour = flavour_of(task.package.vnfd, target.flavour_id)
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
    if request is None or task.is_heal or task.is_rollback:
        return False
    compute = ResourceDefinitionType.COMPUTE
    return any(one.type is compute for one in request.add_resources)


def _flavours(
    flavour: Flavour, assets: VimAssets
) -> list[VimComputeResourceFlavour]:
    granted = {
        one.vnfd_virtual_compute_desc_id
        for one in assets.compute_resource_flavours
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
    granted = {one.vnfd_software_image_id for one in assets.software_images}
    image_ids = {id_: vdu.image for id_, vdu in flavour.vdus.items()}
    image_ids |= {id_: one.image for id_, one in flavour.storages.items()}
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
