"""Preconditions of a request: the If-Match and Idempotency-Key headers."""

import msgspec

from tacker_cnf import errors


class IdempotencyKey(msgspec.Struct, frozen=True):
    """What identifies a repeated request (Idempotency-Key)."""

    #: digest of the client and of the key that it sent
    id: str
    #: digest of the request: method, path and body
    fingerprint: str


class Preconditions(msgspec.Struct, frozen=True):
    """The preconditions of one request; none by default."""

    #: the entity tags one of which the resource must have (If-Match)
    if_match: frozenset[str] | None = None
    key: IdempotencyKey | None = None

    def check(self, etag: str) -> None:
        """Check that the resource has not changed since the client read it.

        Call it in the transaction that changes the resource.

        :raises PreconditionFailed: the resource has another entity tag
        """
        if self.if_match is not None and not self.if_match & {etag, "*"}:
            raise errors.PreconditionFailed(
                f'If-Match: the resource has changed; its ETag is "{etag}".'
            )


NO_PRECONDITIONS = Preconditions()
