"""The NFVO: who is asked for leave."""
