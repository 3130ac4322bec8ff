"""The base class of management scripts.

A complete script of a VNF package::

    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, script_input):
            self.log(f"Started: vnf_instance={script_input.vnf_instance.id}")

    Driver.main()
"""

import copy
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, cast

from tacker_cnf import errors
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.sol import base


class MgmtDriver:
    """Has one method for each hook for which the VNFD names the script.

    The operation fails if the method raises, or if there is none for the
    hook.
    """

    def __init__(self) -> None:
        #: changes of the VNF instance that the hook returns
        self.changes: InstanceChanges | None = None
        #: returned to the script when the operation is retried
        self.user_script_err_handling_data: dict[str, Any] | None = None
        #: stored for every later hook of this VNF instance, also when the
        #: method raises; the keys are the script's own
        self.memory: dict[str, Any] = {}
        #: name -> VIM that the VNF provides from now on; None: remove it
        self.vims: dict[str, ProvidedVim | None] = {}

    def log(self, text: str) -> None:
        """Write a line into the log of the operation and the conductor."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    @classmethod
    def main(cls) -> NoReturn:
        """Read the input, run the hook's method, and exit the process."""
        script_input = base.decode(sys.stdin.buffer.read(), ScriptInput)
        driver = cls()
        driver.user_script_err_handling_data = (
            script_input.user_script_err_handling_data
        )
        driver.memory = copy.deepcopy(script_input.memory or {})
        code = driver._run_hook(script_input)
        output = ScriptOutput(
            vnf_instance=driver.changes,
            user_script_err_handling_data=driver.user_script_err_handling_data,
            memory=driver.memory,
            vims=driver.vims,
        )
        sys.stdout.buffer.write(base.encode(output))
        sys.stdout.buffer.flush()
        raise SystemExit(code)

    def _run_hook(self, script_input: ScriptInput) -> Any:
        """Run the method of the hook and return the exit code."""
        try:
            self._method(script_input.operation)(script_input)
        except SystemExit as exit_request:  # the output is written anyway
            return exit_request.code
        except errors.VnfmError as error:  # its message needs no traceback
            self.log(str(error))
            return 1
        except Exception as error:  # noqa: BLE001
            frames = error.__traceback__ and error.__traceback__.tb_next
            traceback.print_exception(error.with_traceback(frames))
            return 1
        return 0

    def _method(self, hook: str) -> Callable[[ScriptInput], object]:
        """Return the method of a hook.

        :raises ScriptFailed: the class has no such method
        """
        method = getattr(self, hook, None)
        if method is None:
            raise errors.ScriptFailed(
                f"class {type(self).__name__} has no method {hook}, for which "
                "the VNFD names this script"
            )
        return cast("Callable[[ScriptInput], object]", method)
