"""Types are compiled before threads decode values of them."""

import subprocess
import sys
from typing import Final

import testtools

#: types that refer to each other, decoded by four threads concurrently
PROGRAM: Final = """
import sys, threading, types
import msgspec
from tacker_cnf.sol import base

sys.setswitchinterval(1e-6)
for count in range(40):
    module = sys.modules["made"] = types.ModuleType("made")
    for kind in range(20):
        lines = [f"class S{kind}(msgspec.Struct):"]
        for field in range(8):
            other = (kind + field + 1) % 20
            lines.append(f"    f{field}: 'dict[str, S{other}] | None' = None")
        exec("\\n".join(["import msgspec", *lines]), module.__dict__)
    if sys.argv[1:]:
        base.precompile_types()
    barrier = threading.Barrier(4)

    def read():
        barrier.wait()
        base.decode(b'{"f0": {"a": {"f1": {"b": {}}}}}', module.S0)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("read")
"""


class TestPrepare(testtools.TestCase):
    def test_threads_can_decode_types_concurrently(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, "prepared"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        self.assertEqual((0, "read\n"), (ended.returncode, ended.stdout))
