"""The management scripts of a VNF, before and after a change of its VIM."""

import dataclasses
from collections.abc import Mapping

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor import run as running
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.conductor.run import Run
from tacker_cnf.conductor.vim_resolver import VimResolver
from tacker_cnf.drivers.base import TaskContext
from tacker_cnf.lcm import redaction, script_output, vim_policy
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.scripts import compat, runner
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.scripts.runner import ScriptCallbacks

LOG = log.getLogger(__name__)


class ManagementScripts:
    """Runs the management scripts of one operation."""

    def __init__(
        self,
        limits: ScriptLimits,
        vim_resolver: VimResolver,
        recorder: OperationRecorder,
        context: TaskContext,
    ) -> None:
        self._limits = limits
        self._vim_resolver = vim_resolver
        self._recorder = recorder
        self._context = context

    def has_script(self, run: Run, phase: str) -> bool:
        """Return whether the VNFD has a script for a phase: start or end."""
        return self._script(run, phase) is not None

    def list_paths(self, run: Run) -> dict[str, str]:
        """Return the scripts of an operation, by their hooks."""
        paths = {
            _hook(run, phase): self._script(run, phase)
            for phase in ("start", "end")
        }
        return {hook: path for hook, path in paths.items() if path}

    def run(self, run: Run, phase: str) -> Run:
        """Run the script of a phase, if there is one, and apply its output.

        :raises ScriptFailed: the script failed, or its output is not valid;
            not in a forceful termination
        """
        name = self._script(run, phase)
        if name is None:
            return run
        try:
            deadline = self._deadline(run)
            with self._context.script_place(deadline.remaining):
                output = self._execute(run, phase, name, deadline)
            return self._apply_output(run, phase, name, output)
        except errors.ScriptFailed as error:
            if not self.tolerates_failure(run, error):
                raise
            return run

    def tolerates_failure(self, run: Run, error: errors.ScriptFailed) -> bool:
        """Return whether an operation continues after a failed script; log
        it.
        """
        if not _is_forceful(run):
            return False
        LOG.warning(
            "Script failed, FORCEFUL termination continues: operation=%s "
            "error=%s",
            run.op_occ.id,
            error,
        )
        self._recorder.save_log(
            f"{error}\nThe termination is FORCEFUL and continues.\n"
        )
        return True

    def _script(self, run: Run, phase: str) -> str | None:
        change = run.change
        if change.current is None and change.desired is None:
            return None
        scripts = flavour_of(run.package.vnfd, change.state.flavour_id).scripts
        return compat.select_script(
            scripts,
            run.operation.hook,
            phase,
            run.package.path,
            is_rollback=run.is_rollback,
            replaces=self._limits.replace_reference_drivers,
        )

    def _compat_module(self, run: Run, script: str) -> str | None:
        if not self._limits.replace_reference_drivers:
            return None
        return compat.replacement_module(run.package.path / script)

    def _deadline(self, run: Run) -> Deadline:
        """Return the time by which a script has to have waited and run: in a
        forceful termination it leaves half of the time for the other steps.
        """
        deadline = self._context.deadline
        if not _is_forceful(run):
            return deadline
        return deadline.limited(deadline.remaining / 2)

    def _execute(
        self, run: Run, phase: str, name: str, deadline: Deadline
    ) -> ScriptOutput:
        """Run a script, and return its output.

        :raises ScriptFailed: the script failed
        """
        packages = [run.package.code]
        if run.next_package:
            packages.append(run.next_package.code)
        timeout = min(self._limits.timeout, deadline.remaining)
        script_input = self._script_input(run, phase, timeout)
        if not (
            self._limits.vim_credentials or self._compat_module(run, name)
        ):
            script_input = _without_credentials(script_input)
        return runner.run(
            packages,
            name,
            script_input,
            dataclasses.replace(self._limits, timeout=timeout),
            self._context.cancel_token,
            ScriptCallbacks(
                show=self._recorder.show_log,
                save=self._recorder.save_log,
                remember=self._recorder.remember,
            ),
            run.shown_names,
        )

    def _script_input(
        self, run: Run, phase: str, timeout: float
    ) -> ScriptInput:
        error = run.op_occ.error
        instance = run.instance
        if phase == "end":
            instance = running.resulting_instance(run)
        if instance.vim_connection_info:
            instance = msgspec.structs.replace(
                instance,
                vim_connection_info=dict(run.vims.resolved_connections),
            )
        named = self._limits.named_files(run.package.code)
        return ScriptInput(
            operation=_hook(run, phase),
            vnf_lcm_op_occ_id=run.op_occ.id,
            request=run.op_occ.operation_params or {},
            vnf_instance=instance,
            grant_request=run.grant_request,
            grant_response=run.grant,
            package_dir="",
            state_dir=str(self._limits.state / run.instance.id),
            vnfd_id=run.package.vnfd.id,
            named_files=None if named is None else tuple(named),
            new_vnfd_id=run.next_package.vnfd.id if run.next_package else None,
            timeout=timeout,
            driver_options=run.vims.driver.script_options,
            user_script_err_handling_data=(
                error.user_script_err_handling_data if error else None
            ),
            memory=self._recorder.load_script_memory(),
        )

    def _apply_output(
        self, run: Run, phase: str, name: str, output: ScriptOutput
    ) -> Run:
        """Apply the output of a script.

        :raises ScriptFailed: the output is not valid
        """
        try:
            self._check_vims(run, output.vims)
            run = msgspec.structs.replace(run, provided_vims=output.vims)
            if output.vnf_instance is None:
                return run
            return _apply_changes(run, output.vnf_instance)
        except (errors.ScriptFailed, errors.BadRequest) as error:
            reason = str(error).removesuffix(".")
            raise errors.ScriptFailed(
                f"Script {name} ({_hook(run, phase)}): {reason}."
            ) from None

    def _check_vims(
        self, run: Run, vims: Mapping[str, ProvidedVim | None]
    ) -> None:
        """Check the VIMs of a script output against those the VNF runs on.

        :raises ScriptFailed: the VNF runs on a VIM of that name, or a VIM has
            a policy
        :raises BadRequest: there is no driver for a type of VIM, or ``extra``
            has a misspelt policy
        """
        for name, vim in vims.items():
            if name in run.vims.vim_connections:
                raise errors.ScriptFailed(
                    f"its output has a VIM {name}, but this key of "
                    "vimConnectionInfo is a VIM that the VNF runs on"
                )
            if vim and vim_policy.POLICY_KEY in vim.extra:
                raise errors.ScriptFailed(
                    f"its output has a policy for VIM {name} (extra."
                    f"{vim_policy.POLICY_KEY}), which only the owner of the VIM "
                    "sets"
                )
            if vim:
                vim_policy.check_name(vim.extra)
                self._vim_resolver.check_vim_type(vim.type)


