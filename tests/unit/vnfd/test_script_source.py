"""Analysis of scripts without running them."""

import ast
import concurrent.futures
import time
from pathlib import Path
from unittest import mock

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
        time.sleep(0)  # releases the GIL


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

    def test_a_traceback_in_another_thread_disturbs_the_parser(self) -> None:
        script = Path(self.useFixture(fixtures.TempDir()).path) / "script.py"
        script.write_text("x = 1")
        tree = ast.parse("x = 1")
        with mock.patch.object(
            ast, "parse", autospec=True, side_effect=[SystemError, tree]
        ):
            self.assertIs(tree, script_source.parse(script))

    def test_what_cannot_be_parsed_is_empty(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        script = folder / "script.py"
        self.assertEqual([], script_source.parse(script).body)
        self.assertFalse(script_source.is_inert(script))
        for data in (b"def", b"\0", b"\xff", b"(" * 1000):
            script.write_bytes(data)
            self.assertEqual([], script_source.parse(script).body)
            self.assertFalse(script_source.is_inert(script), data)

    def test_long_scripts_are_not_parsed(self) -> None:
        script = Path(self.useFixture(fixtures.TempDir()).path) / "script.py"
        longest = b"a = 1\n" + b"#" * (1024**2 - 6)
        script.write_bytes(longest)
        self.assertEqual(1, len(script_source.parse(script).body))
        self.assertTrue(script_source.is_inert(script))
        script.write_bytes(longest + b"#")
        self.assertEqual([], script_source.parse(script).body)
        self.assertFalse(script_source.is_inert(script))

    def test_inert_modules(self) -> None:
        script = Path(self.useFixture(fixtures.TempDir()).path) / "script.py"
        for text, expected in (
            ("", True),
            ("import os\ndef f(): os.remove('x')", True),
            ("import os\nos.remove('x')", False),
            ("class A:\n    x = 1\nA", False),
        ):
            script.write_text(text)
            self.assertEqual(expected, script_source.is_inert(script), text)


class TestNames(testtools.TestCase):
    def test_imports_at_any_depth(self) -> None:
        for text, expected in (
            ("x = 1", set()),
            ("import a, b.c as d", {"a", "b.c"}),
            ("from a.b import c, d as e", {"a.b", "a.b.c", "a.b.d"}),
            ("from a import *", {"a", "a.*"}),
            ("from . import a\nfrom .b import c", set()),
            ("from .. import a\nimport b", {"b"}),
            ("def f():\n    if 1:\n        import a", {"a"}),
        ):
            tree = ast.parse(text)
            self.assertEqual(expected, script_source.imports(tree), text)

    def test_methods_of_classes(self) -> None:
        text = (
            "def f(): ...\n"
            "class A:\n"
            "    x = 1\n"
            "    def b(self): ...\n"
            "    async def c(self): ...\n"
            "class D: ...\n"
            "if 1:\n"
            "    class E: ...\n"
        )
        self.assertEqual(
            {"A": {"b", "c"}, "D": set()},
            script_source.classes(ast.parse(text)),
        )

    def test_what_uses_its_own_definitions(self) -> None:
        for text, expected in (
            ("x = 1", False),
            ("def f(): ...", True),
            ("async def f(): ...", True),
            ("class A: ...", True),
            ("def f(): ...\nf", False),
            ("def f(): ...\nx = f", False),
            ("def f(): ...\nx = g", True),
            ("def f(): ...\ndel x[0]", False),
            ("def f(): ...\nx.y = 1", False),
            ("def f(): ...\nx[0] = 1", False),
            ("def f(): ...\ny = x[0].z", True),
            ("def f(): ...\ny = (lambda: 1)()", False),
            ("def f(): ...\ny = a.len(1)", False),
            ("def f(): ...\ny = len([])", True),
            ("class A:\n    def f(self): g()", True),
            ("class A:\n    g()", False),
            ("class A:\n    ...", True),
            ("class A:\n    @g\n    def f(self): ...", True),
            ("class A:\n    class B:\n        g()", False),
            ("class A:\n    class B:\n        def f(self): g()", True),
            ("@g\nclass A: ...", False),
            ("def f(): ...\nwhile 1:\n    pass", True),
            ("def f(): ...\nassert 1", False),
        ):
            tree = ast.parse(text)
            found = script_source.does_nothing(tree)
            self.assertEqual(expected, found, text)
