"""An external NFVO, asked for leave by SOL003 clause 9."""

import re
from typing import Final

import httpx
import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.nfvo.client import NfvoClient, NfvoResponse
from tacker_cnf.nfvo.retrier import Retrier
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol import base
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.grant import Grant, GrantRequest

LOG = log.getLogger(__name__)

GRANTS_PATH: Final = "/grant/v1/grants"
#: the end of a Location that can be put behind an address as it is
GRANT_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9._~%:@-]{1,255}")


class HttpNfvo:
    """Asks for leave, and waits until the NFVO has made up its mind.

    A request whose answer was lost is made again just as it was. All that
    are made for one operation have the same ids and the same Idempotency-Key,
    so that an NFVO can see that they are one; those of a conductor, too, that
    takes a lost one's operation over.
    """

    def __init__(self, conf: cfg.ConfigOpts, nfvo: NfvoClient) -> None:
        if not conf.api.endpoint:
            raise errors.VnfmError(
                "[nfvo] endpoint needs [api] endpoint, so that the NFVO can "
                "be told how to reach this service."
            )
        self._client = nfvo
        self._own_endpoint: str = conf.api.endpoint.rstrip("/")
        self._grant_timeout: float = conf.nfvo.grant_timeout
        self._interval: float = conf.nfvo.poll_interval
        self._headers = {
            "Accept": "application/json",
            "Version": conf.nfvo.grant_version,
        }

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,
        deadline: Deadline,
    ) -> Grant:
        timeout = min(self._grant_timeout, deadline.remaining)
        retrier = Retrier(timeout, cancel_token, self._interval)
        response = retrier.run(lambda: self._post(request))
        if response.status == httpx.codes.ACCEPTED:
            path = _decision_path(response)
            LOG.info("%s waits for the NFVO", request.vnf_lcm_op_occ_id)
            while response.status == httpx.codes.ACCEPTED:
                retrier.pause(response)
                response = retrier.run(lambda: self._get(path))
        return _decode_grant(request, response)

    def _post(self, request: GrantRequest) -> NfvoResponse:
        links = msgspec.structs.replace(
            request.links,
            vnf_lcm_op_occ=self._absolute(request.links.vnf_lcm_op_occ),
            vnf_instance=self._absolute(request.links.vnf_instance),
        )
        headers = self._headers | {
            "Content-Type": "application/json",
            "Idempotency-Key": request.vnf_lcm_op_occ_id,
        }
        content = base.encode(msgspec.structs.replace(request, links=links))
        return self._client.call(
            "POST", GRANTS_PATH, headers=headers, body=content
        )

    def _get(self, path: str) -> NfvoResponse:
        return self._client.call("GET", path, headers=self._headers)

    def _absolute(self, link: Link) -> Link:
        return Link(href=self._own_endpoint + link.href)


def _decision_path(response: NfvoResponse) -> str:
    """Tell where the decision will be (SOL003 9.4.3).

    Only the id is taken of what the NFVO says: our credentials go nowhere
    else than to where it is configured to be.

    :raises PeerFailed: it does not say
    """
    location = response.headers.get("Location", "").partition("?")[0]
    grant_id = location.rstrip("/").rpartition("/")[2]
    if not GRANT_ID_PATTERN.fullmatch(grant_id) or not grant_id.strip("."):
        raise errors.PeerFailed(
            "The NFVO answered 202 and did not say where its decision will "
            "be (Location)."
        )
    return f"{GRANTS_PATH}/{grant_id}"


def _decode_grant(request: GrantRequest, response: NfvoResponse) -> Grant:
    """Read what the NFVO decided.

    :raises GrantRejected: it refused
    :raises PeerFailed: it failed, or this is no grant of this operation
    """
    if response.status == httpx.codes.FORBIDDEN:
        raise errors.GrantRejected(
            f"The NFVO refused to grant the operation: {response.error_detail}"
        )
    if response.status not in {httpx.codes.OK, httpx.codes.CREATED}:
        raise errors.PeerFailed(
            f"The NFVO answered {response.status} when it was asked for a "
            f"grant: {response.error_detail}"
        )
    try:
        grant = base.decode(response.content, Grant)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.PeerFailed(
            f"The NFVO's grant is not valid: {error}."
        ) from None
    expected = (request.vnf_instance_id, request.vnf_lcm_op_occ_id)
    if (grant.vnf_instance_id, grant.vnf_lcm_op_occ_id) != expected:
        raise errors.PeerFailed("The NFVO granted another operation.")
    return grant
