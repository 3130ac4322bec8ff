"""Declare handlers of pages, and fill their responses."""

import copy
import hmac
from collections.abc import Callable
from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.web import forms, paths, requests, templates

HTML: Final = "text/html; charset=utf-8"
#: field with the secret of the session
CSRF_FIELD: Final = "csrf"
Handler = Callable[..., Any]


def page(rule: str | None = None) -> Callable[[Handler], Handler]:
    """Declare a method as the handler of a page.

    :param rule: the task whose policy is checked; None: any client is allowed
    """

    def decorate(method: Handler) -> Handler:
        def handle(self: Any, *segments: str) -> None:
            if rule:
                http.authorize_also(rule)
            method(self, *segments)

        return _expose(handle, method)

    return decorate


def action(rule: str | None = None) -> Callable[[Handler], Handler]:
    """Declare a method as the handler of a form, its last argument.

    :param rule: the task whose policy is checked; None: any client is allowed
    """

    def decorate(method: Handler) -> Handler:
        def handle(self: Any, *segments: str) -> None:
            if rule:
                http.authorize_also(rule)
            form = forms.from_request()
            check_secret(form.secret(CSRF_FIELD))
            method(self, *segments, form)

        return _expose(handle, method)

    return decorate


def _expose(handle: Handler, method: Handler) -> Handler:
    handle.__name__, handle.__doc__ = method.__name__, method.__doc__
    exposed: Handler = pecan.expose(content_type="text/html")(handle)
    return exposed


def check_secret(secret: str) -> None:
    """Check that a form is one of the session's pages.

    :raises Forbidden: it is not, or the session has changed
    """
    own = requests.current().session.csrf
    if not hmac.compare_digest(secret.encode(), own.encode()):
        raise errors.Forbidden(
            "The form does not belong to your session; nothing was changed. "
            "Open the page again, and send the form again."
        )


class FormRejected(Exception):
    """A form is shown again, with what is wrong."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def show(template: str, /, **values: Any) -> None:
    """Respond with a page."""
    response = pecan.response
    response.status = 200
    response.content_type = "text/html"
    response.charset = "utf-8"
    response.body = _render(template, values)


def show_again(
    template: str, error: errors.VnfmError, /, **values: Any
) -> FormRejected:
    """Return the exception that shows a form again, with an error."""
    details = http.problem_details(
        error, pecan.request.environ[http.REQUEST_ID]
    )
    body = _render(template, {**values, "problem": details})
    return FormRejected(details.status, body)


def _render(template: str, values: dict[str, Any]) -> bytes:
    visit = requests.current()
    return templates.render(
        template,
        **{"problem": None, **values},
        ui=visit.root,
        session=visit.session,
        has_log_in=requests.needs_log_in(),
        path=visit.root + pecan.request.path.removeprefix(paths.ROOT),
        may=may,
    )


def render_error(
    root: str, error: Exception, request_id: str
) -> tuple[int, bytes]:
    """Return the status and the page of an error."""
    if isinstance(error, FormRejected):
        return error.status, error.body
    details = http.problem_details(error, request_id)
    return details.status, templates.render(
        "error.html",
        ui=root,
        session=None,
        has_log_in=False,
        path="",
        problem=details,
        request_id=request_id,
    )


def redirect(path: str) -> None:
    """Respond with a redirection to another page.

    :param path: below the root of the page
    """
    http.empty_response(303)
    http.set_location(paths.ROOT + path)


def parameter(name: str) -> str:
    """Return a parameter of the query; empty: there is none."""
    return str(pecan.request.GET.get(name, "")).strip()


def client_for(task: str) -> RequestContext:
    """Return the client for what a page shows of other resources than its
    own: their policy is checked for these.
    """
    client = copy.copy(http.caller())
    is_allowed = http.policy_check(task)

    def authorize(owner: Owner) -> None:
        if not is_allowed(owner):
            raise errors.Forbidden(f"Policy {task} does not allow this.")

    client.authorize = authorize
    return client


def may(task: str, project_id: str | None = None) -> bool:
    """Return whether a policy allows the client a task.

    :param project_id: of the resource; None: the client's own
    """
    own = http.caller().owner
    owner = (
        own
        if project_id in {None, own.project_id}
        else Owner(str(project_id), None)
    )
    return http.policy_check(task)(owner)
