"""On which terms a caller asks: only for what it saw, and only once."""

import msgspec

from tacker_cnf import errors


class Key(msgspec.Struct, frozen=True):
    """By what the repetition of a request is known (Idempotency-Key)."""

    #: of the caller, and of the key that it chose
    id: str
    #: of all that was asked: method, path and body
    fingerprint: str


class Terms(msgspec.Struct, frozen=True):
    """What a caller says beside its request; nothing is as good."""

    #: the entity tags of which the resource has to have one (If-Match)
    tags: frozenset[str] | None = None
    key: Key | None = None

    def check(self, tag: str) -> None:
        """Make sure that the resource is what the caller saw.

        To be asked within the transaction that changes it.

        :raises PreconditionFailed: it has changed since
        """
        if self.tags is not None and not self.tags & {tag, "*"}:
            raise errors.PreconditionFailed(
                f'If-Match: the resource has changed; its ETag is "{tag}".'
            )


NONE = Terms()
