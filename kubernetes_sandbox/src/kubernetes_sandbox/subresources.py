"""Subresources: status, scale, eviction, binding and others."""

from collections.abc import Callable, Mapping

from kubernetes_sandbox import errors, patching, request_body, responses, scale
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.api_request import Request, Target
from kubernetes_sandbox.authentication import Authenticator
from kubernetes_sandbox.controllers.disruption import Disruption
from kubernetes_sandbox.deletion import DeleteOptions, Deletion
from kubernetes_sandbox.objects import Obj, now_in
from kubernetes_sandbox.responses import Response
from kubernetes_sandbox.scheduler import Scheduler

_Handler = Callable[[str, Request, Target, Obj], Response]
_DONE: Obj = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_TOKEN_LIFETIME_S = 3600


class Subresources:
    """The handlers of the subresources."""

    def __init__(
        self,
        api: Api,
        deletion: Deletion,
        authenticator: Authenticator,
        disruption: Disruption,
        scheduler: Scheduler,
    ) -> None:
        self._api = api
        self._deletion = deletion
        self._authenticator = authenticator
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

    def handle(self, verb: str, request: Request, target: Target) -> Response:
        """Handle a request for a subresource.

        :raises ApiError: the request is rejected
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
                f"the sandbox does not implement {target.resource}",
            )
        return handler(verb, request, target, old)

    def _new(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Obj:
        if verb == "patch":
            form = patching.patch_type_of(request)
            if form == patching.APPLY:
                form = patching.MERGE
            custom = target.kind.custom
            return patching.patched(old, request, form, custom=custom)
        obj = request_body.decode_object(
            request.body, request.content_type, target.kind.kind
        )
        request_body.check_place(obj, target.namespace, target.name)
        return obj

    def _status(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        if verb == "get":
            return responses.of(old)
        new = self._new(verb, request, target, old)
        options = request.write_options("status")
        return responses.of(
            self._api.replace_status(target.kind, old, new, options)
        )

    def _scale(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        if verb == "get":
            return responses.of(scale.of(old))
        new = self._new(verb, request, target, scale.of(old))
        if new.get("kind", "Scale") != "Scale":
            raise errors.bad_request(
                f'{new["kind"]} in version "v1" cannot be handled as a Scale:'
                f" converting (v1.{new['kind']}) to (autoscaling.Scale):"
                " unknown conversion"
            )
        scaled = scale.scaled(old, new)
        options = request.write_options("scale")
        result = self._api.replace(target.kind, old, scaled, options)
        return responses.of(scale.of(result))

    def _whole(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        if verb == "get":
            return responses.of(old)
        new = self._new(verb, request, target, old)
        spec = {**old["spec"], **(new.get("spec") or {})}
        options = request.write_options(target.sub.name if target.sub else "")
        del options
        return responses.of(self._api.put(target.kind, {**old, "spec": spec}))

    def _eviction(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        del verb
        body = request_body.decode_object(
            request.body, request.content_type, "Eviction"
        )
        if (body.get("metadata") or {}).get("name") != target.name:
            raise errors.bad_request(
                "name in URL does not match name in Eviction object"
            )
        options = DeleteOptions.read(body.get("deleteOptions") or {}, {})
        dry_run = options.dry_run or "dryRun" in request.query
        self._disruption.check_eviction(old, dry_run=dry_run)
        if not dry_run:
            self._deletion.delete(target.kind, old, options)
        return responses.of(_DONE, 201)

    def _binding(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        del verb, target
        body = request_body.decode_object(
            request.body, request.content_type, "Binding"
        )
        node = (body.get("target") or {}).get("name") or ""
        self._scheduler.bind(old, node)
        return responses.of(_DONE, 201)

    def _finalize(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        new = self._new(verb, request, target, old)
        spec = {**old["spec"], **(new.get("spec") or {})}
        if not (new.get("spec") or {}).get("finalizers"):
            spec["finalizers"] = []
        return responses.of(self._api.put(target.kind, {**old, "spec": spec}))

    def _token(
        self, verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        del verb, target
        body = request_body.decode_object(
            request.body, request.content_type, "TokenRequest"
        )
        seconds = (body.get("spec") or {}).get(
            "expirationSeconds"
        ) or _TOKEN_LIFETIME_S
        token = self._authenticator.issue_account(old)
        status = {"token": token, "expirationTimestamp": now_in(seconds)}
        return responses.of({**body, "status": status}, 201)

    @staticmethod
    def _log(
        verb: str, request: Request, target: Target, old: Obj
    ) -> Response:
        del verb
        name = request.query.get("container")
        messages = [
            f"{one['image']} started at {one['state']['running']['startedAt']}"
            for one in old["status"].get("containerStatuses") or ()
            if "running" in one["state"] and name in {None, one["name"]}
        ]
        del target
        text = "".join(f"{line}\n" for line in messages)
        return Response(200, text.encode(), "text/plain")
