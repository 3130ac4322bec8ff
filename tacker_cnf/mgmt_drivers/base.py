"""The base of a management script.

A script in a VNF package is as long as this::

    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, told):
            self.log(f"{told.vnf_instance.id} runs")

    Driver.main()
"""

import copy
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, cast

from tacker_cnf import errors
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.sol import base


class MgmtDriver:
    """Has a method for each hook that it is named for in the VNFD.

    A method that raises makes the operation fail, and so does a hook without
    a method.
    """

    def __init__(self) -> None:
        #: what it changes of the VNF instance
        self.changes: InstanceChanges | None = None
        #: what to be told again when the operation is retried
        self.user_script_err_handling_data: dict[str, Any] | None = None
        #: what every later hook of this VNF instance is to be told, and what
        #: this one was; kept also when the method raises
        self.memory: dict[str, Any] = {}
        #: the VIMs that the VNF provides from now on, by name; None: no more
        self.vims: dict[str, ProvidedVim | None] = {}

    def log(self, text: str) -> None:
        """Write a line into the log of the operation and the conductor."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    @classmethod
    def main(cls) -> NoReturn:
        """Read what is to be done, do it, and end the process."""
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
        """Run the method of the hook; give the exit code."""
        try:
            self._method(script_input.operation)(script_input)
        except SystemExit as exit_request:  # the answer is owed all the same
            return exit_request.code
        except errors.VnfmError as error:  # it says all that is to be said
            self.log(str(error))
            return 1
        except Exception as error:  # noqa: BLE001
            frames = error.__traceback__ and error.__traceback__.tb_next
            traceback.print_exception(error.with_traceback(frames))
            return 1
        return 0

    def _method(self, hook: str) -> Callable[[ScriptInput], object]:
        """Find the method of a hook.

        :raises ScriptFailed: there is none
        """
        method = getattr(self, hook, None)
        if method is None:
            raise errors.ScriptFailed(
                f"class {type(self).__name__} has no method {hook}, for which "
                "the VNFD names this script"
            )
        return cast("Callable[[ScriptInput], object]", method)
