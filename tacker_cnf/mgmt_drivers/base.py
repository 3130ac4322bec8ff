"""The base of a management script.

A script in a VNF package is as long as this::

    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, told):
            self.log(f"{told.vnf_instance.id} runs")

    Driver.main()
"""

import sys
import traceback
from typing import Any, NoReturn

from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput
from tacker_cnf.sol import base


class MgmtDriver:
    """Has a method for each hook that it is named for in the VNFD.

    A hook without a method does nothing. A method that raises makes the
    operation fail.
    """

    def __init__(self) -> None:
        #: what to be told again when the operation is retried
        self.user_script_err_handling_data: dict[str, Any] | None = None

    def log(self, text: str) -> None:
        """Write a line into the conductor's log."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    @classmethod
    def main(cls) -> NoReturn:
        """Read what is to be done, do it, and end the process."""
        told = base.decode(sys.stdin.buffer.read(), ScriptInput)
        driver = cls()
        driver.user_script_err_handling_data = (
            told.user_script_err_handling_data
        )
        code = 0
        try:
            getattr(driver, told.operation, lambda _: None)(told)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            code = 1
        said = ScriptOutput(
            user_script_err_handling_data=driver.user_script_err_handling_data
        )
        sys.stdout.buffer.write(base.encode(said))
        sys.stdout.buffer.flush()
        raise SystemExit(code)
