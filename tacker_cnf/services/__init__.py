"""The use cases of the API, one write transaction each."""

from tacker_cnf.db.session import DATABASE_DOWN

__all__ = ["DATABASE_DOWN"]  # any service raises these errors
