"""The programs: the only places that choose the concrete parts."""
