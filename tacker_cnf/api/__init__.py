"""The HTTP edge: decode, authorise, one call, encode."""
