"""Grants from an external NFVO (SOL003 clause 9)."""

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
#: the last path segment of a Location, safe to append to a URL
GRANT_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9._~%:@-]{1,255}")


class HttpNfvo:
    """Requests grants, and waits until the NFVO has decided.

    A request whose response was lost is sent again unchanged. All requests
    for one operation have the same ids and the same Idempotency-Key, also
    those of a conductor that takes the operation over, so that the NFVO can
    recognise duplicates.
    """

    def __init__(self, conf: cfg.ConfigOpts, nfvo: NfvoClient) -> None:
        if not conf.api.endpoint:
            raise errors.VnfmError(
                "[nfvo] endpoint requires [api] endpoint, which the grant "
                "request links to."
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
            LOG.info("Grant pending: operation=%s", request.vnf_lcm_op_occ_id)
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
    """Return the path to poll for the decision (SOL003 9.4.3).

    Only the id is taken from the Location: credentials are sent to the
    configured endpoint alone.

    :raises PeerFailed: the response has no valid Location
    """
    location = response.headers.get("Location", "").partition("?")[0]
    grant_id = location.rstrip("/").rpartition("/")[2]
    if not GRANT_ID_PATTERN.fullmatch(grant_id) or not grant_id.strip("."):
        raise errors.PeerFailed(
            "The NFVO responded 202 without a valid Location header, which "
            "has to end in the id of the grant."
        )
    return f"{GRANTS_PATH}/{grant_id}"


def _decode_grant(request: GrantRequest, response: NfvoResponse) -> Grant:
    """Decode the NFVO's decision.

    :raises GrantRejected: the NFVO rejected the operation
    :raises PeerFailed: the NFVO failed, or the body is not a grant of this
        operation
    """
    if response.status == httpx.codes.FORBIDDEN:
        raise errors.GrantRejected(
            f"The NFVO rejected the operation: {response.error_detail}"
        )
    if response.status not in {httpx.codes.OK, httpx.codes.CREATED}:
        raise errors.PeerFailed(
            f"The NFVO responded {response.status} to the grant request: "
            f"{response.error_detail}"
        )
    try:
        grant = base.decode(response.content, Grant)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.PeerFailed(
            f"The NFVO's grant is not valid: {error}."
        ) from None
    expected = (request.vnf_instance_id, request.vnf_lcm_op_occ_id)
    if (grant.vnf_instance_id, grant.vnf_lcm_op_occ_id) != expected:
        raise errors.PeerFailed(
            "The NFVO's grant is for another operation or VNF instance."
        )
    return grant
