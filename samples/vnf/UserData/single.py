"""The user data of flavour single: each VNFC is a resource of its own."""

from tacker_cnf.user_data.standard import StandardUserData


class SingleUserData(StandardUserData):
    """As StandardUserData, with nothing to add."""
