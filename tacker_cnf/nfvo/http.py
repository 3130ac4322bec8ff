"""An external NFVO, asked for leave by SOL003 clause 9."""

import re
from typing import Final

import httpx
import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.nfvo.peer import Answer, Peer
from tacker_cnf.nfvo.question import Question
from tacker_cnf.sol import base
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import Grant, GrantRequest

LOG = log.getLogger(__name__)

GRANTS: Final = "/grant/v1/grants"
#: the end of a Location that can be put behind an address as it is
GRANT_ID: Final = re.compile(r"[A-Za-z0-9._~%:@-]{1,255}")


class HttpNfvo:
    """Asks for leave, and waits until the NFVO has made up its mind.

    A request whose answer was lost is made again just as it was. All that
    are made for one operation have the same ids and the same Idempotency-Key,
    so that an NFVO can see that they are one; those of a conductor, too, that
    takes a lost one's operation over.
    """

    def __init__(self, conf: cfg.ConfigOpts, nfvo: Peer) -> None:
        if not conf.api.endpoint:
            raise errors.VnfmError(
                "[nfvo] endpoint needs [api] endpoint, so that the NFVO can "
                "be told how to reach this service."
            )
        self._peer = nfvo
        self._here: str = conf.api.endpoint.rstrip("/")
        self._patience: float = conf.nfvo.grant_timeout
        self._interval: float = conf.nfvo.poll_interval
        self._headers = {
            "Accept": "application/json",
            "Version": conf.nfvo.grant_version,
        }

    def grant(
        self, request: GrantRequest, halt: Halt, deadline: Deadline
    ) -> Grant:
        patience = min(self._patience, deadline.remaining)
        question = Question(patience, halt, self._interval)
        answer = question.ask(lambda: self._post(request))
        if answer.status == httpx.codes.ACCEPTED:
            path = _path(answer)
            LOG.info("%s waits for the NFVO", request.vnf_lcm_op_occ_id)
            while answer.status == httpx.codes.ACCEPTED:
                question.pause(answer)
                answer = question.ask(lambda: self._get(path))
        return _granted(request, answer)

    def _post(self, request: GrantRequest) -> Answer:
        links = msgspec.structs.replace(
            request.links,
            vnf_lcm_op_occ=self._absolute(request.links.vnf_lcm_op_occ),
            vnf_instance=self._absolute(request.links.vnf_instance),
        )
        headers = self._headers | {
            "Content-Type": "application/json",
            "Idempotency-Key": request.vnf_lcm_op_occ_id,
        }
        told = base.encode(msgspec.structs.replace(request, links=links))
        return self._peer.call("POST", GRANTS, headers=headers, body=told)

    def _get(self, path: str) -> Answer:
        return self._peer.call("GET", path, headers=self._headers)

    def _absolute(self, link: Link) -> Link:
        return Link(href=self._here + link.href)


def _path(answer: Answer) -> str:
    """Tell where the decision will be (SOL003 9.4.3).

    Only the id is taken of what the NFVO says: our credentials go nowhere
    else than to where it is configured to be.

    :raises PeerFailed: it does not say
    """
    location = answer.headers.get("Location", "").partition("?")[0]
    grant_id = location.rstrip("/").rpartition("/")[2]
    if not GRANT_ID.fullmatch(grant_id) or not grant_id.strip("."):
        raise errors.PeerFailed(
            "The NFVO answered 202 and did not say where its decision will "
            "be (Location)."
        )
    return f"{GRANTS}/{grant_id}"


def _granted(request: GrantRequest, answer: Answer) -> Grant:
    """Read what the NFVO decided.

    :raises GrantRefused: it refused
    :raises PeerFailed: it failed, or this is no grant of this operation
    """
    if answer.status == httpx.codes.FORBIDDEN:
        raise errors.GrantRefused(
            f"The NFVO refused to grant the operation: {answer.told}"
        )
    if answer.status not in {httpx.codes.OK, httpx.codes.CREATED}:
        raise errors.PeerFailed(
            f"The NFVO answered {answer.status} when it was asked for a "
            f"grant: {answer.told}"
        )
    try:
        grant = base.decode(answer.content, Grant)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.PeerFailed(
            f"The NFVO's grant is not valid: {error}."
        ) from None
    asked = (request.vnf_instance_id, request.vnf_lcm_op_occ_id)
    if (grant.vnf_instance_id, grant.vnf_lcm_op_occ_id) != asked:
        raise errors.PeerFailed("The NFVO granted another operation.")
    return grant
