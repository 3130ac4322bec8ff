"""Configuration: one module for each option group, nothing global."""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_log import log

from tacker_cnf.conf import opts


def new() -> cfg.ConfigOpts:
    """Create the configuration of a process, with all options registered."""
    conf = cfg.ConfigOpts()
    for group, options in opts.OPTION_GROUPS.items():
        conf.register_opts(
            options, group=None if group == "DEFAULT" else group
        )
    conf.register_opts(db_options.database_opts, group="database")
    log.register_options(conf)
    return conf


def load(
    args: Sequence[str], conf: cfg.ConfigOpts | None = None
) -> cfg.ConfigOpts:
    """Parse the command line and the configuration files it names.

    :raises oslo_config.cfg.Error: an option is unknown or has a bad value
    """
    conf = conf or new()
    conf(args, project="tacker_cnf", version=opts.VERSION)
    return conf
