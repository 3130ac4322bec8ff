"""A request: its path, verb and parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubernetes_sandbox import errors, list_options
from kubernetes_sandbox.api import WriteOptions
from kubernetes_sandbox.kinds import Kind, KindRegistry, Subresource

_VERBS = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OPTIONS = {"PUT": "Update", "PATCH": "Patch"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_TRUE = frozenset({"true", "1", "True", "t", "T", "TRUE"})
_MAX_MANAGER_LENGTH = 128


def is_true(query: Mapping[str, str], name: str) -> bool:
    """Return a boolean parameter."""
    return query.get(name, "") in _TRUE


def check_dry_run(options: str, given: str | None) -> None:
    """Reject a value of dryRun other than All.

    :raises ApiError: 422
    """
    if given is None or given == "All":
        return
    cause = errors.Cause(
        "dryRun",
        "FieldValueNotSupported",
        f'Unsupported value: ["{given}"]: supported values: "All"',
    )
    raise errors.invalid(options, "meta.k8s.io", "", [cause])


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated user."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@dataclass(slots=True)
class Request:
    """A decoded request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: User
    warnings: list[str] = field(default_factory=list)

    @property
    def content_type(self) -> str:
        """The media type of the body."""
        return self.headers.get("Content-Type", "")

    @property
    def accept(self) -> str:
        """The representations that the client accepts."""
        return self.headers.get("Accept", "")

    def write_options(self, subresource: str = "") -> WriteOptions:
        """Return the parameters of a write.

        :raises ApiError: 422, a parameter is not valid
        """
        what = f"{_OPTIONS.get(self.method, 'Create')}Options"
        check_dry_run(what, self.query.get("dryRun"))
        agent = self.headers.get("User-Agent", "unknown")
        manager = self.query.get("fieldManager") or agent.partition("/")[0]
        return WriteOptions(
            dry_run="dryRun" in self.query,
            manager=manager[:_MAX_MANAGER_LENGTH],
            force=is_true(self.query, "force"),
            field_validation=self._field_validation(),
            subresource=subresource,
            warn=self.warnings.append,
        )

    def _field_validation(self) -> str:
        given = self.query.get("fieldValidation", "")
        if given not in _VALIDATIONS:
            cause = errors.unsupported("fieldValidation", given, _VALIDATIONS)
            what = f"{_OPTIONS.get(self.method, 'Create')}Options"
            raise errors.invalid(what, "meta.k8s.io", "", [cause])
        return given or "Warn"


@dataclass(frozen=True, slots=True)
class Target:
    """The resource, object and subresource of a path."""

    kind: Kind
    namespace: str
    name: str
    sub: Subresource | None = None

    @property
    def resource(self) -> str:
        """The resource as RBAC rules name it."""
        if self.sub is None:
            return self.kind.plural
        return f"{self.kind.plural}/{self.sub.name}"


def target_of_path(path: str, kinds: KindRegistry) -> Target | None:
    """Return the target of a path; None if no such resource is served."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        inner = kinds.at(group, version, rest[2])
        if inner is not None and inner.namespaced:
            namespace, rest = rest[1], rest[2:]
    kind = kinds.at(group, version, rest[0])
    return None if kind is None else _target(kind, namespace, rest)


def _target(kind: Kind, namespace: str, rest: list[str]) -> Target | None:
    name = rest[1] if len(rest) > 1 else ""
    if len(rest) < 3:
        return Target(kind, namespace, name)
    sub = kind.subresource(rest[2])
    return None if sub is None else Target(kind, namespace, name, sub)


def verb_of(request: Request, target: Target) -> str:
    """Return the verb of a request as RBAC and discovery name it."""
    if request.method == "GET":
        if target.name:
            return "get"
        return "watch" if list_options.is_watch(request.query) else "list"
    verb = _VERBS.get(request.method, request.method.lower())
    if verb == "delete" and not target.name:
        return "deletecollection"
    return verb
