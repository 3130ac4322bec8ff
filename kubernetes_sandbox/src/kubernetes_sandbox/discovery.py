"""Discovery documents."""

from kubernetes_sandbox.kinds import Kind, KindRegistry, Subresource
from kubernetes_sandbox.objects import Obj

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "98b35193b2ac7a23a673325f5e9b830ecd5ba406",
    "gitTreeState": "archive",
    "buildDate": "2026-08-21T00:00:00Z",
    "goVersion": "go1.26.6",
    "compiler": "gc",
    "platform": "linux/amd64",
}
#: Kinds that are not stored have no storageVersionHash.
_NOT_STORED = frozenset({"bindings", "componentstatuses"})


def api_versions(address: str) -> Obj:
    """Return the document of /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
        ],
    }


def group_list(kinds: KindRegistry) -> Obj:
    """Return the document of /apis."""
    groups = [
        _group(name, versions)
        for name, versions in kinds.groups().items()
        if name
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(kinds: KindRegistry, name: str) -> Obj | None:
    """Return the document of /apis/<group>."""
    versions = kinds.groups().get(name)
    if not versions:
        return None
    head = {"kind": "APIGroup", "apiVersion": "v1"}
    return {**head, **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Obj:
    version_entries = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in versions
    ]
    return {
        "name": name,
        "versions": version_entries,
        "preferredVersion": version_entries[0],
    }


def resource_list(kinds: KindRegistry, name: str, version: str) -> Obj | None:
    """Return the document of /api/v1 or /apis/<group>/<version>."""
    found = kinds.in_version(name, version)
    if not found:
        return None
    resources: list[Obj] = []
    for kind in found:
        resources.append(_resource(kind))
        resources += [_subresource(kind, sub) for sub in kind.subresources]
    document: Obj = {"kind": "APIResourceList"}
    if name:
        document["apiVersion"] = "v1"
    document["groupVersion"] = f"{name}/{version}" if name else version
    document["resources"] = resources
    return document


def _resource(kind: Kind) -> Obj:
    resource: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if "watch" in kind.verbs and kind.plural not in _NOT_STORED:
        resource["storageVersionHash"] = kind.storage_hash
    if kind.custom:
        resource["verbs"] = [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ]
    return resource


def _subresource(kind: Kind, sub: Subresource) -> Obj:
    resource: Obj = {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if sub.group:
        resource["group"] = sub.group
        resource["version"] = sub.version
    resource["kind"] = sub.kind
    resource["verbs"] = list(sub.verbs)
    return resource
