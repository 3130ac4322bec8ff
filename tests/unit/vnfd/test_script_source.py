"""Analysis of scripts without running them."""

import ast
import concurrent.futures
import time
from pathlib import Path

import fixtures
import testtools

from tacker_cnf.vnfd import script_source

#: a line whose syntax tree is deep
DEEP = "x = [[{'a': (1, [2, {'b': [i for i in range(3)]}])}]]\n"
CLASS = "class Driver:\n    def heal_end(self): ...\n"
ACTS = (
    "Driver.main()",
    "if __name__ == '__main__':\n    Driver.main()",
    "try:\n    Driver().heal_end()\nexcept OSError:\n    raise",
    "result = Driver()",
    "import vendor_lib\nresult = vendor_lib.run('instantiate')",
    "import vendor\nVERSION: str = vendor.Hooks()['instantiate']()",
    "count = 0\ncount += vendor.run()",
    "os.environ['HOME'] = '/'",
    "if vendor.run():\n    pass",
    "for one in vendor.run():\n    pass",
    "path = os.environ.get(vendor.run())",
    "@atexit.register\ndef main(): pass",
    "class Other:\n    result = vendor.run()",
    "items = [vendor.run(one) for one in (1, 2)]",
    "for one in (1, 2):\n    print(one)",
    "with open('x') as file:\n    file.read()",
    "raise SystemExit(0)",
    "open('x', 'w')",
)
IDLE = (
    "",
    "import logging\nLOG = logging.getLogger(__name__)",
    "if __name__ == '__main__':\n    pass",
    "try:\n    import pickle\nexcept ImportError:\n    pickle = None",
    "'a last word'",
    "VERSION: str = '1'",
    "import re\nNAME = re.compile('[a-z]+')",
    "HERE = pathlib.Path(__file__).parent / 'more'",
    "HOME = os.path.join(os.environ.get('HOME', '/'), 'x')",
    "NAMES = frozenset({'a'} | set(['b']))",
    "class Other:\n    'Doc.'\n    kind = 1\n    @log.log\n    def end(self): ...",
    "if 1:\n    pass\n" + "elif 0:\n    pass\n" * 300,
    "def main(): pass\nif __name__ == '__main__':\n    NAME = 'a'",
)


class EntryTest(testtools.TestCase):
    def test_scripts_with_an_effect(self) -> None:
        for end in ACTS:
            tree = ast.parse(f"'''Doc.'''\nimport os\n{CLASS}{end}\n")
            self.assertFalse(script_source.does_nothing(tree), end)

    def test_scripts_without_an_effect(self) -> None:
        for end in IDLE:
            tree = ast.parse(f"'''Doc.'''\nimport os\n{CLASS}{end}\n")
            self.assertTrue(script_source.does_nothing(tree), end)

    def test_unknown_code_counts_as_having_an_effect(self) -> None:
        for text in ("", "import impl", "from impl import *", "'''Doc.'''"):
            self.assertFalse(script_source.does_nothing(ast.parse(text)), text)


class Cycle:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0.001)


class TestParse(testtools.TestCase):
    def test_threads_parse_at_once(self) -> None:
        script = Path(self.useFixture(fixtures.TempDir()).path) / "script.py"
        script.write_text(DEEP * 100)

        def parse(_: int) -> int:
            Cycle()
            return len(script_source.parse(script).body)

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            sizes = set(threads.map(parse, range(400)))
        self.assertEqual({100}, sizes)
