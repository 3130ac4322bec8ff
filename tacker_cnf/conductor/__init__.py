"""The conductor: takes operations through their steps."""
