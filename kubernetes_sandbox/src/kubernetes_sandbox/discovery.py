"""The documents from which a client learns what a cluster serves."""

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
#: Kinds nobody stores have no storageVersionHash.
_NOT_STORED = frozenset({"bindings", "componentstatuses"})


def api_versions(address: str) -> Obj:
    """Answer /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
        ],
    }


def group_list(kinds: KindRegistry) -> Obj:
    """Answer /apis."""
    groups = [
        _group(name, versions)
        for name, versions in kinds.groups().items()
        if name
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(kinds: KindRegistry, name: str) -> Obj | None:
    """Answer /apis/<group>."""
    versions = kinds.groups().get(name)
    if not versions:
        return None
    head = {"kind": "APIGroup", "apiVersion": "v1"}
    return {**head, **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Obj:
    told = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in versions
    ]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def resource_list(kinds: KindRegistry, name: str, version: str) -> Obj | None:
    """Answer /api/v1 or /apis/<group>/<version>."""
    found = kinds.in_version(name, version)
    if not found:
        return None
    resources: list[Obj] = []
    for kind in found:
        resources.append(_resource(kind))
        resources += [_subresource(kind, sub) for sub in kind.subresources]
    answer: Obj = {"kind": "APIResourceList"}
    if name:
        answer["apiVersion"] = "v1"
    answer["groupVersion"] = f"{name}/{version}" if name else version
    answer["resources"] = resources
    return answer


def _resource(kind: Kind) -> Obj:
    told: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        told["shortNames"] = list(kind.short_names)
    if kind.categories:
        told["categories"] = list(kind.categories)
    if "watch" in kind.verbs and kind.plural not in _NOT_STORED:
        told["storageVersionHash"] = kind.storage_hash
    if kind.custom:
        told["verbs"] = [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ]
    return told


def _subresource(kind: Kind, sub: Subresource) -> Obj:
    told: Obj = {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if sub.group:
        told["group"] = sub.group
        told["version"] = sub.version
    told["kind"] = sub.kind
    told["verbs"] = list(sub.verbs)
    return told
