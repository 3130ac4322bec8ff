"""On which terms a caller asks: only for what it saw, and only once."""

import msgspec

from tacker_cnf import errors


class IdempotencyKey(msgspec.Struct, frozen=True):
    """By what the repetition of a request is known (Idempotency-Key)."""

    #: of the caller, and of the key that it chose
    id: str
    #: of all that was asked: method, path and body
    fingerprint: str


class Preconditions(msgspec.Struct, frozen=True):
    """What a caller says beside its request; nothing is as good."""

    #: the entity tags of which the resource has to have one (If-Match)
    if_match: frozenset[str] | None = None
    key: IdempotencyKey | None = None

    def check(self, etag: str) -> None:
        """Make sure that the resource is what the caller saw.

        To be asked within the transaction that changes it.

        :raises PreconditionFailed: it has changed since
        """
        if self.if_match is not None and not self.if_match & {etag, "*"}:
            raise errors.PreconditionFailed(
                f'If-Match: the resource has changed; its ETag is "{etag}".'
            )


NO_PRECONDITIONS = Preconditions()
