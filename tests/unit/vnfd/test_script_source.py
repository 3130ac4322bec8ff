"""Analysis of scripts without running them."""

import ast

import testtools

from tacker_cnf.vnfd import script_source

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
