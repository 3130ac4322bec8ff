"""What the server does for each verb, without a socket in sight."""

from collections.abc import Callable, Mapping

from kubernetes_sandbox import (
    answers,
    bodies,
    deletion,
    errors,
    patching,
    raw_data,
    selectors,
)
from kubernetes_sandbox.answers import Answer
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.calls import Call, Target
from kubernetes_sandbox.deletion import DeleteOptions, Deletion
from kubernetes_sandbox.objects import Obj, clone
from kubernetes_sandbox.reviews import Reviews
from kubernetes_sandbox.schema import check_fields
from kubernetes_sandbox.store import Entry
from kubernetes_sandbox.subresources import Subresources


class Handlers:
    """The verbs of the API, for every kind alike."""

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
        self._verbs: Mapping[str, Callable[[Call, Target], Answer]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_all,
        }

    def handle(self, verb: str, call: Call, target: Target) -> Answer:
        """Carry out a request.

        :raises ApiError: the request is refused
        """
        if target.sub is not None:
            if verb not in target.sub.verbs:
                raise errors.method_not_allowed()
            return self._subs.handle(verb, call, target)
        if _is_nowhere(target):
            raise errors.no_such_resource()
        if verb not in target.kind.verbs:
            raise errors.method_not_allowed()
        if verb == "create" and target.name:
            raise errors.method_not_allowed()
        if verb in {"update", "patch"} and not target.name:
            raise errors.method_not_allowed()
        return self._verbs[verb](call, target)

    def _found(self, target: Target) -> Entry:
        kind = target.kind
        entry = self._api.store.entry(kind.key, target.namespace, target.name)
        if entry is None:
            raise errors.not_found(kind.plural, kind.group, target.name)
        return entry

    def _get(self, call: Call, target: Target) -> Answer:
        return answers.of_entry(self._found(target), call.accept)

    def _list(self, call: Call, target: Target) -> Answer:
        kind, store = target.kind, self._api.store
        chosen = selectors.selection(
            call.query.get("labelSelector", ""),
            call.query.get("fieldSelector", ""),
            kind.key,
        )
        entries, metadata = answers.page(
            store.entries(kind.key, target.namespace),
            chosen,
            call.query,
            store.version,
        )
        return answers.of_list(kind, entries, metadata, call.accept)

    def _body(self, call: Call, target: Target) -> Obj:
        kind = target.kind
        obj = bodies.decode_object(call.body, call.content_type, kind.kind)
        bodies.check_kind(kind, obj)
        options = call.write_options()
        obj = check_fields(kind, obj, options.field_validation, options.warn)
        bodies.check_place(obj, target.namespace, target.name)
        if bodies.is_json(call.content_type):
            obj = raw_data.with_bytes(kind, obj, call.body)
        return obj

    def _create(self, call: Call, target: Target) -> Answer:
        obj = self._body(call, target)
        kind = target.kind
        if self._reviews.answers(kind.plural):
            answer = self._reviews.answer(
                kind, target.namespace, obj, call.user
            )
            return answers.of(answer, 201)
        if kind.key == "bindings.":
            return self._bind(call, target.namespace, obj)
        made = self._api.create(
            kind, target.namespace, obj, call.write_options()
        )
        return answers.of(made, 201)

    def _bind(self, call: Call, namespace: str, binding: Obj) -> Answer:
        """Bind a pod, which a Binding means by its name; none is stored.

        :raises ApiError: there is no such pod
        """
        kind = self._api.kinds.stored("pods.")
        sub = kind.subresource("binding")
        name = binding["metadata"].get("name", "")
        return self._subs.handle(
            "create", call, Target(kind, namespace, name, sub)
        )

    def _update(self, call: Call, target: Target) -> Answer:
        obj = self._body(call, target)
        old = self._found(target).obj
        made = self._api.replace(target.kind, old, obj, call.write_options())
        return answers.of(made)

    def _patch(self, call: Call, target: Target) -> Answer:
        form = patching.form_of(call)
        if form == patching.APPLY:
            obj, created = patching.applied(self._api, target, call)
            return answers.of(obj, 201 if created else 200)
        kind = target.kind
        old = self._found(target).obj
        new = patching.patched(old, call, form, custom=kind.custom)
        new = raw_data.as_patched(kind, new)
        new = patching.pruned(call, form, kind, new)
        options = call.write_options()
        return answers.of(self._api.replace(kind, old, clone(new), options))

    def _options(self, call: Call) -> DeleteOptions:
        body: Obj = {}
        if call.body:
            found = bodies.decode_options(call.body, call.content_type)
            body = found if isinstance(found, dict) else {}
        return DeleteOptions.read(body, call.query)

    def _delete(self, call: Call, target: Target) -> Answer:
        options = self._options(call)
        old = self._found(target).obj
        obj, gone = self._deletion.delete(target.kind, old, options)
        return answers.of(deletion.answer(target.kind, obj, gone=gone))

    def _delete_all(self, call: Call, target: Target) -> Answer:
        options = self._options(call)
        kind, store = target.kind, self._api.store
        chosen = selectors.selection(
            call.query.get("labelSelector", ""),
            call.query.get("fieldSelector", ""),
            kind.key,
        )
        entries = store.entries(kind.key, target.namespace)
        if chosen is not None:
            entries = [entry for entry in entries if chosen(entry.obj)]
        version = str(store.version)
        for entry in entries:
            self._deletion.delete(kind, entry.obj, options)
        metadata = {"resourceVersion": version}
        return Answer(200, answers.list_body(kind, entries, metadata))


def _is_nowhere(target: Target) -> bool:
    """Check for a path that a kind which is never stored does not have."""
    kind = target.kind
    misses_namespace = kind.namespaced and not target.namespace
    return not kind.is_stored and bool(target.name or misses_namespace)
