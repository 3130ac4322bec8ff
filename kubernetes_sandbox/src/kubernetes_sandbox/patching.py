"""PATCH requests by media type."""

import json
from dataclasses import replace
from typing import Any

from kubernetes_sandbox import (
    errors,
    json_patches,
    request_body,
    server_side_apply,
    strategic_merge,
)
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.api_request import Request, Target
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, clone, uid_of
from kubernetes_sandbox.schema import check_applied, check_fields

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
OPERATIONS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
_MAX_MANAGER_LENGTH = 128
_FORMS = frozenset({MERGE, STRATEGIC, OPERATIONS, APPLY})


def patch_type_of(request: Request) -> str:
    """Return the media type of a patch.

    :raises ApiError: 415, it is not supported
    """
    form = request_body.media_type(request.content_type)
    if form not in _FORMS:
        raise errors.ApiError(
            415, "UnsupportedMediaType", "415: Unsupported Media Type", {}
        )
    return form


def check_options(request: Request) -> None:
    """Reject parameters that a patch must not have.

    :raises ApiError: 422
    """
    causes = []
    if "force" in request.query and patch_type_of(request) != APPLY:
        causes.append(
            errors.forbidden_value(
                "force", "may not be specified for non-apply patch"
            )
        )
    if len(request.query.get("fieldManager", "")) > _MAX_MANAGER_LENGTH:
        causes.append(
            errors.Cause(
                "fieldManager",
                "FieldValueTooLong",
                "Too long: may not be more than 128 bytes",
            )
        )
    if causes:
        raise errors.invalid("PatchOptions", "meta.k8s.io", "", causes)


def check_identity(kind: Kind, target: Target, old: Obj, new: Obj) -> None:
    """Reject a patch that changes the name, namespace or uid.

    :raises ApiError: 400 or 422
    """
    request_body.check_place(new, target.namespace, target.name)
    uid = (new.get("metadata") or {}).get("uid")
    if uid and uid != uid_of(old):
        raise immutable_uid(kind, target.name, uid)


def immutable_uid(kind: Kind, name: str, uid: str) -> errors.ApiError:
    """Build the 422 of a patch that changes the uid."""
    cause = errors.invalid_value("metadata.uid", uid, "field is immutable")
    error = errors.invalid(kind.kind, kind.group, name, [cause])
    assert error.details is not None
    error.details["causes"] *= 2  # it is validated twice
    return error


def patched(old: Obj, request: Request, form: str, *, custom: bool) -> Obj:
    """Apply a patch other than server-side apply.

    :raises ApiError: it cannot be decoded or applied
    """
    patch: Any = request_body.decode_json(request.body, "patch")
    if form == OPERATIONS:
        if not isinstance(patch, list):
            raise errors.bad_request(
                "error decoding patch: json: cannot unmarshal object into Go"
                " value of type jsonpatch.Patch"
            )
        return _object(json_patches.apply_operations(old, patch))
    if not isinstance(patch, dict):
        raise errors.bad_request("error decoding patch: not an object")
    if form == STRATEGIC:
        if custom:
            raise errors.unsupported_media_type([OPERATIONS, MERGE, APPLY])
        return _object(strategic_merge.merge(old, patch))
    return _object(json_patches.merge(old, patch))


def _object(found: Any) -> Obj:
    if not isinstance(found, dict):
        raise errors.bad_request("the result of the patch is not an object")
    return dict(clone(found))


def pruned(request: Request, form: str, kind: Kind, new: Obj) -> Obj:
    """Remove unknown fields from a patched object, see fieldValidation.

    :raises ApiError: a field is unknown and validation is Strict
    """

    def reject(_kind: Kind, why: str) -> errors.ApiError:
        if form == STRATEGIC:
            shown = _go_text(request_body.decode_json(request.body, "patch"))
        else:
            shown = json.dumps(new, separators=(",", ":"))
        cause = errors.invalid_value("patch", shown, why)
        return errors.invalid("", "", "", [cause])

    options = request.write_options()
    return check_fields(
        kind, new, options.field_validation, options.warn, reject
    )


def _go_text(value: Any) -> str:
    """Format a value as Go's ``%v`` does."""
    if isinstance(value, dict):
        entries = (f"{k}:{_go_text(v)}" for k, v in sorted(value.items()))
        return f"map[{' '.join(entries)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_text, value))}]"
    return str(value)


def applied(api: Api, target: Target, request: Request) -> tuple[Obj, bool]:
    """Handle server-side apply; return the object and if it was created.

    :raises ApiError: a conflict, or the object is invalid
    """
    options = request.write_options()
    check_options(request)
    if "fieldManager" not in request.query:
        cause = errors.required("fieldManager", "is required for apply patch")
        raise errors.invalid("PatchOptions", "meta.k8s.io", "", [cause])
    kind = target.kind
    config = request_body.decode_yaml(request.body)
    if not isinstance(config, dict) or not config.get("kind"):
        raise errors.bad_request("error decoding YAML: no object")
    if not config.get("apiVersion"):
        raise errors.bad_request(
            f"invalid object type: /, Kind={config['kind']}"
        )
    request_body.check_kind(kind, config)
    if (config.get("metadata") or {}).get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    config = check_applied(kind, config)
    config = {**config, "metadata": dict(config.get("metadata") or {})}
    request_body.check_place(config, target.namespace, target.name)
    old = api.store.get(kind.key, target.namespace, target.name)
    uid = config["metadata"].get("uid")
    if old is not None and uid and uid != uid_of(old):
        raise immutable_uid(kind, target.name, uid)
    live = old or {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {"name": target.name},
    }
    new = server_side_apply.apply(
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
