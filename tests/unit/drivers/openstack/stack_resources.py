"""Resources of a stack, as Heat lists them."""

import itertools
from typing import Any

import msgspec

from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.vnfd.model import (
    ConnectionPoint,
    Flavour,
    Vdu,
    VirtualLink,
    VirtualStorage,
)

URL = "http://heat.example:8004/v1/a-project/stacks"
ROOT = "vnf-1/root"

SERVER = "OS::Nova::Server"
PORT = "OS::Neutron::Port"
VOLUME = "OS::Cinder::Volume"
NET = "OS::Neutron::Net"
GROUP = "OS::Heat::AutoScalingGroup"


class Listing:
    """Collects the resources of a stack."""

    def __init__(self) -> None:
        self._resources: list[Any] = []
        self._seconds = itertools.count(10)

    def add(
        self,
        name: str,
        kind: str,
        stack: str = ROOT,
        *,
        nested: str | None = None,
        status: str = "CREATE_COMPLETE",
        needed_by: str | None = None,
        physical: str | None = None,
        reason: str = "state changed",
    ) -> None:
        links = [{"rel": "stack", "href": f"{URL}/{stack}"}]
        if nested:
            links.append({"rel": "nested", "href": f"{URL}/{nested}"})
        place = stack.rpartition("/")[2]
        self._resources.append(
            {
                "resource_name": name,
                "resource_type": kind,
                "resource_status": status,
                "resource_status_reason": reason,
                "physical_resource_id": (
                    f"{name}@{place}" if physical is None else physical
                ),
                "creation_time": f"2026-11-21T12:00:{next(self._seconds)}Z",
                "required_by": [needed_by] if needed_by else [],
                "links": links,
            }
        )

    def member(self, name: str) -> None:
        """Add a member of the group of ``web``."""
        stack = f"vnf-1-web-{name}/{name}"
        self.add(name, "web.yaml", "vnf-1-web/web", nested=stack)
        self.add("web", SERVER, stack)
        self.add("web_cp", PORT, stack, needed_by="web")
        self.add("web_in", PORT, stack, needed_by="web")

    def tree(self) -> Tree:
        return Tree(msgspec.convert(self._resources, list[Resource]))


def grouped(*members: str, group: str = GROUP) -> Listing:
    """List a VNF with a group of ``web``, and one ``store``."""
    listing = Listing()
    listing.add("inside", NET)
    listing.add("web_group", group, nested="vnf-1-web/web")
    for name in members:
        listing.member(name)
    listing.add("store", SERVER)
    listing.add("disk", VOLUME, needed_by="store")
    listing.add("store_in", PORT, needed_by="store")
    return listing


def a_flavour() -> Flavour:
    def vdu(name: str, *storages: str) -> Vdu:
        return Vdu(
            id=name,
            name=name,
            min_instances=1,
            max_instances=3,
            storages=storages,
        )

    points = {
        "web_cp": ("web", None),
        "web_in": ("web", "inside"),
        "store_cp": ("store", None),
        "store_in": ("store", "inside"),
    }
    return Flavour(
        id="simple",
        vdus={"web": vdu("web"), "store": vdu("store", "disk")},
        storages={"disk": VirtualStorage(id="disk", kind="block")},
        virtual_links={"inside": VirtualLink(id="inside")},
        connection_points={
            name: ConnectionPoint(
                id=name, vdu=vdu, virtual_link=link, external=link is None
            )
            for name, (vdu, link) in points.items()
        },
    )


def a_stack(**nfv: Any) -> Stack:
    return Stack(
        id="root",
        name="vnf-1",
        status="CREATE_COMPLETE",
        parameters={"nfv": msgspec.json.encode(nfv).decode()},
    )
