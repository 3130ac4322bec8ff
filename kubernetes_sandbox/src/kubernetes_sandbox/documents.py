"""The paths that are no resources: discovery, health, OpenAPI."""

from kubernetes_sandbox import answers, discovery, openapi
from kubernetes_sandbox.answers import Answer
from kubernetes_sandbox.kinds import KindRegistry
from kubernetes_sandbox.objects import Obj

_TEXT = "text/plain; charset=utf-8"
_HEALTH = ("/healthz", "/readyz", "/livez")


def _not_found() -> Answer:
    return Answer(404, b"404 page not found\n", _TEXT)


def _discovered(kinds: KindRegistry, path: str, address: str) -> Obj | None:
    match path.strip("/").split("/"):
        case ["version"]:
            return discovery.VERSION
        case ["api"]:
            return discovery.api_versions(address)
        case ["openapi", "v2"]:
            return openapi.version_2()
        case ["openapi", "v3", *_]:
            return openapi.answer(kinds, path)
    return _groups(kinds, path)


def _groups(kinds: KindRegistry, path: str) -> Obj | None:
    match path.strip("/").split("/"):
        case ["apis"]:
            return discovery.group_list(kinds)
        case ["api", version]:
            return discovery.resource_list(kinds, "", version)
        case ["apis", group]:
            return discovery.group(kinds, group)
        case ["apis", group, version]:
            return discovery.resource_list(kinds, group, version)
    return None


def is_document(path: str) -> bool:
    """Tell whether a path is for this module."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        return len(parts) < 3
    if parts[0] == "apis":
        return len(parts) < 4
    return True


def answer(kinds: KindRegistry, path: str, address: str) -> Answer:
    """Answer a path that is no resource."""
    if path.startswith(_HEALTH):
        return Answer(200, b"ok", _TEXT)
    if path == "/":
        return answers.of({"paths": ["/api", "/apis", "/version"]})
    found = _discovered(kinds, path.rstrip("/"), address)
    return _not_found() if found is None else answers.of(found)
