"""Secrets that are tokens: of service accounts, and of nodes that join."""

import base64
import datetime as dt

from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.identities import Identities
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.store import Change

_ACCOUNTS = "serviceaccounts."
_ACCOUNT = "kubernetes.io/service-account.name"
_ACCOUNT_UID = "kubernetes.io/service-account.uid"
_OF_ACCOUNT = "kubernetes.io/service-account-token"
_OF_NODE = "bootstrap.kubernetes.io/token"


class TokenSecrets(Controller):
    """Fills in the tokens of service accounts, and heeds bootstrap tokens."""

    key = "secrets."

    def __init__(
        self, plane: Plane, identities: Identities, ca_pem: str
    ) -> None:
        super().__init__(plane)
        self._identities = identities
        self._ca_pem = ca_pem
        self.store.subscribe(_ACCOUNTS, self._account_changed)

    def _own_changed(self, change: Change) -> None:
        obj = change.entry.obj
        if obj.get("type") not in {_OF_ACCOUNT, _OF_NODE}:
            return
        if change.type == "DELETED":
            self._identities.revoke(_token_of(obj))
        else:
            super()._own_changed(change)

    def _account_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            return
        account = change.entry.obj
        for obj in self.store.objects(self.key, namespace_of(account)):
            if annotations_of(obj).get(_ACCOUNT) == name_of(account):
                self.enqueue(namespace_of(obj), name_of(obj))

    def sync(self, obj: Obj) -> None:
        """Make a token good, or delete the Secret of one that is not."""
        if is_deleting(obj):
            return
        if obj["type"] == _OF_NODE:
            self._heed(obj)
        elif obj["type"] == _OF_ACCOUNT:
            self._fill_in(obj)

    def _fill_in(self, obj: Obj) -> None:
        namespace = namespace_of(obj)
        wanted = annotations_of(obj)
        account = self.store.get(
            _ACCOUNTS, namespace, wanted.get(_ACCOUNT, "")
        )
        uid = uid_of(account) if account else None
        if uid is None or wanted.get(_ACCOUNT_UID, uid) != uid:
            self.plane.deletion.delete(self.kind, obj)
            return
        data = obj.get("data") or {}
        if "token" in data:
            return
        assert account is not None
        token = self._identities.issue_account(account)
        told = {"ca.crt": self._ca_pem, "namespace": namespace, "token": token}
        filled = {key: _encoded(value) for key, value in told.items()}
        notes = {**wanted, _ACCOUNT_UID: uid}
        made = with_metadata(obj, annotations=notes)
        self.plane.api.put(self.kind, {**made, "data": {**data, **filled}})

    def _heed(self, obj: Obj) -> None:
        told = _decoded(obj)
        seconds = _seconds_left(told)
        if seconds <= 0:
            self.plane.deletion.delete(self.kind, obj)
            return
        if seconds != float("inf"):
            self.enqueue_later(obj, seconds)
        groups = told.get("auth-extra-groups", "")
        if told.get("usage-bootstrap-authentication") == "true":
            self._identities.accept(
                _token_of(obj),
                f"system:bootstrap:{told.get('token-id')}",
                "system:bootstrappers",
                *filter(None, groups.split(",")),
            )
        else:
            self._identities.revoke(_token_of(obj))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(obj: Obj) -> dict[str, str]:
    data = obj.get("data") or {}
    return {
        key: base64.b64decode(value).decode() for key, value in data.items()
    }


def _token_of(obj: Obj) -> str:
    told = _decoded(obj)
    if obj["type"] == _OF_ACCOUNT:
        return told.get("token", "")
    return f"{told.get('token-id')}.{told.get('token-secret')}"


def _seconds_left(told: dict[str, str]) -> float:
    """Tell for how long a bootstrap token is good still."""
    if "expiration" not in told:
        return float("inf")
    try:
        end = dt.datetime.fromisoformat(told["expiration"])
    except ValueError:
        return 0.0
    return (end - dt.datetime.now(dt.UTC)).total_seconds()
