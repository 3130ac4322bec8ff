"""User data of version 1 of the API of Tacker."""
