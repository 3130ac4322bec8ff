"""What is asked of Heat, by one task."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf.drivers.openstack import addresses, api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.openstack.stacks import PORT, Resource, Stack, Tree
from tacker_cnf.drivers.retry_policy import RetryPolicy

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: attributes of a floating IP, and of a port
FLOATING_IP_ADDRESS: Final = "floating_ip_address"
FIXED_IPS: Final = "fixed_ips"
#: how deep stacks may be nested in each other; Heat's own limit is 5
MAX_NESTED_DEPTH: Final = 50


class Heat:
    """A Heat, as one task asks things of it.

    No change is begun once the task was called off, and no answer is waited
    for once it was called off at once.
    """

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy
        self.cancel_token = retry_policy.cancel_token

    def project_id(self) -> str:
        """Tell the project that the credentials are of."""
        return str(self._call(self._api.session.get_project_id))

    def check_access(self) -> None:
        """Ask for as little as possible, to see whether Heat lets us in."""
        self._call(lambda: list(self._client.list(limit=1)))

    def find(self, name: str) -> Stack | None:
        """Find a stack by its name, or by NAME/ID; None: there is none."""
        try:
            found = self._call(
                lambda: self._client.get(name, resolve_outputs=False)
            )
        except api_errors.NotFound:
            return None
        return msgspec.convert(found.to_dict(), Stack)

    def stacks(self) -> Sequence[Stack]:
        """List the stacks of the project."""
        project = f"/{self.project_id()}/stacks/"
        found = self._call(lambda: list(self._client.list()))
        stacks = msgspec.convert([one.to_dict() for one in found], list[Stack])
        # an administrator is given those of other projects, too
        return [s for s in stacks if project in s.links[0]["href"]]

    def create(self, name: str, body: Mapping[str, Any]) -> str:
        """Begin to create a stack; give its NAME/ID.

        :raises Taken: there is one of this name
        """
        self.cancel_token.check()
        created = self._call(
            lambda: self._client.create(
                stack_name=name, disable_rollback=True, **body
            )
        )
        return f"{name}/{created['stack']['id']}"

    def update(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Begin to update a stack.

        :param existing: what the body does not say stays
        :raises NotFound: there is no such stack
        :raises Taken: something else is done to it now
        """
        self.cancel_token.check()
        options = {"existing": True} if existing else {}
        self._call(
            lambda: self._client.update(
                stack.identity, disable_rollback=True, **options, **body
            )
        )

    def resume(self, stack: Stack) -> None:
        """Begin to resume a suspended stack.

        :raises NotFound: there is no such stack
        :raises Taken: something else is done to it now
        """
        self.cancel_token.check()
        self._call(lambda: self._api.client.actions.resume(stack.identity))

    def preview(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Have Heat look at an update, and not begin it.

        :param existing: what the body does not say stays
        :raises VimRejected: it would refuse that
        """
        options = {"existing": True} if existing else {}
        self._call(
            lambda: self._client.preview_update(
                stack.identity, **options, **body
            )
        )

    def delete(self, stack: Stack) -> None:
        """Begin to delete a stack; if it has gone, that is well."""
        self.cancel_token.check()
        try:
            self._call(lambda: self._client.delete(stack.identity))
        except api_errors.NotFound:
            LOG.debug("Stack %s had gone", stack.identity)

    def template(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        """Read the template of a stack, as JSON, and its files."""
        template = self._call(lambda: self._client.template(stack.identity))
        files = self._call(lambda: self._client.files(stack.identity))
        return msgspec.json.encode(template).decode(), files

    def tree(self, stack: Stack) -> Tree:
        """Read the resources of a stack and of all nested ones."""
        found = self._call(
            lambda: self._api.client.resources.list(
                stack.identity, nested_depth=MAX_NESTED_DEPTH
            )
        )
        return Tree(
            msgspec.convert([r.to_dict() for r in found], list[Resource])
        )

    def ports(self, stack: Stack) -> addresses.Ports:
        """Read the addresses of the ports of a stack and of all nested
        ones; Heat asks Neutron for them.
        """
        found = self._call(
            lambda: self._api.client.resources.list(
                stack.identity,
                nested_depth=MAX_NESTED_DEPTH,
                with_detail=True,
                filters={"type": PORT},
            )
        )
        resources = [one.to_dict() for one in found]
        return {
            one["physical_resource_id"]: addresses.parse_port(
                one.get("attributes")
            )
            for one in resources
        }

    def attributes(
        self, resource: Resource, names: Sequence[str]
    ) -> Mapping[str, Any]:
        """Read what Heat knows of a resource, such as a port's addresses.

        :raises NotFound: there is no such resource
        """
        found = self._call(
            lambda: self._api.client.resources.get(
                resource.stack, resource.name, with_attr=list(names)
            )
        )
        return dict(found.attributes)

    def address(self, resource: Resource) -> str | None:
        """Return the address of a floating IP or a port: the floating one if
        it has one, else the first fixed one; None: Heat knows none.

        :raises NotFound: there is no such resource
        """
        attributes = self.attributes(
            resource, (FLOATING_IP_ADDRESS, FIXED_IPS)
        )
        fixed = (
            one.get("ip_address") for one in attributes.get(FIXED_IPS) or ()
        )
        return attributes.get(FLOATING_IP_ADDRESS) or next(
            filter(None, fixed), None
        )

    def mark_unhealthy(
        self, resource: Resource, reason: str, *, unhealthy: bool = True
    ) -> None:
        """Have the next update of its stack make a resource anew; if it has
        gone, that is well.

        :param unhealthy: False: take such a mark back
        """
        if unhealthy:
            self.cancel_token.check()
        try:
            self._call(
                lambda: self._api.client.resources.mark_unhealthy(
                    resource.stack,
                    resource.name,
                    mark_unhealthy=unhealthy,
                    resource_status_reason=reason,
                )
            )
        except api_errors.NotFound:
            LOG.debug("%s of %s had gone", resource.name, resource.stack)

    def events(self, identity: str, marker: str | None) -> list[Any]:
        """Read the events of a stack that came after another, oldest first.

        Heat forgets old ones: if it knows the other no longer, it tells all.

        :raises NotFound: there is no such stack
        """
        return list(
            self._call(
                lambda: self._api.client.events.list(
                    identity, marker=marker, sort_dir="asc"
                )
            )
        )

    def last_event(self, identity: str) -> str | None:
        """Tell the id of the newest event of a stack.

        :raises NotFound: there is no such stack
        """
        found = self._call(
            lambda: self._api.client.events.list(
                identity, limit=1, sort_dir="desc"
            )
        )
        return next((str(event.id) for event in found), None)

    @property
    def _client(self) -> Any:
        return self._api.client.stacks

    def _call(self, operation: Callable[[], T]) -> T:
        return self._retry_policy.call(lambda: self._api.call(operation))
