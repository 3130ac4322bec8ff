"""The kinds that are questions: created, answered, never stored."""

from collections.abc import Callable, Iterator, Mapping

from kubernetes_sandbox import errors
from kubernetes_sandbox.authorization import Action, Authorizer
from kubernetes_sandbox.calls import User
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.identities import Identities
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

_Review = Callable[[Obj, User], Obj]
#: Kinds that refuse metadata, and those of them that name a user.
_BARE = frozenset(
    {
        "selfsubjectaccessreviews",
        "subjectaccessreviews",
        "localsubjectaccessreviews",
    }
)
_NAMING_A_USER = _BARE - {"selfsubjectaccessreviews"}
#: Metadata in the order in which the server writes them.
_METADATA = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
)


def _told(user: User) -> Obj:
    told: Obj = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        told["uid"] = user.uid
    return told


class Reviews:
    """Answers reviews of tokens and of access."""

    def __init__(self, identities: Identities, authorizer: Authorizer) -> None:
        self._identities = identities
        self._authorizer = authorizer
        self._reviews: Mapping[str, _Review] = {
            "tokenreviews": self._token,
            "selfsubjectreviews": self._self,
            "selfsubjectaccessreviews": self._own_access,
            "selfsubjectrulesreviews": self._own_rules,
            "subjectaccessreviews": self._access,
            "localsubjectaccessreviews": self._access,
        }

    def answers(self, plural: str) -> bool:
        """Tell whether a kind is a review."""
        return plural in self._reviews

    def answer(
        self, kind: Kind, namespace: str, review: Obj, user: User
    ) -> Obj:
        """Copy a review with its answer as the status.

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
        found = self._identities.of_token(spec["token"])
        if found is None:
            return {"error": "invalid bearer token", "user": {}}
        return {"authenticated": True, "user": _told(found)}

    @staticmethod
    def _self(spec: Obj, user: User) -> Obj:
        del spec
        return {"userInfo": _told(user)}

    def _own_access(self, spec: Obj, user: User) -> Obj:
        return self._decision(spec, user)

    def _access(self, spec: Obj, user: User) -> Obj:
        del user
        groups = tuple(spec.get("groups") or ())
        return self._decision(spec, User(spec.get("user") or "", groups))

    def _own_rules(self, spec: Obj, user: User) -> Obj:
        namespace = spec.get("namespace") or ""
        rules = list(self._authorizer.rules_of(user, namespace))
        if self._authorizer.allows(user, Action("*", "*", "*", namespace)):
            whole = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            rules.append(whole)
        told = [rule for rule in rules if "resources" in rule]
        return {
            "resourceRules": told,
            "nonResourceRules": [],
            "incomplete": False,
        }

    def _decision(self, spec: Obj, user: User) -> Obj:
        wanted = spec.get("resourceAttributes")
        if wanted is None:
            path = (spec.get("nonResourceAttributes") or {}).get("path", "")
            return {"allowed": self._authorizer.allows_path(user, path)}
        sub = wanted.get("subresource")
        resource = wanted.get("resource", "")
        action = Action(
            verb=wanted.get("verb", ""),
            group=wanted.get("group", ""),
            resource=f"{resource}/{sub}" if sub else resource,
            namespace=wanted.get("namespace", ""),
            name=wanted.get("name", ""),
        )
        return {"allowed": self._authorizer.allows(user, action)}


def _metadata_of(namespace: str, review: Obj) -> Obj:
    """Take the metadata of a review, which has the namespace of its path."""
    given = {**(review.get("metadata") or {}), "namespace": namespace}
    return {name: given[name] for name in _METADATA if given.get(name)}


def _causes(plural: str, metadata: Obj, spec: Obj) -> Iterator[Cause]:
    if plural not in _BARE:
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
    if plural in _NAMING_A_USER and not names_one:
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
