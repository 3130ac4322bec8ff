"""The work queue of a controller, keyed by object."""

import abc
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from kubernetes_sandbox import pods, selectors
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    owners_of,
    with_metadata,
)
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

LOG = logging.getLogger(__name__)
_FIRST_RETRY = 0.1
_LAST_RETRY = 30.0


class Controller(abc.ABC):
    """Brings one kind of object towards its spec, whenever something changes."""

    #: Where the controller's own objects lie.
    key: ClassVar[str]
    #: Where the objects lie that it makes.
    children: ClassVar[tuple[str, ...]] = ()
    #: Whether a new object takes over what it selects and nothing controls.
    adopts: ClassVar[bool] = False

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.store = plane.store
        self.kind = plane.kind(self.key)
        self._waiting: dict[tuple[str, str], None] = {}
        self._created: set[tuple[str, str]] = set()
        self._delays: dict[tuple[str, str], float] = {}
        self._later: dict[tuple[str, str], Callable[[], None]] = {}
        self.store.subscribe(self.key, self._own_changed)
        for key in self.children:
            self.store.subscribe(key, self._child_changed)

    @abc.abstractmethod
    def sync(self, obj: Obj) -> None:
        """Take one object a step towards its spec."""

    def create_pod(self, obj: Obj, pod: Obj, component: str) -> None:
        """Make a pod for an object, and tell by events how that went.

        :raises ApiError: the pod may not be made
        """
        tell = self.plane.events.tell
        kind = self.plane.kind(pods.KEY)
        try:
            made = self.plane.api.create(kind, namespace_of(obj), pod)
        except ApiError as error:
            message = f"Error creating: {error.message}"
            tell(obj, "FailedCreate", message, component, warning=True)
            raise
        message = f"Created pod: {name_of(made)}"
        tell(obj, "SuccessfulCreate", message, component)

    def enqueue(self, namespace: str, name: str) -> None:
        """Look at an object soon."""
        if not self._waiting:
            self.plane.timers.soon(self._drain)
        self._waiting[namespace, name] = None

    def enqueue_later(self, obj: Obj, seconds: float) -> None:
        """Look at an object after some time."""
        place = (namespace_of(obj), name_of(obj))
        call_off = self._later.pop(place, None)
        if call_off is not None:
            call_off()
        self._later[place] = self.plane.timers.later(
            seconds, self.enqueue, *place
        )

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if self.adopts and change.type == "ADDED":
            self._created.add((namespace_of(obj), name_of(obj)))
        self.enqueue(namespace_of(obj), name_of(obj))

    def _adopt_children(self, obj: Obj) -> None:
        """Let a new object control what it selects and nothing controls."""
        selector = obj["spec"]["selector"]
        for key in self.children:
            for one in tuple(self.store.objects(key, namespace_of(obj))):
                orphaned = controller_of(one) is None and not is_deleting(one)
                if orphaned and selectors.matches(selector, labels_of(one)):
                    owners = [*owners_of(one), owner_reference(obj)]
                    adopted = with_metadata(one, ownerReferences=owners)
                    self.plane.api.put(self.plane.kind(key), adopted)

    def _child_changed(self, change: Change) -> None:
        obj = change.entry.obj
        owner = controller_of(obj)
        if owner and owner["kind"] == self.kind.kind:
            self.enqueue(namespace_of(obj), owner["name"])

    def _drain(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for place in waiting:
            obj = self.store.get(self.key, *place)
            if obj is None:
                self._delays.pop(place, None)
                self._created.discard(place)
                continue
            if place in self._created:
                self._created.remove(place)
                self._adopt_children(obj)
            try:
                self.sync(obj)
            except ApiError as error:
                self._retry(place, error)
            except Exception:
                LOG.exception("%s %s/%s", self.kind.kind, *place)
            else:
                self._delays.pop(place, None)

    def _retry(self, place: tuple[str, str], error: ApiError) -> None:
        delay = self._delays.get(place, _FIRST_RETRY)
        self._delays[place] = min(delay * 2, _LAST_RETRY)
        LOG.debug("%s %s/%s: %s", self.kind.kind, *place, error.message)
        self.plane.timers.later(delay, self.enqueue, *place)

    def set_status(self, obj: Obj, status: Mapping[str, Any]) -> Obj:
        """Store a status if it is new."""
        newest = self.store.get(self.key, namespace_of(obj), name_of(obj))
        if newest is None:
            return obj
        return self.plane.api.set_status(self.kind, newest, dict(status))
