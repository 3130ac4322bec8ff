"""Progress of a task, reported to operators: lines, and resources."""

from collections.abc import Callable, Container
from typing import Final

import msgspec

from tacker_cnf.sol.timeline import ResourceStatus

#: message of a deleted resource
DELETED: Final = "Deleted"
#: maximum length of a line
MAX_LINE_CHARS: Final = 255


class ResourceProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What a task does to one resource of the VIM at the moment."""

    #: type of the resource on the VIM: Deployment, Pod, OS::Nova::Server
    kind: str
    name: str
    #: differs from that of another resource of this kind and name
    id: str = ""
    status: ResourceStatus
    #: what the VIM reports of it
    message: str | None = None
    #: the VDU to which it belongs
    vdu_id: str | None = None
    #: the vnfcResourceInfo to which it belongs
    vnfc_id: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the resource."""
        return self.kind, self.name, self.id


class Progress:
    """Reports each line, and each state of a resource, that differs from the
    previous one.

    :param expect: called with a kind, how many resources of it the task
        changes at least, and the scope
    :param scope: of the resources, if there are others with the same names:
        the key of their VIM
    """

    def __init__(
        self,
        report: Callable[[str], None] = lambda _: None,
        report_resource: Callable[[ResourceProgress], None] = lambda _: None,
        expect: Callable[[str, int, str], None] = lambda *_: None,
        scope: str = "",
    ) -> None:
        self._report = report
        self._report_resource = report_resource
        self._expect = expect
        self._scope = scope
        self._last = ""
        self._resources: dict[tuple[str, str, str], ResourceProgress] = {}

    def __call__(self, line: str) -> None:
        """Report the present state of the task."""
        if line != self._last:
            self._last = line
            self._report(_cut(line))

    def expect(self, kind: str, count: int) -> None:
        """Report how many resources of a kind the task changes at least."""
        self._expect(kind, count, self._scope)

    def resource(self, resource: ResourceProgress) -> None:
        """Report the present state of a resource."""
        if self._resources.get(resource.key) != resource:
            self._resources[resource.key] = resource
            self._report_resource(
                msgspec.structs.replace(
                    resource,
                    name=_cut(resource.name),
                    id=f"{self._scope}{resource.id}",
                    message=resource.message and _cut(resource.message),
                )
            )

    def deleted(self, kind: str, present: Container[str]) -> None:
        """Report the resources of a kind that no longer exist, of those that
        have an id.

        :param present: the ids of all that exist
        """
        for key, resource in list(self._resources.items()):
            is_known = resource.id and resource.kind == kind
            if is_known and resource.id not in present:
                self.resource(
                    msgspec.structs.replace(
                        resource, status=ResourceStatus.DONE, message=DELETED
                    )
                )
                self._resources.pop(key, None)


def _cut(text: str) -> str:
    if len(text) <= MAX_LINE_CHARS:
        return text
    return f"{text[: MAX_LINE_CHARS - 3]}..."
