"""Token Secrets of service accounts, and bootstrap tokens."""

import base64

from kubernetes_sandbox.authentication import Authenticator
from kubernetes_sandbox.clock import seconds_since
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.store import Change

_ACCOUNTS = "serviceaccounts."
_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
_ACCOUNT_UID_ANNOTATION = "kubernetes.io/service-account.uid"
_ACCOUNT_SECRET = "kubernetes.io/service-account-token"  # noqa: S105
_BOOTSTRAP_SECRET = "bootstrap.kubernetes.io/token"  # noqa: S105


class TokenSecrets(Controller):
    """Fills in service account tokens and accepts bootstrap tokens."""

    key = "secrets."

    def __init__(
        self,
        context: ControllerContext,
        authenticator: Authenticator,
        ca_pem: str,
    ) -> None:
        super().__init__(context)
        self._authenticator = authenticator
        self._ca_pem = ca_pem
        self.store.subscribe(_ACCOUNTS, self._account_changed)

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if obj.get("type") not in {_ACCOUNT_SECRET, _BOOTSTRAP_SECRET}:
            return
        if change.type == "DELETED":
            self._authenticator.revoke(_token_of(obj))
        else:
            super()._own_changed(change)

    def _account_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            return
        account = change.entry.obj
        for obj in self.store.objects(self.key, namespace_of(account)):
            if annotations_of(obj).get(_ACCOUNT_ANNOTATION) == name_of(
                account
            ):
                self.enqueue(namespace_of(obj), name_of(obj))

    def sync(self, obj: Obj) -> None:
        """Accept the token of a Secret, or delete an invalid Secret."""
        if is_deleting(obj):
            return
        if obj["type"] == _BOOTSTRAP_SECRET:
            self._accept_bootstrap_token(obj)
        elif obj["type"] == _ACCOUNT_SECRET:
            self._fill_in(obj)

    def _fill_in(self, obj: Obj) -> None:
        namespace = namespace_of(obj)
        wanted = annotations_of(obj)
        account = self.store.get(
            _ACCOUNTS, namespace, wanted.get(_ACCOUNT_ANNOTATION, "")
        )
        uid = uid_of(account) if account else None
        if uid is None or wanted.get(_ACCOUNT_UID_ANNOTATION, uid) != uid:
            self.context.deletion.delete(self.kind, obj)
            return
        data = obj.get("data") or {}
        if "token" in data:
            return
        assert account is not None
        token = self._authenticator.issue_account(account)
        values = {
            "ca.crt": self._ca_pem,
            "namespace": namespace,
            "token": token,
        }
        filled = {key: _encoded(value) for key, value in values.items()}
        annotations = {**wanted, _ACCOUNT_UID_ANNOTATION: uid}
        result = with_metadata(obj, annotations=annotations)
        self.context.api.put(self.kind, {**result, "data": {**data, **filled}})

    def _accept_bootstrap_token(self, obj: Obj) -> None:
        data = _decoded(obj)
        seconds = _seconds_left(data)
        if seconds <= 0:
            self.context.deletion.delete(self.kind, obj)
            return
        if seconds != float("inf"):
            self.enqueue_later(obj, seconds)
        groups = data.get("auth-extra-groups", "")
        if data.get("usage-bootstrap-authentication") == "true":
            self._authenticator.accept(
                _token_of(obj),
                f"system:bootstrap:{data.get('token-id')}",
                "system:bootstrappers",
                *filter(None, groups.split(",")),
            )
        else:
            self._authenticator.revoke(_token_of(obj))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(obj: Obj) -> dict[str, str]:
    data = obj.get("data") or {}
    return {
        key: base64.b64decode(value).decode() for key, value in data.items()
    }


def _token_of(obj: Obj) -> str:
    data = _decoded(obj)
    if obj["type"] == _ACCOUNT_SECRET:
        return data.get("token", "")
    return f"{data.get('token-id')}.{data.get('token-secret')}"


def _seconds_left(data: dict[str, str]) -> float:
    """Return the seconds until a bootstrap token expires."""
    if "expiration" not in data:
        return float("inf")
    try:
        return -seconds_since(data["expiration"])
    except ValueError:
        return 0.0
