"""The pages of VIMs."""

from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.services.vims import NewVim, VimChange, VimService
from tacker_cnf.web import forms, pages
from tacker_cnf.web.forms import Form

VIMS: Final = "/vims"
#: fields of the form whose names are those of auth_cred
CREDENTIALS: Final = (
    "bearer_token",
    "client_cert",
    "client_key",
    "ssl_ca_cert",
    "username",
    "password",
    "user_domain_name",
    "application_credential_id",
    "application_credential_secret",
)
#: field -> key of vim_project
PROJECT: Final = {
    "project_name": "name",
    "project_domain_name": "project_domain_name",
}


class VimPages:
    """The list, the form to register one, and its tasks."""

    def __init__(self, vims: VimService) -> None:
        self._vims = vims

    @pages.page("vims:index")
    def get_all(self) -> None:
        """List VIMs."""
        pages.show("vims.html", vims=self._vims.find(http.caller()))

    @pages.page("vims:create")
    def get_new(self) -> None:
        """Show the form to register a VIM."""
        pages.show("vim_new.html", **self._values(Form({})))

    def _values(self, form: Form) -> dict[str, Any]:
        return {"form": form, "types": self._vims.types()}

    @pages.action("vims:create")
    def post(self, form: Form) -> None:
        """Register a VIM."""
        try:
            self._vims.add(http.caller(), _new_vim(form))
        except errors.VnfmError as error:
            raise pages.show_again(
                "vim_new.html", error, **self._values(form)
            ) from None
        pages.redirect(VIMS)

    @pages.action("vims:update")
    def post_default(self, vim_id: str, _form: Form) -> None:
        """Make a VIM the default one."""
        self._vims.change(http.caller(), vim_id, VimChange(is_default=True))
        pages.redirect(VIMS)

    @pages.page("vims:delete")
    def get_delete(self, vim_id: str) -> None:
        """Ask whether to delete a VIM."""
        vim = self._vims.get(http.caller(), vim_id)
        pages.show(
            "confirm.html",
            title="Delete VIM",
            name=vim.name,
            text="This service forgets the VIM and its credentials; the VIM "
            "itself does not change.",
            verb="Delete",
            back=VIMS,
        )

    @pages.action("vims:delete")
    def post_delete(self, vim_id: str, _form: Form) -> None:
        """Delete a VIM that no VNF instance uses."""
        self._vims.delete(http.caller(), vim_id)
        pages.redirect(VIMS)


def _new_vim(form: Form) -> NewVim:
    """Return the request of the form.

    :raises BadRequest: it is not valid
    """
    # a password may begin with a space
    cred = {name: form.secret(name) for name in CREDENTIALS if form.text(name)}
    region = form.text("region")
    return forms.build(
        {
            "name": form.text("name"),
            "type": form.text("type"),
            "description": form.text("description"),
            "auth_url": form.text("auth_url"),
            "auth_cred": cred,
            "vim_project": {
                key: form.text(name)
                for name, key in PROJECT.items()
                if form.text(name)
            }
            or None,
            "extra": {"region": region} if region else None,
            "is_default": form.text("is_default") is not None,
        },
        NewVim,
    )
