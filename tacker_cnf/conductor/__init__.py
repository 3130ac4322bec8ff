"""The conductor: runs the steps of lifecycle operations."""
