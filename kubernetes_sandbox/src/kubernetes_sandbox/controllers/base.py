"""The work queue of a controller, keyed by namespace and name."""

import abc
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from kubernetes_sandbox import pods, selectors
from kubernetes_sandbox.controller_context import ControllerContext
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
from kubernetes_sandbox.store import Change

LOG = logging.getLogger(__name__)
_INITIAL_RETRY_DELAY_S = 0.1
_MAX_RETRY_DELAY_S = 30.0


class Controller(abc.ABC):
    """Reconciles the objects of one kind whenever something changes."""

    #: The key of the reconciled kind.
    key: ClassVar[str]
    #: The keys of the kinds that the controller creates.
    children: ClassVar[tuple[str, ...]] = ()
    #: Whether a new object adopts matching objects without a controller.
    adopts: ClassVar[bool] = False

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.store = context.store
        self.kind = context.kind(self.key)
        self._waiting: dict[tuple[str, str], None] = {}
        self._created: set[tuple[str, str]] = set()
        self._delays: dict[tuple[str, str], float] = {}
        self._later: dict[tuple[str, str], Callable[[], None]] = {}
        self.store.subscribe(self.key, self._own_changed)
        for key in self.children:
            self.store.subscribe(key, self._child_changed)

    @abc.abstractmethod
    def sync(self, obj: Obj) -> None:
        """Reconcile one object."""

    def create_pod(self, obj: Obj, pod: Obj, component: str) -> None:
        """Create a pod for an object and record an event.

        :raises ApiError: the pod is rejected
        """
        record = self.context.events.record
        kind = self.context.kind(pods.KEY)
        try:
            result = self.context.api.create(kind, namespace_of(obj), pod)
        except ApiError as error:
            message = f"Error creating: {error.message}"
            record(obj, "FailedCreate", message, component, warning=True)
            raise
        message = f"Created pod: {name_of(result)}"
        record(obj, "SuccessfulCreate", message, component)

    def delete_pod(self, obj: Obj, pod: Obj, component: str) -> None:
        """Delete a pod of an object and record an event."""
        self.context.deletion.delete(self.context.kind(pods.KEY), pod)
        message = f"Deleted pod: {name_of(pod)}"
        self.context.events.record(obj, "SuccessfulDelete", message, component)

    def enqueue(self, namespace: str, name: str) -> None:
        """Add an object to the work queue."""
        if not self._waiting:
            self.context.timers.soon(self._process)
        self._waiting[namespace, name] = None

    def enqueue_later(self, obj: Obj, seconds: float) -> None:
        """Add an object to the work queue after some time."""
        place = (namespace_of(obj), name_of(obj))
        cancel = self._later.pop(place, None)
        if cancel is not None:
            cancel()
        self._later[place] = self.context.timers.later(
            seconds, self.enqueue, *place
        )

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if self.adopts and change.type == "ADDED":
            self._created.add((namespace_of(obj), name_of(obj)))
        self.enqueue(namespace_of(obj), name_of(obj))

    def _adopt_children(self, obj: Obj) -> None:
        """Adopt the objects that match the selector and have no controller."""
        selector = obj["spec"]["selector"]
        for key in self.children:
            for one in tuple(self.store.objects(key, namespace_of(obj))):
                orphaned = controller_of(one) is None and not is_deleting(one)
                if orphaned and selectors.matches(selector, labels_of(one)):
                    owners = [*owners_of(one), owner_reference(obj)]
                    adopted = with_metadata(one, ownerReferences=owners)
                    self.context.api.put(self.context.kind(key), adopted)

    def _child_changed(self, change: Change) -> None:
        obj = change.entry.obj
        owner = controller_of(obj)
        if owner and owner["kind"] == self.kind.kind:
            self.enqueue(namespace_of(obj), owner["name"])

    def _process(self) -> None:
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
                LOG.exception("Sync failed: %s %s/%s", self.kind.kind, *place)
            else:
                self._delays.pop(place, None)

    def _retry(self, place: tuple[str, str], error: ApiError) -> None:
        delay = self._delays.get(place, _INITIAL_RETRY_DELAY_S)
        self._delays[place] = min(delay * 2, _MAX_RETRY_DELAY_S)
        LOG.debug(
            "Sync failed, retrying: %s %s/%s: %s",
            self.kind.kind,
            *place,
            error.message,
        )
        self.context.timers.later(delay, self.enqueue, *place)

    def set_status(self, obj: Obj, status: Mapping[str, Any]) -> Obj:
        """Store a status if it differs."""
        newest = self.store.get(self.key, namespace_of(obj), name_of(obj))
        if newest is None:
            return obj
        return self.context.api.set_status(self.kind, newest, dict(status))
