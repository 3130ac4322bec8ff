"""What of a VIM's images and flavours a grant leaves open."""

from collections.abc import Mapping
from typing import Any

import msgspec
import testtools

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import assets
from tacker_cnf.drivers.openstack.glance import Image
from tacker_cnf.lcm import grant_plan
from tacker_cnf.lcm.change import ALL
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import Grant, GrantLinks, VimAssets
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.vnfd.model import SoftwareImage, VirtualStorage
from tests.factories import (
    a_flavour,
    a_state,
    a_task,
    a_vdu,
    a_vnfc,
    a_vnfd,
    an_instance,
    an_op_occ,
)

IMAGES = {
    name: SoftwareImage(id=name, name=f"{name}.qcow2", version="1")
    for name in ("web", "disk")
}
FLAVOUR = a_flavour(
    vdus={
        "web": msgspec.structs.replace(
            a_vdu("web"), image="web", compute_flavour="m1.tiny"
        ),
        "agent": msgspec.structs.replace(a_vdu("agent"), storages=("disk",)),
    },
    storages={"disk": VirtualStorage(id="disk", kind="BLOCK", image="disk")},
)
VNFD = msgspec.structs.replace(
    a_vnfd(FLAVOUR), software_images=tuple(IMAGES.values())
)
HREF = Link(href="/")


class KnownImages:
    """A VIM with some images."""

    def __init__(self, **ids: str) -> None:
        self._ids = ids
        self.queried: list[str] = []

    def find_ids(self, wanted: tuple[SoftwareImage, ...]) -> Mapping[str, str]:
        self.queried += [image.name for image in wanted]
        return {x.id: self._ids[x.id] for x in wanted if x.id in self._ids}


def build_task(grant: Grant, **more: Any) -> InfraTask:
    request = InstantiateVnfRequest(flavour_id="simple")
    grant_request = grant_plan.build(
        an_op_occ(), request, an_instance(), None, a_state(), FLAVOUR
    )
    fields: dict[str, Any] = {
        "grant_request": grant_request,
        "grant": grant,
    }
    return a_task(vnfd=VNFD, **fields | more)


def a_grant(**assets: Any) -> Grant:
    return Grant(
        id="g",
        vnf_instance_id="i",
        vnf_lcm_op_occ_id="o",
        vim_assets=msgspec.convert(assets, VimAssets) if assets else None,
        links=GrantLinks(self_=HREF, vnf_lcm_op_occ=HREF, vnf_instance=HREF),
    )


def grant_values(grant: Grant | None) -> Any:
    found = grant.vim_assets if grant else None
    return msgspec.json.decode(msgspec.json.encode(found))


class TestAssets(testtools.TestCase):
    def test_image_ids_and_flavours_are_added(self) -> None:
        known_images = KnownImages(web="id-1", disk="id-2")
        self.assertEqual(
            {
                "computeResourceFlavours": [
                    {
                        "vnfdVirtualComputeDescId": "web",
                        "vimFlavourId": "m1.tiny",
                    }
                ],
                "softwareImages": [
                    {
                        "vnfdSoftwareImageId": "web",
                        "vimSoftwareImageId": "id-1",
                    },
                    {
                        "vnfdSoftwareImageId": "disk",
                        "vimSoftwareImageId": "id-2",
                    },
                ],
            },
            grant_values(
                assets.complete_grant(build_task(a_grant()), known_images)
            ),
        )
        self.assertEqual(["web.qcow2", "disk.qcow2"], known_images.queried)

    def test_granted_assets_have_priority(self) -> None:
        images = [{"vnfdSoftwareImageId": "web", "vimSoftwareImageId": "own"}]
        flavours = [
            {"vnfdVirtualComputeDescId": "web", "vimFlavourId": "large"}
        ]
        granted = {
            "softwareImages": images,
            "computeResourceFlavours": flavours,
        }
        glance = KnownImages(web="id-1")
        done = assets.complete_grant(build_task(a_grant(**granted)), glance)
        self.assertEqual(granted, grant_values(done))
        self.assertEqual(["disk.qcow2"], glance.queried)

    def test_images_not_found_are_not_added(self) -> None:
        done = grant_values(
            assets.complete_grant(build_task(a_grant()), KnownImages())
        )
        self.assertNotIn("softwareImages", done)

    def test_without_additions_the_vim_is_not_queried(self) -> None:
        for more in (
            {"desired": a_state(vnfcs=(a_vnfc(),))},
            {"replace": ALL},
            {"grant_request": None},
            {"desired": None},
        ):
            known_images = KnownImages(web="id-1")
            grant = a_grant()
            task = build_task(grant, **more)
            self.assertIs(grant, assets.complete_grant(task, known_images))
            self.assertEqual([], known_images.queried)


class TestHashes(testtools.TestCase):
    def test_contents_are_matched_by_the_common_hash(self) -> None:
        image = Image(
            id="i", checksum="55", os_hash_algo="sha512", os_hash_value="aa"
        )
        for algorithm, value, same in (
            ("SHA-512", "AA", True),
            ("sha512", "ab", False),
            ("MD5", "55", True),
            ("sha-256", "aa", False),
            (None, None, False),
        ):
            wanted = SoftwareImage(
                id="w",
                name="w",
                version="1",
                checksum_algorithm=algorithm,
                checksum_hash=value,
            )
            self.assertIs(same, image.matches_hash(wanted), str(algorithm))
