"""A mutation run; run by ``tools/mutation``.

Puts small faults into the modules of an area, one at a time and in memory
only, and runs the unit tests of the area. A fault that no test notices is a
survivor.
"""

import argparse
import ast
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

import parso
import yaml
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from oslo_service import backend

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED: Final = ROOT / "tests/mutation-survivors.yaml"
#: the part of the faults that has to be noticed, in each area
GOAL: Final = 0.93
#: multiple of the duration without a fault
TIMEOUT_FACTOR: Final = 10
MIN_TIMEOUT_S: Final = 120
#: for an endless loop; the tests of an area need some seconds
MAX_CPU_S: Final = 60
TIMEOUT_SIGNALS: Final = {signal.SIGALRM, signal.SIGXCPU}
MAX_MEMORY_BYTES: Final = 8 * 1024**3
#: replacements that change nothing for enumerations, or compare None by order
_EQUIVALENT: Final = re.compile(
    r"ReplaceComparisonOperator_"
    r"(Eq_Is|NotEq_IsNot|Is_(?!IsNot)\w+|IsNot_(?!Is$)\w+)"
)


@dataclasses.dataclass(frozen=True)
class Area:
    """Modules, and the unit tests that have to notice their faults.

    :param modules: patterns of paths
    :param tests: patterns of paths
    :param sample: how many faults of a run are in this area
    :param excluded_tests: tests that take too long to be run for each fault
    """

    modules: Sequence[str]
    tests: Sequence[str]
    sample: int
    excluded_tests: Sequence[str] = ()


AREAS: Final = {
    "lcm": Area(["tacker_cnf/lcm/*.py"], ["tests/unit/lcm/test_*.py"], 150),
    "vnfd": Area(
        ["tacker_cnf/vnfd/*.py"],
        ["tests/unit/vnfd/test_*.py"],
        150,
        excluded_tests=["tests.unit.vnfd.test_mutations"],
    ),
    "op_occs": Area(
        ["tacker_cnf/db/op_occs.py"], ["tests/unit/db/test_op_occs.py"], 75
    ),
    "claims": Area(
        [
            "tacker_cnf/conductor/claims.py",
            "tacker_cnf/db/lease_set.py",
            "tacker_cnf/db/leases.py",
        ],
        [
            "tests/unit/conductor/test_claims.py",
            "tests/unit/db/test_lease_set.py",
            "tests/unit/db/test_leases.py",
        ],
        75,
    ),
}


class DeleteStatement(Operator):
    """Replaces a statement that acts or returns a value by ``pass``."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "simple_stmt" and _acts(node.children[0]):
            statement = node.children[0]
            yield statement.start_pos, statement.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        first = node.get_first_leaf()
        node.children[0] = parso.python.tree.Keyword(
            "pass", first.start_pos, first.prefix
        )
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("return x\n", "pass\n"), Example("f()\n", "pass\n"))


def _acts(statement: Any) -> bool:
    """Return whether a statement does more than define a variable."""
    if statement.type == "expr_stmt":
        target, operator = statement.children[:2]
        if operator.type == "annassign":
            return False
        return target.type == "atom_expr" or operator.value != "="
    if statement.type == "return_stmt":
        body = statement.parent.parent
        is_last = statement.parent is body.children[-1]
        is_none = statement.children[1].get_code().strip() == "None"
        return not (is_none and is_last and body.parent.type == "funcdef")
    return statement.type in {"atom_expr", "raise_stmt"}


class DeleteArgument(Operator):
    """Deletes a keyword argument from a call."""

    KINDS: ClassVar = {"arglist", "trailer"}

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type in self.KINDS:
            for argument in self._arguments(node):
                yield argument.start_pos, argument.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        argument = self._arguments(node)[index]
        at = node.children.index(argument)
        # with the comma behind it, if any
        del node.children[at : at + (2 if node.type == "arglist" else 1)]
        return node

    @staticmethod
    def _arguments(node: Any) -> list[Any]:
        return [
            child
            for child in node.children
            if child.type == "argument" and child.children[1] == "="
        ]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("f(a=1)", "f()"),
            Example("f(a, b=1, c=2)", "f(a, c=2)"),
        )


def find_operators() -> dict[str, Operator]:
    """Return the operators: name -> operator."""
    found: dict[str, Operator] = {
        "DeleteStatement": DeleteStatement(),
        "DeleteArgument": DeleteArgument(),
    }
    for full_name in plugins.operator_names():
        name = full_name.removeprefix("core/")
        operator = plugins.get_operator(full_name)
        if not operator.arguments() and not _EQUIVALENT.fullmatch(name):
            found[name] = operator()
    return found


OPERATORS: Final = find_operators()


@dataclasses.dataclass(frozen=True, order=True)
class Fault:
    """One small change of a module."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    operator: str
    #: of the operator in the module, counted from 0
    occurrence: int

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")

    def apply(self) -> str:
        """Return the source with the fault."""
        source = (ROOT / self.path).read_text()
        operator = OPERATORS[self.operator]
        code = mutate_code(source, operator, self.occurrence)
        if code is None:
            raise ValueError(f"No such fault: {self}")
        return str(code)

    def is_valid(self) -> bool:
        """Return whether the source with the fault is Python at all."""
        try:
            compile(self.apply(), self.path, "exec")
        except (AttributeError, SyntaxError):  # the first of Cosmic Ray
            return False
        return True

    def describe(self) -> tuple[str, str]:
        """Return the lines before and after the change."""
        old = (ROOT / self.path).read_text().splitlines()
        new = self.apply().splitlines()
        first, last = self.start[0] - 1, self.end[0]
        return (
            " ".join(" ".join(old[first:last]).split()),
            " ".join(
                " ".join(new[first : last + len(new) - len(old)]).split()
            ),
        )


