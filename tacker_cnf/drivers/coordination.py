"""Coordination scripts: code of a package that a change of package runs for
each VNFC, once the VIM has changed it.
"""

import dataclasses
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import find
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.parameters import VduParameters
from tacker_cnf.lcm import naming, outcome, redaction, veil
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.scripts import protocol, runner
from tacker_cnf.scripts.process import bounds_of
from tacker_cnf.scripts.protocol import Tongue
from tacker_cnf.scripts.runner import Ears, Talk
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

#: what a script replaces before it asks for a coordination
ACTION: Final = "to_be_set_by_the_script"


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams that say what is run: for the VNFCs of the new
    package, and in a rollback for those of the old one.
    """

    new: str | None = msgspec.field(
        default=None, name="lcm-operation-coordinate-new-vnf"
    )
    old: str | None = msgspec.field(
        default=None, name="lcm-operation-coordinate-old-vnf"
    )
    vdu_params: tuple[VduParameters, ...] = ()


def check(task: InfraTask) -> None:
    """Check that each package has the script that is named of it.

    :raises InvalidParameters: one has not
    """
    asked = parameters.read(task.parameters, Parameters)
    named = (
        ("new", asked.new, task.package),
        ("old", asked.old, task.current_package),
    )
    for which, name, package in named:
        if name and package and find(package.path, name) is None:
            raise errors.InvalidParameters(
                f"additionalParams.lcm-operation-coordinate-{which}-vnf: the "
                f"VNF package of VNFD {package.vnfd.id} has no file {name!r}."
            )


class Coordination:
    """The coordination of one change of package."""

    def __init__(self, conf: cfg.ConfigOpts, task: InfraTask) -> None:
        self._bounds = bounds_of(conf)
        self._endpoint = str(conf.api.endpoint or "").rstrip("/")
        self._task = task
        self._which = "old" if task.rolls_back else "new"
        self._asked = parameters.read(task.parameters, Parameters)
        self._script = getattr(self._asked, self._which)

    @property
    def is_named(self) -> bool:
        """Whether there is a script to run."""
        return self._script is not None

    @property
    def vdus(self) -> frozenset[str]:
        """The VDUs that the request names; empty: it is about all."""
        return frozenset(one.vdu_id for one in self._asked.vdu_params)

    def run(
        self, vnfc: VnfcResourceInfo, address: str | None, found: InfraResult
    ) -> None:
        """Run the script for a VNFC.

        :param address: of the VNFC, by which the script may reach it
        :param found: all that is there
        :raises ScriptFailed: it did not end well
        """
        task = self._task
        named = naming.vnfc_id(vnfc, task.instance.metadata)
        task.tell(f"Coordinating VNFC {named}")
        timeout = min(self._bounds.timeout, task.deadline.remaining)
        script_input = self._script_input(vnfc, named, address, found)
        runner.talk(
            [task.package.path],
            lambda trees: self._talk(trees, script_input),
            dataclasses.replace(self._bounds, timeout=timeout),
            task.halt,
            Ears(keep=task.keep_log),
        )

    def _talk(
        self, trees: Sequence[Path], told: Mapping[str, Any]
    ) -> Talk[bool]:
        path = trees[0] / self._script
        pickles = protocol.tongue_of(path) is Tongue.PICKLE
        return Talk(
            name=self._script,
            operation=f"lcm-operation-coordinate-{self._which}-vnf",
            command=(str(path),),
            input=pickle.dumps(told) if pickles else msgspec.json.encode(told),
            read=lambda _: True,  # its exit code says all
            veil=Veil(veil.secrets_of(told)),
        )

    def _script_input(
        self,
        vnfc: VnfcResourceInfo,
        named: str,
        address: str | None,
        found: InfraResult,
    ) -> dict[str, Any]:
        task = self._task
        root = f"{self._endpoint}/vnflcm/v2"
        links = {
            "vnfLcmOpOcc": f"{root}/vnf_lcm_op_occs/{task.operation_id}",
            "vnfInstance": f"{root}/vnf_instances/{task.instance.id}",
        }
        return {
            **self.given(vnfc.vdu_id),
            **({"ssh_ip": address} if address else {}),
            "is_rollback": task.rolls_back,
            "LcmCoordRequest": {
                "vnfInstanceId": task.instance.id,
                "vnfLcmOpOccId": task.operation_id,
                "lcmOperationType": "CHANGE_VNFPKG",
                "coordinationActionName": ACTION,
                "_links": {name: {"href": url} for name, url in links.items()},
            },
            "inst": self._instance(found),
            "vnfc_info_id": named,
        }

    def given(self, vdu: str) -> Mapping[str, Any]:
        """Return what the request gives the script for the VNFCs of a VDU."""
        for one in self._asked.vdu_params:
            if one.vdu_id == vdu:
                return getattr(one, f"{self._which}_vnfc_param")  # type: ignore[no-any-return]
        return {}

    def _instance(self, found: InfraResult) -> Any:
        """Return the instance as it is now, without what logs in to VIMs."""
        instance = redaction.unconnected(self._task.instance)
        info = instance.instantiated_vnf_info
        if info:
            info = outcome.refilled(info, found, instance.metadata)
        now = msgspec.structs.replace(instance, instantiated_vnf_info=info)
        return msgspec.to_builtins(now, enc_hook=str)
