"""The URLs of resources, for Location headers and _links."""

from typing import Final

import msgspec

from tacker_cnf.lcm.operations import registry
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.vnf_instance import VnfInstance, VnfInstanceLinks
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc, VnfLcmOpOccLinks
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    VnfPkgInfo,
    VnfPkgInfoLinks,
)

LCM: Final = Api.LCM_V2.root
VIMS: Final = "/v1.0/vims"
#: task -> attribute of its link, if the names differ
_LINK_NAMES: Final = {"change_vnfpkg": "change_vnf_pkg"}


def instance(instance_id: str) -> str:
    return f"{LCM}/vnf_instances/{instance_id}"


def op_occ(op_occ_id: str) -> str:
    return f"{LCM}/vnf_lcm_op_occs/{op_occ_id}"


def package(api: Api, package_id: str) -> str:
    return f"{api.root}/vnf_packages/{package_id}"


def vim(vim_id: str) -> str:
    return f"{VIMS}/{vim_id}"


def with_instance_links(value: VnfInstance, base: str) -> VnfInstance:
    """Add links to the tasks that are allowed now (SOL003 5.5.2.2)."""
    self_url = base + instance(value.id)
    links = VnfInstanceLinks(
        self_=Link(href=self_url),
        **{
            _LINK_NAMES.get(task, task): Link(href=f"{self_url}/{task}")
            for task in registry.allowed_tasks(value)
        },
    )
    return msgspec.structs.replace(value, links=links)


def with_op_occ_links(value: VnfLcmOpOcc, base: str) -> VnfLcmOpOcc:
    """Add links to the tasks that are allowed now (SOL003 5.5.2.13)."""
    self_url = base + op_occ(value.id)
    allowed = registry.decisions(value.operation, value.operation_state)
    links = VnfLcmOpOccLinks(
        self_=Link(href=self_url),
        vnf_instance=Link(href=base + instance(value.vnf_instance_id)),
        **{
            registry.TASKS[e]: Link(href=f"{self_url}/{registry.TASKS[e]}")
            for e in allowed
        },
    )
    return msgspec.structs.replace(value, links=links)


def with_package_links(api: Api, value: VnfPkgInfo, base: str) -> VnfPkgInfo:
    """Add links to the parts of a package (SOL003 10.5.2.2)."""
    self_url = base + package(api, value.id)
    onboarded = value.onboarding_state == OnboardingState.ONBOARDED
    links = VnfPkgInfoLinks(
        self_=Link(href=self_url),
        vnfd=Link(href=f"{self_url}/vnfd") if onboarded else None,
        package_content=Link(href=f"{self_url}/package_content"),
    )
    return msgspec.structs.replace(value, links=links)
