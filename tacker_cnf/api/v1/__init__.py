"""Version 1 of the lifecycle API: a translation of version 2.

Both versions have the same instances, operations and subscriptions.
"""
