"""Coordination scripts: a change of package runs these scripts of the package
for each VNFC that it has changed on the VIM.
"""

import dataclasses
import pickle
import posixpath
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import find_file
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.parameters import VduParameters
from tacker_cnf.lcm import (
    instantiated_info,
    redaction,
    secret_masking,
    vnfc_ids,
)
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.lcm.shown_names import ADDITIONAL_PARAMS, ShownNames
from tacker_cnf.scripts import protocol, runner
from tacker_cnf.scripts.limits import ScriptLimits, limits_of
from tacker_cnf.scripts.protocol import ScriptProtocol
from tacker_cnf.scripts.runner import ScriptCallbacks, ScriptRun
from tacker_cnf.scripts.workdir import Workspace
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

#: value that a script replaces before it requests a coordination
ACTION_PLACEHOLDER: Final = "to_be_set_by_the_script"


class CoordinationParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams that name the scripts: ``new`` for the VNFCs of
    the new package, ``old`` for those of the old one, in a rollback.
    """

    #: script that runs for each VNFC of the new package; its path there
    new: str | None = msgspec.field(
        default=None, name="lcm-operation-coordinate-new-vnf"
    )
    #: script that runs in a rollback; its path in the present package
    old: str | None = msgspec.field(
        default=None, name="lcm-operation-coordinate-old-vnf"
    )
    #: the VDUs of whose VNFCs the scripts run, with their input; default: all
    vdu_params: tuple[VduParameters, ...] = ()


def check(task: InfraTask, limits: ScriptLimits) -> None:
    """Check that each package has the script named for it, and that it runs.

    :raises InvalidParameters: a script is not found, or may not run
    """
    params = parameters.read(task.change.parameters, CoordinationParameters)
    packages = {"new": task.package, "old": task.current_package}
    for which, package in packages.items():
        name = _path(params, which)
        if not name or package is None:
            continue
        objection = limits.find_objection(package.code, name)
        if find_file(package.path, name) is None:
            objection = (
                f"the VNF package of VNFD {package.vnfd.id} has no file "
                f"{name!r}."
            )
        if objection:
            raise errors.InvalidParameters(
                f"additionalParams.lcm-operation-coordinate-{which}-vnf: "
                f"{objection}"
            )


def _path(params: CoordinationParameters, which: str) -> str | None:
    """Return the path of a script in its package; None: there is none."""
    name = getattr(params, which)
    return posixpath.normpath(name) if name else None


def scripts(task: InfraTask) -> dict[str, str]:
    """Return the script that a change of package runs, if the request names
    one, by the name of its parameter.
    """
    which = "old" if task.change.restores else "new"
    params = parameters.read(task.change.parameters, CoordinationParameters)
    path = getattr(params, which)
    is_run = path and task.current_package
    return {f"lcm-operation-coordinate-{which}-vnf": path} if is_run else {}


class Coordination:
    """The coordination of one change of package."""

    def __init__(
        self, conf: cfg.ConfigOpts, task: InfraTask, context: TaskContext
    ) -> None:
        self._limits = limits_of(conf)
        self._endpoint = str(conf.api.endpoint or "").rstrip("/")
        self._task = task
        self._context = context
        self._which = "old" if task.change.restores else "new"
        self._params = parameters.read(
            task.change.parameters, CoordinationParameters
        )
        self._script = _path(self._params, self._which)

    @property
    def has_script(self) -> bool:
        """Whether the request names a script."""
        return self._script is not None

    @property
    def vdus(self) -> frozenset[str]:
        """The VDUs that the request names; empty: all VDUs."""
        return frozenset(entry.vdu_id for entry in self._params.vdu_params)

    def run(
        self, vnfc: VnfcResourceInfo, address: str | None, found: Observed
    ) -> None:
        """Run the script for a VNFC.

        :param address: of the VNFC, for the script to connect to
        :param found: all resources of the instance
        :raises ScriptFailed: the script failed, or did not end in time
        """
        task, context = self._task, self._context
        vnfc_id = vnfc_ids.vnfc_id(vnfc, task.instance.metadata)
        context.report_progress(f"Coordinating VNFC {vnfc_id}")
        script_input = self._script_input(vnfc, vnfc_id, address, found)
        with context.script_place(context.deadline.remaining):
            timeout = min(self._limits.timeout, context.deadline.remaining)
            runner.execute(
                [task.package.code],
                lambda workspace: self._script_run(workspace, script_input),
                dataclasses.replace(self._limits, timeout=timeout),
                context.cancel_token,
                ScriptCallbacks(save=context.save_log),
                requested_file=self._script,
            )

    def _script_run(
        self, workspace: Workspace, script_input: Mapping[str, Any]
    ) -> ScriptRun[bool]:
        assert self._script is not None  # has_script
        path = workspace.package_dirs[0] / self._script
        script = self._task.package.path / self._script
        uses_pickle = protocol.detect_protocol(script) is ScriptProtocol.PICKLE
        return ScriptRun(
            name=self._script,
            operation=f"lcm-operation-coordinate-{self._which}-vnf",
            command=(str(path),),
            input=pickle.dumps(script_input)
            if uses_pickle
            else msgspec.json.encode(script_input),
            read=lambda _: True,  # its exit code is the result
            masker=self._masker(script_input),
        )

    def _masker(self, script_input: Mapping[str, Any]) -> SecretMasker:
        """Build the masker of the request's parameters and the credentials
        in the input.
        """
        parameters = self._task.change.parameters
        names = ShownNames(vnfd=self._task.package.vnfd.public_names)
        return SecretMasker(
            secret_masking.secrets_of(
                {ADDITIONAL_PARAMS: parameters},
                script_input["inst"],
                names=names,
            )
        )

    def _script_input(
        self,
        vnfc: VnfcResourceInfo,
        vnfc_id: str,
        address: str | None,
        found: Observed,
    ) -> dict[str, Any]:
        """Build the input: the parameters of the VDU, ssh_ip (if known),
        is_rollback, LcmCoordRequest, inst and vnfc_info_id.
        """
        task = self._task
        root = f"{self._endpoint}/vnflcm/v2"
        links = {
            "vnfLcmOpOcc": f"{root}/vnf_lcm_op_occs/{task.operation_id}",
            "vnfInstance": f"{root}/vnf_instances/{task.instance.id}",
        }
        return {
            **self.vnfc_params(vnfc.vdu_id),
            **({"ssh_ip": address} if address else {}),
            "is_rollback": task.change.restores,
            "LcmCoordRequest": {
                "vnfInstanceId": task.instance.id,
                "vnfLcmOpOccId": task.operation_id,
                "lcmOperationType": "CHANGE_VNFPKG",
                "coordinationActionName": ACTION_PLACEHOLDER,
                "_links": {name: {"href": url} for name, url in links.items()},
            },
            "inst": self._instance(found),
            "vnfc_info_id": vnfc_id,
        }

    def vnfc_params(self, vdu: str) -> Mapping[str, Any]:
        """Return the script parameters that the request has for a VDU."""
        for entry in self._params.vdu_params:
            if entry.vdu_id == vdu:
                return getattr(entry, f"{self._which}_vnfc_param")  # type: ignore[no-any-return]
        return {}

    def _instance(self, found: Observed) -> Any:
        """Return the instance with its present resources, as JSON values,
        without the credentials of its VIMs.
        """
        instance = redaction.without_vim_secrets(self._task.instance)
        info = instance.instantiated_vnf_info
        if info:
            info = instantiated_info.update_resources(
                info, found, instance.metadata
            )
        now = msgspec.structs.replace(instance, instantiated_vnf_info=info)
        return msgspec.to_builtins(now, enc_hook=str)
