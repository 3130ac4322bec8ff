"""Request handlers by verb, independent of HTTP."""

from collections.abc import Callable, Mapping

from kubernetes_sandbox import (
    deletion,
    errors,
    list_options,
    patching,
    raw_extension,
    request_body,
    responses,
    selectors,
)
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.api_request import Request, Target
from kubernetes_sandbox.deletion import DeleteOptions, Deletion
from kubernetes_sandbox.objects import Obj, clone
from kubernetes_sandbox.responses import Response
from kubernetes_sandbox.reviews import Reviews
from kubernetes_sandbox.schema import check_fields
from kubernetes_sandbox.store import Entry
from kubernetes_sandbox.subresources import Subresources

#: Namespaces that cannot be deleted.
_PERMANENT = frozenset({"default", "kube-system", "kube-public"})


class Handlers:
    """The handlers for the resources of all kinds."""

    def __init__(
        self,
        api: Api,
        deletion: Deletion,
        reviews: Reviews,
        subs: Subresources,
    ) -> None:
        self._api = api
        self._deletion = deletion
        self._reviews = reviews
        self._subs = subs
        self._verbs: Mapping[str, Callable[[Request, Target], Response]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_all,
        }

    def handle(self, verb: str, request: Request, target: Target) -> Response:
        """Handle a request.

        :raises ApiError: the request is rejected
        """
        responses.check_accept(request.accept)
        if target.sub is not None:
            if verb not in target.sub.verbs:
                raise errors.method_not_allowed()
            return self._subs.handle(verb, request, target)
        if _is_absent_path(target):
            raise errors.no_such_resource()
        if verb not in target.kind.verbs:
            raise errors.method_not_allowed()
        lacks_namespace = target.kind.namespaced and not target.namespace
        if verb == "create" and (target.name or lacks_namespace):
            raise errors.method_not_allowed()
        if verb in {"update", "patch"} and not target.name:
            raise errors.method_not_allowed()
        return self._verbs[verb](request, target)

    def _found(self, target: Target) -> Entry:
        kind = target.kind
        entry = self._api.store.entry(kind.key, target.namespace, target.name)
        if entry is None:
            raise errors.not_found(kind.plural, kind.group, target.name)
        return entry

    def _get(self, request: Request, target: Target) -> Response:
        list_options.resource_version(request.query, self._api.store)
        return responses.of_entry(self._found(target), request.accept)

    def _list(self, request: Request, target: Target) -> Response:
        kind, store = target.kind, self._api.store
        matches_selector = selectors.selection(
            request.query.get("labelSelector", ""),
            request.query.get("fieldSelector", ""),
            kind.key,
        )
        entries, metadata = responses.page(
            store, kind, target.namespace, matches_selector, request.query
        )
        return responses.of_list(kind, entries, metadata, request.accept)

    def _body(self, request: Request, target: Target) -> Obj:
        kind = target.kind
        obj = request_body.decode_object(
            request.body, request.content_type, kind.kind
        )
        request_body.check_kind(kind, obj)
        options = request.write_options()
        obj = check_fields(kind, obj, options.field_validation, options.warn)
        request_body.check_place(obj, target.namespace, target.name)
        if request_body.is_json(request.content_type):
            obj = raw_extension.with_raw(kind, obj, request.body)
        return obj

    def _create(self, request: Request, target: Target) -> Response:
        obj = self._body(request, target)
        kind = target.kind
        if (obj.get("metadata") or {}).get("resourceVersion"):
            raise errors.ApiError(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            )
        if self._reviews.is_review(kind.plural):
            response_body = self._reviews.evaluate(
                kind, target.namespace, obj, request.user
            )
            return responses.of(response_body, 201)
        if kind.key == "bindings.":
            return self._bind(request, target.namespace, obj)
        result = self._api.create(
            kind, target.namespace, obj, request.write_options()
        )
        return responses.of(result, 201)

    def _bind(
        self, request: Request, namespace: str, binding: Obj
    ) -> Response:
        """Bind the pod that a Binding names; the Binding is not stored.

        :raises ApiError: the pod does not exist
        """
        kind = self._api.kinds.stored("pods.")
        sub = kind.subresource("binding")
        name = binding["metadata"].get("name", "")
        return self._subs.handle(
            "create", request, Target(kind, namespace, name, sub)
        )

    def _update(self, request: Request, target: Target) -> Response:
        obj = self._body(request, target)
        old = self._found(target).obj
        result = self._api.replace(
            target.kind, old, obj, request.write_options()
        )
        return responses.of(result)

    def _patch(self, request: Request, target: Target) -> Response:
        form = patching.patch_type_of(request)
        if form == patching.APPLY:
            obj, created = patching.applied(self._api, target, request)
            return responses.of(obj, 201 if created else 200)
        kind = target.kind
        old = self._found(target).obj
        patching.check_options(request)
        new = patching.patched(old, request, form, custom=kind.custom)
        patching.check_identity(kind, target, old, new)
        new = raw_extension.without_raw(kind, new)
        new = patching.pruned(request, form, kind, new)
        options = request.write_options()
        return responses.of(self._api.replace(kind, old, clone(new), options))

    def _options(self, request: Request) -> DeleteOptions:
        body: Obj = {}
        if request.body:
            found = request_body.decode_options(
                request.body, request.content_type
            )
            body = found if isinstance(found, dict) else {}
        return DeleteOptions.read(body, request.query)

    def _delete(self, request: Request, target: Target) -> Response:
        options = deletion.with_default_policy(
            target.kind, self._options(request), request.warnings.append
        )
        old = self._found(target).obj
        if target.kind.key == "namespaces." and target.name in _PERMANENT:
            raise errors.forbidden(
                "namespaces",
                "",
                target.name,
                "this namespace may not be deleted",
            )
        obj, removed = self._deletion.delete(target.kind, old, options)
        return responses.of(
            deletion.response_body(target.kind, obj, removed=removed)
        )

    def _delete_all(self, request: Request, target: Target) -> Response:
        options = self._options(request)
        kind, store = target.kind, self._api.store
        matches_selector = selectors.selection(
            request.query.get("labelSelector", ""),
            request.query.get("fieldSelector", ""),
            kind.key,
        )
        entries = store.entries(kind.key, target.namespace)
        if matches_selector is not None:
            entries = [
                entry for entry in entries if matches_selector(entry.obj)
            ]
        version = str(store.version)
        for entry in entries:
            self._deletion.delete(kind, entry.obj, options)
        metadata = {"resourceVersion": version}
        return Response(200, responses.list_body(kind, entries, metadata))


def _is_absent_path(target: Target) -> bool:
    """Return whether a path does not exist because its kind is not stored."""
    kind = target.kind
    misses_namespace = kind.namespaced and not target.namespace
    return not kind.is_stored and bool(target.name or misses_namespace)
