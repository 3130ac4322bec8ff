"""The kinds that are questions: created, answered, never stored."""

from collections.abc import Callable, Mapping

from tacker_cnf.sandbox.authorization import Action, Authorizer
from tacker_cnf.sandbox.calls import User
from tacker_cnf.sandbox.identities import Identities
from tacker_cnf.sandbox.objects import Obj

_Review = Callable[[Obj, User], Obj]


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

    def answer(self, plural: str, review: Obj, user: User) -> Obj:
        """Copy a review with its answer as the status."""
        status = self._reviews[plural](review.get("spec") or {}, user)
        metadata = dict(review.get("metadata") or {})
        return {**review, "metadata": metadata, "status": status}

    def _token(self, spec: Obj, user: User) -> Obj:
        del user
        found = self._identities.of_token(spec.get("token", ""))
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
