"""Reviews: kinds that are evaluated on create and never stored."""

from collections.abc import Callable, Iterator, Mapping

from kubernetes_sandbox import errors
from kubernetes_sandbox.api_request import User
from kubernetes_sandbox.authentication import Authenticator
from kubernetes_sandbox.authorization import (
    AuthorizationAttributes,
    Authorizer,
)
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

_Review = Callable[[Obj, User], Obj]
#: Kinds that must not have metadata, and those that name a user.
_WITHOUT_METADATA = frozenset(
    {
        "selfsubjectaccessreviews",
        "subjectaccessreviews",
        "localsubjectaccessreviews",
    }
)
_WITH_USER = _WITHOUT_METADATA - {"selfsubjectaccessreviews"}
#: Metadata in the order in which the server encodes them.
_METADATA = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
)


def _user_info(user: User) -> Obj:
    info: Obj = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    return info


class Reviews:
    """Evaluates token and access reviews."""

    def __init__(
        self, authenticator: Authenticator, authorizer: Authorizer
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._reviews: Mapping[str, _Review] = {
            "tokenreviews": self._token,
            "selfsubjectreviews": self._self,
            "selfsubjectaccessreviews": self._own_access,
            "selfsubjectrulesreviews": self._own_rules,
            "subjectaccessreviews": self._access,
            "localsubjectaccessreviews": self._access,
        }

    def is_review(self, plural: str) -> bool:
        """Return whether a kind is a review."""
        return plural in self._reviews

    def evaluate(
        self, kind: Kind, namespace: str, review: Obj, user: User
    ) -> Obj:
        """Return a review with its status.

        :raises ApiError: it is invalid
        """
        metadata = _metadata_of(namespace, review)
        causes = list(_causes(kind.plural, metadata, review.get("spec") or {}))
        if causes:
            raise errors.invalid("", kind.group, "", causes)
        status = self._reviews[kind.plural](review.get("spec") or {}, user)
        return {**review, "metadata": metadata, "status": status}

    def _token(self, spec: Obj, user: User) -> Obj:
        del user
        if not spec.get("token"):
            raise errors.bad_request(
                "token is required for TokenReview in authentication"
            )
        found = self._authenticator.of_token(spec["token"])
        if found is None:
            return {"error": "invalid bearer token", "user": {}}
        return {"authenticated": True, "user": _user_info(found)}

    @staticmethod
    def _self(spec: Obj, user: User) -> Obj:
        del spec
        return {"userInfo": _user_info(user)}

    def _own_access(self, spec: Obj, user: User) -> Obj:
        return self._decision(spec, user)

    def _access(self, spec: Obj, user: User) -> Obj:
        del user
        groups = tuple(spec.get("groups") or ())
        return self._decision(spec, User(spec.get("user") or "", groups))

    def _own_rules(self, spec: Obj, user: User) -> Obj:
        namespace = spec.get("namespace") or ""
        rules = list(self._authorizer.rules_of(user, namespace))
        if self._authorizer.is_allowed(
            user, AuthorizationAttributes("*", "*", "*", namespace)
        ):
            whole = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            rules.append(whole)
        resource_rules = [rule for rule in rules if "resources" in rule]
        return {
            "resourceRules": resource_rules,
            "nonResourceRules": [],
            "incomplete": False,
        }

    def _decision(self, spec: Obj, user: User) -> Obj:
        wanted = spec.get("resourceAttributes")
        if wanted is None:
            path = (spec.get("nonResourceAttributes") or {}).get("path", "")
            return {"allowed": self._authorizer.is_path_allowed(user, path)}
        sub = wanted.get("subresource")
        resource = wanted.get("resource", "")
        action = AuthorizationAttributes(
            verb=wanted.get("verb", ""),
            group=wanted.get("group", ""),
            resource=f"{resource}/{sub}" if sub else resource,
            namespace=wanted.get("namespace", ""),
            name=wanted.get("name", ""),
        )
        return {"allowed": self._authorizer.is_allowed(user, action)}


def _metadata_of(namespace: str, review: Obj) -> Obj:
    """Return the metadata of a review, with the namespace of its path."""
    given = {**(review.get("metadata") or {}), "namespace": namespace}
    return {name: given[name] for name in _METADATA if given.get(name)}


def _causes(plural: str, metadata: Obj, spec: Obj) -> Iterator[Cause]:
    if plural not in _WITHOUT_METADATA:
        return
    wanted, path = (
        spec.get("resourceAttributes"),
        spec.get("nonResourceAttributes"),
    )
    if wanted is None and path is None:
        why = (
            "exactly one of nonResourceAttributes or resourceAttributes must"
            " be specified"
        )
        yield errors.invalid_value("spec.resourceAttributes", None, why)
    if wanted is not None and path is not None:
        shown = {key.capitalize(): value for key, value in path.items()}
        why = "cannot be specified in combination with resourceAttributes"
        yield errors.invalid_value("spec.nonResourceAttributes", shown, why)
    names_one = spec.get("user") or spec.get("groups")
    if plural in _WITH_USER and not names_one:
        why = "at least one of user or group must be specified"
        yield errors.invalid_value("spec.user", "", why)
    namespace = metadata.get("namespace")
    if namespace and wanted and wanted.get("namespace") != namespace:
        yield errors.invalid_value(
            "spec.resourceAttributes.namespace",
            wanted.get("namespace") or "",
            "must match metadata.namespace",
        )
    if metadata.keys() - {"namespace"}:
        why = "must be empty except for namespace"
        yield errors.invalid_value(
            "metadata", metadata, why if namespace else "must be empty"
        )
