"""What the child process does before the script: gives up what it may not
have, and dies with its parent.

Run as ``python -m tacker_cnf.scripts.child SCRIPT MAX_MEMORY MAX_FILE``, both
in bytes, 0 for no limit.
"""

import ctypes
import resource
import runpy
import signal
import sys
import traceback
from pathlib import Path

PR_SET_PDEATHSIG = 1


def limit(what: int, most: int) -> None:
    if most:
        resource.setrlimit(what, (most, most))


def main() -> None:
    """Become the script."""
    script, max_memory, max_file = sys.argv[1:4]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit(resource.RLIMIT_AS, int(max_memory))
    limit(resource.RLIMIT_FSIZE, int(max_file))
    sys.argv[:] = [script]
    # as if the script had been started by itself
    sys.path[0] = str(Path(script).parent)
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:  # noqa: BLE001
        # from the script on: how it was started concerns nobody
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != script:
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
