"""Non-resource paths: discovery, health, OpenAPI."""

from kubernetes_sandbox import discovery, errors, openapi, responses
from kubernetes_sandbox.kinds import KindRegistry
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.responses import Response

_TEXT = "text/plain; charset=utf-8"
_HEALTH_PATHS = ("/healthz", "/readyz", "/livez")


def _not_found() -> Response:
    return Response(404, b"404 page not found\n", _TEXT)


def _known(document: Obj | None) -> Obj:
    if document is None:
        raise errors.no_such_resource()
    return document


def _discovered(kinds: KindRegistry, path: str, address: str) -> Obj | None:
    match path.strip("/").split("/"):
        case ["version"]:
            return discovery.VERSION
        case ["api"]:
            return discovery.api_versions(address)
        case ["openapi", "v2"]:
            return openapi.version_2()
        case ["openapi", "v3", *_]:
            return openapi.get_document(kinds, path)
    return _groups(kinds, path)


def _groups(kinds: KindRegistry, path: str) -> Obj | None:
    match path.strip("/").split("/"):
        case ["apis"]:
            return discovery.group_list(kinds)
        case ["api", version]:
            return _known(discovery.resource_list(kinds, "", version))
        case ["apis", group]:
            return discovery.group(kinds, group)
        case ["apis", group, version] if group in kinds.groups():
            return _known(discovery.resource_list(kinds, group, version))
    return None


def is_non_resource_path(path: str) -> bool:
    """Return whether a path is a non-resource path."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        return len(parts) < 3
    if parts[0] == "apis":
        return len(parts) < 4
    return True


def respond(kinds: KindRegistry, path: str, address: str) -> Response:
    """Return the response for a non-resource path."""
    if path.startswith(_HEALTH_PATHS):
        return Response(200, b"ok", _TEXT)
    if path == "/":
        return responses.of({"paths": ["/api", "/apis", "/version"]})
    found = _discovered(kinds, path.rstrip("/"), address)
    return _not_found() if found is None else responses.of(found)
