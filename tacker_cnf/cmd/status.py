"""tacker-cnf-status: whether this release can replace the former one.

``tacker-cnf-status upgrade check`` is the command of all OpenStack services.
"""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from oslo_config import cfg
from oslo_policy import opts as policy_opts
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from tacker_cnf import conf as configuration
from tacker_cnf.cmd import start
from tacker_cnf.cmd.doctor import files, options, peers, workload
from tacker_cnf.cmd.doctor.findings import Check, Finding, Level, run
from tacker_cnf.db import schema, session
