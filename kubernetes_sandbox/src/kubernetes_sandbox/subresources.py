"""What lies below an object: status, scale, eviction, binding and more."""

from collections.abc import Callable, Mapping

from kubernetes_sandbox import answers, bodies, errors, patching, scale
from kubernetes_sandbox.answers import Answer
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.calls import Call, Target
from kubernetes_sandbox.controllers.disruption import Disruption
from kubernetes_sandbox.deletion import DeleteOptions, Deletion
from kubernetes_sandbox.identities import Identities
from kubernetes_sandbox.objects import Obj, now_in
from kubernetes_sandbox.scheduler import Scheduler

_Handler = Callable[[str, Call, Target, Obj], Answer]
_DONE: Obj = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_TOKEN_SECONDS = 3600


class Subresources:
    """Handles the paths below objects."""

    def __init__(
        self,
        api: Api,
        deletion: Deletion,
        identities: Identities,
        disruption: Disruption,
        scheduler: Scheduler,
    ) -> None:
        self._api = api
        self._deletion = deletion
        self._identities = identities
        self._disruption = disruption
        self._scheduler = scheduler
        self._handlers: Mapping[str, _Handler] = {
            "status": self._status,
            "approval": self._status,
            "scale": self._scale,
            "eviction": self._eviction,
            "binding": self._binding,
            "finalize": self._finalize,
            "token": self._token,
            "log": self._log,
            "resize": self._whole,
            "ephemeralcontainers": self._whole,
        }

    def handle(self, verb: str, call: Call, target: Target) -> Answer:
        """Carry out a request on a subresource.

        :raises ApiError: the request is refused
        """
        assert target.sub is not None
        kind = target.kind
        old = self._api.store.get(kind.key, target.namespace, target.name)
        if old is None:
            raise errors.not_found(kind.plural, kind.group, target.name)
        handler = self._handlers.get(target.sub.name)
        if handler is None:
            raise errors.ApiError(
                501,
                "NotImplemented",
                f"the sandbox does not carry {target.resource}",
            )
        return handler(verb, call, target, old)

    def _new(self, verb: str, call: Call, target: Target, old: Obj) -> Obj:
        if verb == "patch":
            form = patching.form_of(call)
            if form == patching.APPLY:
                form = patching.MERGE
            custom = target.kind.custom
            return patching.patched(old, call, form, custom=custom)
        obj = bodies.decode_object(
            call.body, call.content_type, target.kind.kind
        )
        bodies.check_place(obj, target.namespace, target.name)
        return obj

    def _status(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        if verb == "get":
            return answers.of(old)
        new = self._new(verb, call, target, old)
        options = call.write_options("status")
        return answers.of(
            self._api.replace_status(target.kind, old, new, options)
        )

    def _scale(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        if verb == "get":
            return answers.of(scale.of(old))
        new = self._new(verb, call, target, scale.of(old))
        scaled = scale.scaled(old, new)
        options = call.write_options("scale")
        made = self._api.replace(target.kind, old, scaled, options)
        return answers.of(scale.of(made))

    def _whole(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        if verb == "get":
            return answers.of(old)
        new = self._new(verb, call, target, old)
        spec = {**old["spec"], **(new.get("spec") or {})}
        options = call.write_options(target.sub.name if target.sub else "")
        del options
        return answers.of(self._api.put(target.kind, {**old, "spec": spec}))

    def _eviction(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        del verb
        body = bodies.decode_object(call.body, call.content_type, "Eviction")
        options = DeleteOptions.read(body.get("deleteOptions") or {}, {})
        dry_run = options.dry_run or "dryRun" in call.query
        self._disruption.check_eviction(old, dry_run=dry_run)
        if not dry_run:
            self._deletion.delete(target.kind, old, options)
        return answers.of(_DONE, 201)

    def _binding(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        del verb, target
        body = bodies.decode_object(call.body, call.content_type, "Binding")
        node = (body.get("target") or {}).get("name") or ""
        self._scheduler.bind(old, node)
        return answers.of(_DONE, 201)

    def _finalize(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        new = self._new(verb, call, target, old)
        spec = {**old["spec"], **(new.get("spec") or {})}
        if not (new.get("spec") or {}).get("finalizers"):
            spec["finalizers"] = []
        return answers.of(self._api.put(target.kind, {**old, "spec": spec}))

    def _token(
        self, verb: str, call: Call, target: Target, old: Obj
    ) -> Answer:
        del verb, target
        body = bodies.decode_object(
            call.body, call.content_type, "TokenRequest"
        )
        seconds = (body.get("spec") or {}).get(
            "expirationSeconds"
        ) or _TOKEN_SECONDS
        token = self._identities.issue_account(old)
        status = {"token": token, "expirationTimestamp": now_in(seconds)}
        return answers.of({**body, "status": status}, 201)

    @staticmethod
    def _log(verb: str, call: Call, target: Target, old: Obj) -> Answer:
        del verb
        name = call.query.get("container")
        told = [
            f"{one['image']} started at {one['state']['running']['startedAt']}"
            for one in old["status"].get("containerStatuses") or ()
            if "running" in one["state"] and name in {None, one["name"]}
        ]
        del target
        text = "".join(f"{line}\n" for line in told)
        return Answer(200, text.encode(), "text/plain")