def find_faults(path: str) -> Iterator[Fault]:
    """List the faults that a module can have."""
    source = (ROOT / path).read_text()
    lines = source.splitlines()
    excluded = list(_excluded(ast.parse(source)))
    nodes = list(ast_nodes(get_ast(source)))
    for name, operator in OPERATORS.items():
        places = (at for n in nodes for at in operator.mutation_positions(n))
        for occurrence, (start, end) in enumerate(places):
            # the * of keyword-only parameters is no product
            star = lines[start[0] - 1][start[1] :].startswith("*,")
            if not star and not any(
                a <= start and end <= b for a, b in excluded
            ):
                yield Fault(path, start, end, name, occurrence)


def _excluded(tree: ast.Module) -> Iterator[tuple[Any, Any]]:
    """List what no test has to notice: annotations, log calls, assertions
    that narrow types, and options of classes.
    """
    for node in ast.walk(tree):
        for found in _excluded_parts(node):
            yield (
                (found.lineno, found.col_offset),
                (found.end_lineno, found.end_col_offset),
            )


def _excluded_parts(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.FunctionDef) and node.returns:
        yield node.returns
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield node.annotation
    if isinstance(node, ast.Assert):
        yield node
    if isinstance(node, ast.ClassDef):
        yield from (*node.keywords, *node.decorator_list)
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        if text.startswith("LOG.") or text == "TypeVar":
            yield node


def choose(paths: Iterable[str], size: int, seed: int) -> list[Fault]:
    """Choose places at random, and one fault of each.

    :param size: of the sample; 0: all faults of all places
    """
    places: dict[Any, list[Fault]] = {}
    for path in paths:
        for fault in find_faults(path):
            place = (path, fault.start, fault.end)
            places.setdefault(place, []).append(fault)
    if size == 0:
        faults = [fault for faults in places.values() for fault in faults]
        return sorted(fault for fault in faults if fault.is_valid())
    rng = random.Random(seed)
    chosen: list[Fault] = []
    for place in rng.sample(sorted(places), len(places)):
        faults = rng.sample(places[place], len(places[place]))
        chosen += itertools.islice(filter(Fault.is_valid, faults), 1)
        if len(chosen) == size:
            break
    return sorted(chosen)


class FaultyModule(importlib.machinery.SourceFileLoader):
    """Imports a module with a fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.module, str(ROOT / fault.path))
        self._source = fault.apply()

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002
        return compile(self._source, self.path, "exec", dont_inherit=True)

    def find_spec(self, fullname: str, *_: Any) -> Any:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self
        )


def fork(function: Callable[[], bool], timeout: int = 0) -> int:
    """Run a function in a child process; return its process id. Its exit
    status is 0 if the function returns True.
    """
    pid = os.fork()
    if not pid:
        _run_child(function, timeout)
    return pid


def _run_child(function: Callable[[], bool], timeout: int) -> NoReturn:
    status = 1
    try:
        signal.alarm(timeout)
        if timeout:
            limits = (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES)
            resource.setrlimit(resource.RLIMIT_AS, limits)
            resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S + 1))
        status = int(not function())
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def passes(tests: Iterable[str], *, quiet: bool) -> bool:
    """Run tests until one fails; return whether none did."""
    if quiet:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
    for test in tests:
        suite = unittest.defaultTestLoader.loadTestsFromName(test)
        runner = unittest.TextTestRunner(verbosity=0, failfast=True)
        if not runner.run(suite).wasSuccessful():
            return False
    return True


def passes_with(fault: Fault, tests: Iterable[str]) -> bool:
    """Run tests of a module with a fault; return whether none failed."""
    sys.meta_path.insert(0, FaultyModule(fault))  # type: ignore[arg-type]
    return passes(tests, quiet=True)


def measure(tests: Iterable[str]) -> dict[str, float]:
    """Return test module -> seconds that it takes.

    :raises SystemExit: a test fails without a fault
    """
    found = {}
    for test in tests:
        start = time.monotonic()
        fork(lambda name=test: passes([name], quiet=True))
        if os.wait()[1]:
            passes([test], quiet=False)
            sys.exit(f"{test} fails without a fault")
        found[test] = time.monotonic() - start
    return found


class Unavailable(importlib.abc.MetaPathFinder):
    """Lets imports of some modules fail."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = frozenset(modules)

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname in self._modules:
            raise ImportError(fullname)


