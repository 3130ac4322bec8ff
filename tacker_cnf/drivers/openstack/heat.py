"""What is asked of Heat, by one task."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack import addresses, refusals
from tacker_cnf.drivers.openstack.link import Link
from tacker_cnf.drivers.openstack.stacks import PORT, Resource, Stack, Tree

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: attributes of a floating IP, and of a port
FLOATING: Final = "floating_ip_address"
FIXED: Final = "fixed_ips"
#: how deep stacks may be nested in each other; Heat's own limit is 5
DEPTH: Final = 50


class Heat:
    """A Heat, as one task asks things of it.

    No change is begun once the task was called off, and no answer is waited
    for once it was called off at once.
    """

    def __init__(self, link: Link, endurance: Endurance) -> None:
        self._link = link
        self._endurance = endurance
        self.halt = endurance.halt

    def project_id(self) -> str:
        """Tell the project that the credentials are of."""
        return str(self._ask(self._link.session.get_project_id))

    def look(self) -> None:
        """Ask for as little as possible, to see whether Heat lets us in."""
        self._ask(lambda: list(self._client.list(limit=1)))

    def find(self, name: str) -> Stack | None:
        """Find a stack by its name, or by NAME/ID; None: there is none."""
        try:
            found = self._ask(
                lambda: self._client.get(name, resolve_outputs=False)
            )
        except refusals.Gone:
            return None
        return msgspec.convert(found.to_dict(), Stack)

    def stacks(self) -> Sequence[Stack]:
        """List the stacks of the project."""
        project = f"/{self.project_id()}/stacks/"
        found = self._ask(lambda: list(self._client.list()))
        stacks = msgspec.convert([one.to_dict() for one in found], list[Stack])
        # an administrator is given those of other projects, too
        return [s for s in stacks if project in s.links[0]["href"]]

    def create(self, name: str, body: Mapping[str, Any]) -> str:
        """Begin to create a stack; give its NAME/ID.

        :raises Taken: there is one of this name
        """
        self.halt.check()
        made = self._ask(
            lambda: self._client.create(
                stack_name=name, disable_rollback=True, **body
            )
        )
        return f"{name}/{made['stack']['id']}"

    def update(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Begin to update a stack.

        :param existing: what the body does not say stays
        :raises Gone: there is no such stack
        :raises Taken: something else is done to it now
        """
        self.halt.check()
        keep = {"existing": True} if existing else {}
        self._ask(
            lambda: self._client.update(
                stack.identity, disable_rollback=True, **keep, **body
            )
        )

    def resume(self, stack: Stack) -> None:
        """Begin to resume a suspended stack.

        :raises Gone: there is no such stack
        :raises Taken: something else is done to it now
        """
        self.halt.check()
        self._ask(lambda: self._link.client.actions.resume(stack.identity))

    def preview(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Have Heat look at an update, and not begin it.

        :param existing: what the body does not say stays
        :raises VimRefused: it would refuse that
        """
        keep = {"existing": True} if existing else {}
        self._ask(
            lambda: self._client.preview_update(stack.identity, **keep, **body)
        )

    def delete(self, stack: Stack) -> None:
        """Begin to delete a stack; if it has gone, that is well."""
        self.halt.check()
        try:
            self._ask(lambda: self._client.delete(stack.identity))
        except refusals.Gone:
            LOG.debug("Stack %s had gone", stack.identity)

    def template(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        """Read the template of a stack, as JSON, and its files."""
        template = self._ask(lambda: self._client.template(stack.identity))
        files = self._ask(lambda: self._client.files(stack.identity))
        return msgspec.json.encode(template).decode(), files

    def tree(self, stack: Stack) -> Tree:
        """Read the resources of a stack and of all nested ones."""
        found = self._ask(
            lambda: self._link.client.resources.list(
                stack.identity, nested_depth=DEPTH
            )
        )
        return Tree(
            msgspec.convert([r.to_dict() for r in found], list[Resource])
        )

    def ports(self, stack: Stack) -> addresses.Ports:
        """Read the addresses of the ports of a stack and of all nested
        ones; Heat asks Neutron for them.
        """
        found = self._ask(
            lambda: self._link.client.resources.list(
                stack.identity,
                nested_depth=DEPTH,
                with_detail=True,
                filters={"type": PORT},
            )
        )
        told = [one.to_dict() for one in found]
        return {
            one["physical_resource_id"]: addresses.of_attributes(
                one.get("attributes")
            )
            for one in told
        }

    def attributes(
        self, resource: Resource, names: Sequence[str]
    ) -> Mapping[str, Any]:
        """Read what Heat knows of a resource, such as a port's addresses.

        :raises Gone: there is no such resource
        """
        found = self._ask(
            lambda: self._link.client.resources.get(
                resource.stack, resource.name, with_attr=list(names)
            )
        )
        return dict(found.attributes)

    def address(self, resource: Resource) -> str | None:
        """Return the address of a floating IP or a port: the floating one if
        it has one, else the first fixed one; None: Heat knows none.

        :raises Gone: there is no such resource
        """
        known = self.attributes(resource, (FLOATING, FIXED))
        fixed = (one.get("ip_address") for one in known.get(FIXED) or ())
        return known.get(FLOATING) or next(filter(None, fixed), None)

    def mark_unhealthy(
        self, resource: Resource, why: str, *, unhealthy: bool = True
    ) -> None:
        """Have the next update of its stack make a resource anew; if it has
        gone, that is well.

        :param unhealthy: False: take such a mark back
        """
        if unhealthy:
            self.halt.check()
        try:
            self._ask(
                lambda: self._link.client.resources.mark_unhealthy(
                    resource.stack,
                    resource.name,
                    mark_unhealthy=unhealthy,
                    resource_status_reason=why,
                )
            )
        except refusals.Gone:
            LOG.debug("%s of %s had gone", resource.name, resource.stack)

    def events(self, identity: str, marker: str | None) -> list[Any]:
        """Read the events of a stack that came after another, oldest first.

        Heat forgets old ones: if it knows the other no longer, it tells all.

        :raises Gone: there is no such stack
        """
        return list(
            self._ask(
                lambda: self._link.client.events.list(
                    identity, marker=marker, sort_dir="asc"
                )
            )
        )

    def last_event(self, identity: str) -> str | None:
        """Tell the id of the newest event of a stack.

        :raises Gone: there is no such stack
        """
        found = self._ask(
            lambda: self._link.client.events.list(
                identity, limit=1, sort_dir="desc"
            )
        )
        return next((str(event.id) for event in found), None)

    @property
    def _client(self) -> Any:
        return self._link.client.stacks

    def _ask(self, question: Callable[[], T]) -> T:
        return self._endurance.ask(lambda: self._link.told(question))
