"""The four kinds of patch, by their media type."""

import json
from dataclasses import replace
from typing import Any

from kubernetes_sandbox import apply, bodies, errors, patches, strategic
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.calls import Call, Target
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, clone
from kubernetes_sandbox.schema import check_applied, check_fields

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
OPERATIONS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
_FORMS = frozenset({MERGE, STRATEGIC, OPERATIONS, APPLY})


def form_of(call: Call) -> str:
    """Tell which kind of patch a request brings.

    :raises ApiError: 415, none of them
    """
    form = bodies.media_type(call.content_type)
    if form not in _FORMS:
        raise errors.unsupported_media_type()
    return form


def patched(old: Obj, call: Call, form: str, *, custom: bool) -> Obj:
    """Apply a patch other than an apply to an object.

    :raises ApiError: it cannot be read, or does not fit
    """
    patch: Any = bodies.decode_json(call.body, "patch")
    if form == OPERATIONS:
        if not isinstance(patch, list):
            raise errors.bad_request(
                "error decoding patch: json: cannot unmarshal object into Go"
                " value of type jsonpatch.Patch"
            )
        return _object(patches.apply_operations(old, patch))
    if not isinstance(patch, dict):
        raise errors.bad_request("error decoding patch: not an object")
    if form == STRATEGIC:
        if custom:
            raise errors.unsupported_media_type()
        return _object(strategic.merge(old, patch))
    return _object(patches.merge(old, patch))


def _object(found: Any) -> Obj:
    if not isinstance(found, dict):
        raise errors.bad_request("the patch does not leave an object")
    return dict(clone(found))


def pruned(call: Call, form: str, kind: Kind, new: Obj) -> Obj:
    """Copy a patched object without unknown fields, as fieldValidation says.

    :raises ApiError: a field is unknown and validation is Strict
    """

    def refuse(_kind: Kind, why: str) -> errors.ApiError:
        if form == STRATEGIC:
            shown = _go_text(bodies.decode_json(call.body, "patch"))
        else:
            shown = json.dumps(new, separators=(",", ":"))
        cause = errors.invalid_value("patch", shown, why)
        return errors.invalid("", "", "", [cause])

    options = call.write_options()
    return check_fields(
        kind, new, options.field_validation, options.warn, refuse
    )


def _go_text(value: Any) -> str:
    """Show a value as Go prints one."""
    if isinstance(value, dict):
        entries = (f"{k}:{_go_text(v)}" for k, v in sorted(value.items()))
        return f"map[{' '.join(entries)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_text, value))}]"
    return str(value)


def applied(api: Api, target: Target, call: Call) -> tuple[Obj, bool]:
    """Carry out a server-side apply; answers the object and whether it is new.

    :raises ApiError: a conflict, or the object may not be so
    """
    options = call.write_options()
    if "fieldManager" not in call.query:
        raise errors.bad_request(
            "PatchOptions.meta.k8s.io is invalid: fieldManager: Required"
            " value: is required for apply patch"
        )
    kind = target.kind
    config = bodies.decode_yaml(call.body)
    if not isinstance(config, dict) or not config.get("kind"):
        raise errors.bad_request("error decoding YAML: no object")
    bodies.check_kind(kind, config)
    config = check_applied(kind, config)
    config = {**config, "metadata": dict(config.get("metadata") or {})}
    bodies.check_place(config, target.namespace, target.name)
    old = api.store.get(kind.key, target.namespace, target.name)
    live = old or {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {"name": target.name},
    }
    new = apply.apply(
        live,
        config,
        options.manager,
        force=options.force,
        keyed=not kind.custom,
    )
    owned = replace(
        options, entries=tuple(new["metadata"].pop("managedFields"))
    )
    if old is None:
        return api.create(kind, target.namespace, new, owned), True
    return api.replace(kind, old, new, owned), False
