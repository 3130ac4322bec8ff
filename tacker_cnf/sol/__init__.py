"""ETSI NFV-SOL data types by clause; no I/O."""
