"""Log in and log out."""

import pecan
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.web import pages, requests, session_middleware, sessions
from tacker_cnf.web.forms import Form
from tacker_cnf.web.keystone import Credentials, Keystone
from tacker_cnf.web.sessions import Session, SessionCookies

LOG = log.getLogger(__name__)

DEFAULT_DOMAIN = "Default"


class LogIn:
    """The form to log in, and the end of a session."""

    def __init__(self, keystone: Keystone, cookies: SessionCookies) -> None:
        self._keystone = keystone
        self._cookies = cookies

    @pages.page()
    def get(self) -> None:
        """Show the form."""
        pages.show("login.html", **_values(pages.parameter("next")))

    @pages.action()
    def post(self, form: Form) -> None:
        """Log in, and go to the page that was requested before."""
        target = form.text("next") or ""
        credentials = Credentials(
            user=form.text("user") or "",
            password=form.secret("password"),
            user_domain=form.text("user_domain") or DEFAULT_DOMAIN,
            project=form.text("project") or "",
            project_domain=form.text("project_domain") or DEFAULT_DOMAIN,
        )
        try:
            self._begin(self._keystone.log_in(credentials))
        except errors.VnfmError as error:
            raise pages.show_again(
                "login.html",
                error,
                **_values(
                    target,
                    user=credentials.user,
                    user_domain=credentials.user_domain,
                    project=credentials.project,
                    project_domain=credentials.project_domain,
                ),
            ) from None
        pages.redirect(target if session_middleware.is_page(target) else "/")

    @pages.action()
    def post_log_out(self, _form: Form) -> None:
        """Revoke the token, and forget it."""
        token = requests.current().session.token
        if token:
            try:
                self._keystone.log_out(token)
            except errors.Unavailable as error:
                # the browser forgets it in any case
                LOG.warning("Token not revoked at log out: %s", error)
        self._begin(sessions.new_session())
        pages.redirect(session_middleware.LOG_IN)

    def _begin(self, session: Session) -> None:
        """Replace the session of the browser.

        :raises VnfmError: its token is too long for a cookie
        """
        visit = requests.current()
        try:
            cookie = self._cookies.write(
                session, visit.root, is_secure=visit.is_secure
            )
        except ValueError as error:
            raise errors.PeerFailed(
                f"Log in is not possible: {error}."
            ) from None
        pecan.response.headers["Set-Cookie"] = cookie


def _values(target: str, **typed: str) -> dict[str, str]:
    return {
        "next": target,
        "user": "",
        "user_domain": DEFAULT_DOMAIN,
        "project": "",
        "project_domain": DEFAULT_DOMAIN,
        **typed,
    }