def _is_forceful(run: Run) -> bool:
    return run.operation.is_forceful(run.request)


def _hook(run: Run, phase: str) -> str:
    rollback = "_rollback" if run.is_rollback else ""
    return f"{run.operation.hook}{rollback}_{phase}"


def _without_credentials(script_input: ScriptInput) -> ScriptInput:
    """Remove the credentials of VIMs, and their policies."""
    name, request, grant = (
        redaction.VIM_CONNECTIONS,
        script_input.request,
        script_input.grant_response,
    )
    if request.get(name):
        connections = redaction.redact_connections(request[name])
        request = {**request, name: connections}
    return msgspec.structs.replace(
        script_input,
        request=request,
        vnf_instance=redaction.without_vim_secrets(script_input.vnf_instance),
        grant_response=grant and redaction.without_vim_secrets(grant),
    )


def _apply_changes(run: Run, changes: InstanceChanges) -> Run:
    """Apply the changes of the instance by a script.

    :raises ScriptFailed: a change is not valid
    """
    package = run.package
    flavour_id = run.change.first_state.flavour_id
    if not run.is_rollback:
        package = run.next_package or package
        flavour_id = run.change.state.flavour_id
    vdus = flavour_of(package.vnfd, flavour_id).vdus
    return msgspec.structs.replace(
        run,
        script_changes=script_output.merge(
            run.script_changes, script_output.attributes(changes)
        ),
        result=script_output.apply_to_result(
            run.instance, run.result, changes, vdus
        ),
    )
