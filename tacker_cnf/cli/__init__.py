"""tacker-cnf: the command line client of the REST API."""
