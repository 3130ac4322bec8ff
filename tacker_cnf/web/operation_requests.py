"""Build the requests of lifecycle operations from the fields of forms."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.lcm.operations import registry
from tacker_cnf.sol.base import SolType
from tacker_cnf.web import forms
from tacker_cnf.web.forms import Form

#: prefix of the fields with the scale level of an aspect
LEVEL: Final = "level:"
#: key of vimConnectionInfo for the VIM that a form names
VIM: Final = "vim1"


def build(task: str, form: Form) -> SolType:
    """Return the request of a task.

    :raises BadRequest: the form is not valid
    """
    values = {
        **_BUILDERS[task](form),
        "additionalParams": form.mapping("additional_params") or None,
    }
    kind: type[SolType] = registry.INSTANCE_TASKS[task].request_type
    return forms.build(values, kind)


def _instantiate(form: Form) -> Mapping[str, Any]:
    vim_id = form.text("vim")
    return {
        "flavourId": form.text("flavour"),
        "instantiationLevelId": form.text("level"),
        "vimConnectionInfo": {VIM: {"vimId": vim_id}} if vim_id else None,
    }


def _scale(form: Form) -> Mapping[str, Any]:
    return {
        "type": form.text("type"),
        "aspectId": form.text("aspect"),
        "numberOfSteps": form.number("steps"),
    }


def _scale_to_level(form: Form) -> Mapping[str, Any]:
    level = form.text("level")
    if level:
        return {"instantiationLevelId": level}
    levels = (
        (name, form.number(LEVEL + name)) for name in form.texts("aspect")
    )
    return {
        "scaleInfo": [
            {"aspectId": aspect, "scaleLevel": number}
            for aspect, number in levels
            if number is not None
        ]
    }


def _heal(form: Form) -> Mapping[str, Any]:
    vnfcs = form.texts("vnfc")
    # a request without VNFCs heals the whole VNF
    if bool(vnfcs) == (form.text("scope") == "all"):
        raise errors.BadRequest(
            "VNFCs: choose the VNFCs to heal, or the whole VNF and no VNFC."
        )
    return {"vnfcInstanceId": vnfcs, "cause": form.text("cause")}


def _operate(form: Form) -> Mapping[str, Any]:
    return {
        "changeStateTo": form.text("state"),
        "stopType": form.text("stop_type"),
        "gracefulStopTimeout": form.number("timeout"),
    }


def _terminate(form: Form) -> Mapping[str, Any]:
    return {
        "terminationType": form.text("type"),
        "gracefulTerminationTimeout": form.number("timeout"),
    }


_BUILDERS: Final[Mapping[str, Callable[[Form], Mapping[str, Any]]]] = {
    "instantiate": _instantiate,
    "scale": _scale,
    "scale_to_level": _scale_to_level,
    "heal": _heal,
    "operate": _operate,
    "terminate": _terminate,
}
#: the tasks that have a form
TASKS: Final = tuple(_BUILDERS)
