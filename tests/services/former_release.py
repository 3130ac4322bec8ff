"""The former release of this service, from the history of this repository."""

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import fixtures

from tacker_cnf.db import schema
from tests.services.openstack_command import ROOT

PROGRAMS: Final = ("api", "conductor", "manage")
SCHEMA: Final = "tacker_cnf/db/schema.py"
#: runs a program, and its children, with the modules of another tree
PROGRAM: Final = """\
#!{python}
import os, sys
os.environ["PYTHONPATH"] = {tree!r}
sys.path.insert(0, {tree!r})
from tacker_cnf.cmd.{name} import main
sys.exit(main())
"""


def _git(*arguments: str) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True
    )
    assert not done.returncode, (
        f"git {' '.join(arguments)}: {done.stderr.decode()} The test of "
        "upgrades needs a checkout with the whole history."
    )
    return done.stdout


def find_commit() -> str:
    """Return the commit of the former release: the last tag before this
    commit; without one, the last commit with another schema.
    """
    tags = _git("tag", "--merged", "HEAD^", "--sort=-creatordate")
    if tags:
        return tags.decode().split()[0]
    head = f'HEAD: Final = "{schema.HEAD}"'
    found = _git("log", "--format=%H", "-S", head, "HEAD", "--", SCHEMA)
    # not committed yet: this commit is the former one
    return f"{found.decode().split()[-1]}^" if found else "HEAD"


class FormerRelease(fixtures.Fixture):
    """The modules of the former release, run by this interpreter."""

    def _setUp(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.commit = find_commit()
        content = _git("archive", self.commit, "tacker_cnf")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(folder, filter="data")
        text = (folder / SCHEMA).read_text()
        (self.schema,) = re.findall(
            r'^HEAD: Final = "(\d+)"$', text, re.MULTILINE
        )
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in PROGRAMS:
            program = self.programs / f"tacker-cnf-{name}"
            program.write_text(
                PROGRAM.format(
                    python=sys.executable, tree=str(folder), name=name
                )
            )
            program.chmod(0o755)
