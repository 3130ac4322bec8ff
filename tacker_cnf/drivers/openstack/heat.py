"""Requests to Heat."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf.drivers.openstack import addresses, api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.openstack.stacks import PORT, Resource, Stack, Tree
from tacker_cnf.drivers.path_segment import quote
from tacker_cnf.runtime.retry_policy import RetryPolicy

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: attributes of a floating IP, and of a port
FLOATING_IP_ADDRESS: Final = "floating_ip_address"
FIXED_IPS: Final = "fixed_ips"
#: nested stacks to list; Heat's default limit is 5
MAX_NESTED_DEPTH: Final = 50


class Heat:
    """Heat client of one task.

    After a GRACEFUL cancel no change is started; after a FORCEFUL cancel no
    response is awaited either.
    """

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy
        self.cancel_token = retry_policy.cancel_token

    def project_id(self) -> str:
        """Return the id of the project of the credentials."""
        return str(self._call(self._api.session.get_project_id))

    def check_access(self) -> None:
        """Send one small request to check address and credentials.

        :raises InfraError: Heat cannot be used
        """
        self._call(lambda: list(self._client.list(limit=1)))

    def find(self, name: str) -> Stack | None:
        """Find a stack by its name, or by NAME/ID; None: not found."""
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
        stacks = msgspec.convert([s.to_dict() for s in found], list[Stack])
        # an administrator's list includes stacks of other projects
        return [s for s in stacks if project in s.links[0]["href"]]

    def create(self, name: str, body: Mapping[str, Any]) -> str:
        """Start to create a stack; return its NAME/ID.

        :raises Conflict: a stack of this name exists
        """
        self.cancel_token.check()
        created = self._call(
            lambda: self._client.create(
                stack_name=name, disable_rollback=True, **body
            )
        )
        return f"{name}/{quote(created['stack']['id'])}"

    def update(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Start to update a stack.

        :param existing: keep template and parameters that body lacks
        :raises NotFound: the stack does not exist
        :raises Conflict: another action on it is in progress
        """
        self.cancel_token.check()
        options = {"existing": True} if existing else {}
        self._call(
            lambda: self._client.update(
                stack.identity, disable_rollback=True, **options, **body
            )
        )

    def resume(self, stack: Stack) -> None:
        """Start to resume a suspended stack.

        :raises NotFound: the stack does not exist
        :raises Conflict: another action on it is in progress
        """
        self.cancel_token.check()
        self._call(lambda: self._api.client.actions.resume(stack.identity))

    def preview(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        """Validate an update without starting it.

        :param existing: keep template and parameters that body lacks
        :raises VimRejected: Heat would reject the update
        """
        options = {"existing": True} if existing else {}
        self._call(
            lambda: self._client.preview_update(
                stack.identity, **options, **body
            )
        )

    def preview_creation(
        self, name: str, body: Mapping[str, Any]
    ) -> Sequence[tuple[str, str]]:
        """Return (type, name) of the resources that a new stack would get.

        :raises VimRejected: Heat would reject it
        """
        found = self._call(
            lambda: self._client.preview(stack_name=name, **body)
        )
        return [
            (resource["resource_type"], resource["resource_name"])
            for resource in _flattened(found.resources)
        ]

    def delete(self, stack: Stack) -> None:
        """Start to delete a stack, if it exists."""
        self.cancel_token.check()
        try:
            self._call(lambda: self._client.delete(stack.identity))
        except api_errors.NotFound:
            LOG.debug("Stack already deleted: stack=%s", stack.identity)

    def template(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        """Return the template of a stack, as JSON, and its files."""
        template = self._call(lambda: self._client.template(stack.identity))
        files = self._call(lambda: self._client.files(stack.identity))
        return msgspec.json.encode(template).decode(), files

    def tree(self, stack: Stack) -> Tree:
        """Return the resources of a stack and of all nested stacks."""
        found = self._call(
            lambda: self._api.client.resources.list(
                stack.identity, nested_depth=MAX_NESTED_DEPTH
            )
        )
        return Tree(
            msgspec.convert([r.to_dict() for r in found], list[Resource])
        )

    def ports(self, stack: Stack) -> addresses.Ports:
        """Return the ports of a stack and of all nested stacks; Heat requests
        their addresses from Neutron.
        """
        found = self._call(
            lambda: self._api.client.resources.list(
                stack.identity,
                nested_depth=MAX_NESTED_DEPTH,
                with_detail=True,
                filters={"type": PORT},
            )
        )
        resources = [resource.to_dict() for resource in found]
        return {
            resource["physical_resource_id"]: addresses.parse_port(
                resource.get("attributes")
            )
            for resource in resources
        }

    def attributes(
        self, resource: Resource, names: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return attributes of a resource, such as a port's addresses.

        :raises NotFound: the resource does not exist
        """
        found = self._call(
            lambda: self._api.client.resources.get(
                resource.stack, _segment(resource), with_attr=list(names)
            )
        )
        return dict(found.attributes)

    def address(self, resource: Resource) -> str | None:
        """Return the address of a floating IP or a port: the floating one if
        it has one, else the first fixed one; None: it has no address.

        :raises NotFound: the resource does not exist
        """
        attributes = self.attributes(
            resource, (FLOATING_IP_ADDRESS, FIXED_IPS)
        )
        fixed = (
            ip.get("ip_address") for ip in attributes.get(FIXED_IPS) or ()
        )
        return attributes.get(FLOATING_IP_ADDRESS) or next(
            filter(None, fixed), None
        )

    def mark_unhealthy(
        self, resource: Resource, reason: str, *, unhealthy: bool = True
    ) -> None:
        """Mark a resource unhealthy, so that the next update of its stack
        replaces it; do nothing if it does not exist.

        :param unhealthy: False removes the mark
        """
        if unhealthy:
            self.cancel_token.check()
        try:
            self._call(
                lambda: self._api.client.resources.mark_unhealthy(
                    resource.stack,
                    _segment(resource),
                    mark_unhealthy=unhealthy,
                    resource_status_reason=reason,
                )
            )
        except api_errors.NotFound:
            LOG.debug(
                "Resource already deleted: stack=%s resource=%s",
                resource.stack,
                resource.name,
            )

    def events(self, identity: str, marker: str | None) -> list[Any]:
        """Return the events of a stack after ``marker``, oldest first.

        Heat purges old events: if ``marker`` is purged, all are returned.

        :raises NotFound: the stack does not exist
        """
        return list(
            self._call(
                lambda: self._api.client.events.list(
                    identity, marker=marker, sort_dir="asc"
                )
            )
        )

    def last_event(self, identity: str) -> str | None:
        """Return the id of the newest event of a stack.

        :raises NotFound: the stack does not exist
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


def _segment(resource: Resource) -> str:
    """Return the name of a resource, which the client quotes, but for "/"."""
    quote(resource.name)
    return resource.name


def _flattened(resources: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Return resources without the nesting of their stacks."""
    for resource in resources:
        if isinstance(resource, list):
            yield from _flattened(resource)
        else:
            yield resource
