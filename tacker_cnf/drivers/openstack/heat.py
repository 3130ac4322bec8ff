"""What is asked of Heat, by one task; and the OpenStacks of a process."""

import hashlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.endurance import Away, Endurance
from tacker_cnf.drivers.openstack import refusals
from tacker_cnf.drivers.openstack.connection import Connection
from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: OpenStacks that a process keeps a session for
KEPT: Final = 256
#: how deep stacks may be nested in each other; Heat's own limit is 5
DEPTH: Final = 50


class Link:
    """The way to one OpenStack, shared by all who have to do with it."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        """Prepare it; nothing is sent before somebody asks.

        :param timeout: seconds for each answer
        """
        from tacker_cnf.drivers.openstack import library

        self._library = library
        self.endpoint = connection.endpoint
        self._region = connection.region
        self.session = library.session(connection, timeout)
        self.client = library.heat(self.session, connection.region)

    def told(self, ask: Callable[[], T]) -> T:
        """Ask, and tell the libraries' errors as ours."""
        try:
            return ask()
        except self._library.HEAT_ERROR as error:
            raise refusals.of_heat(int(error.code), error.message) from error
        except self._library.NO_TLS as error:
            raise errors.VimUnreachable(
                f"{self.endpoint} is not to be trusted: {error}"
            ) from error
        except self._library.NO_CONNECTION as error:
            raise Away(
                f"The OpenStack {self.endpoint} does not answer: {error}"
            ) from error
        except self._library.KEYSTONE_ERROR as error:
            raise refusals.of_keystone(
                error.http_status, error.message
            ) from error
        except self._library.NO_SERVICE as error:
            where = f" in region {self._region}" if self._region else ""
            raise errors.VimRefused(
                f"The OpenStack {self.endpoint} has no orchestration service"
                f"{where}: {error}"
            ) from error
        except self._library.ANY_ERROR as error:
            raise errors.VimUnreachable(
                f"What answers at {self.endpoint} is no OpenStack: {error}"
            ) from error


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

    def mark_unhealthy(self, resource: Resource, why: str) -> None:
        """Have the next update of its stack make a resource anew; if it has
        gone, that is well.
        """
        self.halt.check()
        try:
            self._ask(
                lambda: self._link.client.resources.mark_unhealthy(
                    resource.stack,
                    resource.name,
                    mark_unhealthy=True,
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


class Clouds:
    """The OpenStacks of this process, a session and its catalogue each."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._kept: dict[str, Link] = {}

    def connect(self, info: VimConnectionInfo, endurance: Endurance) -> Heat:
        """Give the Heat of an OpenStack; nothing is sent yet.

        :raises InvalidVimConnection: the connection says too little
        """
        connection = Connection.of(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            link = self._kept.pop(key, None)
            link = link or Link(connection, self._timeout)
            self._kept[key] = link  # the newest last
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
        return Heat(link, endurance)