def preload(tests: Sequence[str], modules: Iterable[str]) -> None:
    """Import, for all child processes, what does not import the modules that
    can have a fault.
    """
    readable, writable = os.pipe()

    def report() -> bool:
        for test in tests:
            importlib.import_module(test)
        with os.fdopen(writable, "w") as file:
            file.write("\n".join(sys.modules))
        return True

    fork(report)
    os.close(writable)
    with os.fdopen(readable) as file:
        names = file.read().split("\n")
    os.wait()
    finder = Unavailable(modules)
    sys.meta_path.insert(0, finder)
    # as tacker_cnf.rpc does, before another module selects a backend
    backend.init_backend(backend.BackendType.THREADING)
    for name in names:
        # it may be part of a circle of imports
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    sys.meta_path.remove(finder)


def run_faults(
    faults: Sequence[Fault], durations: dict[str, float], jobs: int
) -> Iterator[tuple[Fault, int]]:
    """Run the tests with each fault; list the wait statuses (0: survivor)."""
    timeout = max(MIN_TIMEOUT_S, int(TIMEOUT_FACTOR * sum(durations.values())))
    running: dict[int, Fault] = {}
    for fault in [*faults, *[None] * jobs]:
        if len(running) == jobs or (running and fault is None):
            pid, status = os.wait()
            yield running.pop(pid), status
        if fault is not None:
            if fault.module in sys.modules:
                raise RuntimeError(f"{fault.module} was imported too early")
            tests = order(durations, fault)
            pid = fork(lambda f=fault, t=tests: passes_with(f, t), timeout)
            running[pid] = fault


def order(durations: dict[str, float], fault: Fault) -> list[str]:
    """Order tests: those that name the module first, then by duration."""
    name = fault.module.rpartition(".")[2]

    def key(test: str) -> tuple[bool, float]:
        path = ROOT / f"{test.replace('.', '/')}.py"
        return name not in path.read_text(), durations[test]

    return sorted(durations, key=key)


def load_explained() -> set[tuple[str, str, str]]:
    """Return the survivors that tests need not notice: path, and the lines
    before and after the change.

    :raises SystemExit: a line has changed
    """
    entries = yaml.safe_load(EXPLAINED.read_text()) or []
    for entry in entries:
        text = " ".join((ROOT / entry["file"]).read_text().split())
        if entry["before"] not in text:
            sys.exit(
                f"{EXPLAINED}: {entry['before']} is no longer in its file"
            )
    return {
        (entry["file"], entry["before"], after)
        for entry in entries
        for after in entry["after"]
    }


def expand(patterns: Iterable[str], suffix: str = ".py") -> list[str]:
    """Return the files that match; with a suffix of "", as modules."""
    found = {
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in ROOT.glob(pattern)
    }
    if suffix:
        return sorted(found)
    return sorted(p.removesuffix(".py").replace("/", ".") for p in found)


def run_area(
    name: str,
    paths: Sequence[str],
    args: argparse.Namespace,
    explained: set[tuple[str, str, str]],
) -> bool:
    """Run the tests of an area on a sample; return whether they notice
    enough.
    """
    start = time.monotonic()
    area = AREAS[name]
    tests = [
        test
        for test in expand(area.tests, suffix="")
        if test not in area.excluded_tests
    ]
    preload(tests, expand(area.modules, suffix=""))
    durations = measure(tests)
    size = area.sample if args.sample is None else args.sample
    faults = choose(paths, size, args.seed)
    counted = [
        fault
        for fault in faults
        if (fault.path, *fault.describe()) not in explained
    ]
    survived = timed_out = 0
    for fault, status in run_faults(counted, durations, args.jobs):
        timed_out += os.WTERMSIG(status) in TIMEOUT_SIGNALS
        if status:
            continue
        survived += 1
        before, after = fault.describe()
        print(f"{fault.path}:{fault.start[0]}: {fault.operator}")
        print(f"  - {before}\n  + {after}", flush=True)
    noticed = len(counted) - survived
    rate = noticed / max(len(counted), 1)
    print(
        f"{name}: {noticed} of {len(counted)} faults noticed ({rate:.1%}), "
        f"{timed_out} of them by a time-out, {len(faults) - len(counted)} explained, seed {args.seed}, "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    return rate >= GOAL


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/mutation")
    parser.add_argument(
        "selection",
        nargs="*",
        metavar="AREA|FILE",
        help=f"default: {' '.join(AREAS)}",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sample", type=int, help="faults of each area; 0: all"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    selection = set(args.selection or AREAS)
    files = {path for area in AREAS.values() for path in expand(area.modules)}
    if unknown := selection - files - set(AREAS):
        parser.error(f"in no area: {' '.join(sorted(unknown))}")
    passed = True
    explained = load_explained()
    with tempfile.TemporaryDirectory(
        prefix="mutation-"
    ) as temporary_directory:
        tempfile.tempdir = temporary_directory
        for name, area in AREAS.items():
            paths = expand(area.modules)
            if name not in selection:
                paths = [path for path in paths if path in selection]
            if paths:
                # each imports other modules in advance
                fork(lambda n=name, p=paths: run_area(n, p, args, explained))
                passed &= not os.wait()[1]
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
