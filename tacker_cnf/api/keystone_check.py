"""A check of Keystone, by a token of no client."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Final

import webob
import webob.exc
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.api import authentication

#: the middleware logs why it cannot check a token
LOGGER: Final = "keystonemiddleware.auth_token"


class _LastMessage(logging.Handler):
    """Stores the last message that is logged."""

    message = "the middleware logs no reason"

    def emit(self, record: logging.LogRecord) -> None:
        """Store a message."""
        self.message = record.getMessage()


@contextlib.contextmanager
def _capture() -> Iterator[_LastMessage]:
    """Capture why the middleware cannot check a token, within this block."""
    last, logger = _LastMessage(logging.CRITICAL), logging.getLogger(LOGGER)
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.CRITICAL)
    logger.addHandler(last)
    try:
        yield last
    finally:
        logger.removeHandler(last)
        logger.setLevel(level)
        logger.propagate = True


def check(conf: cfg.ConfigOpts) -> None:
    """Check that Keystone checks tokens for the user of this service.

    :raises VnfmError: options are missing, Keystone is unreachable, or it
        rejects this user
    """
    authentication.check_options(conf)
    middleware = authentication.check_tokens(webob.Response(), conf)
    request = webob.Request.blank("/", headers={"X-Auth-Token": "invalid"})
    with _capture() as last:
        try:
            response = request.get_response(middleware)
        except Exception as error:  # of any library that it uses
            raise _explain(error) from error
    if response.status_int >= webob.exc.HTTPInternalServerError.code:
        raise _explain(last.message)


def _explain(reason: object) -> errors.VnfmError:
    return errors.VnfmError(
        f"{reason}. Check the URLs and the credentials in "
        "[keystone_authtoken], and that its user has the role service or "
        "admin in its project."
    )
