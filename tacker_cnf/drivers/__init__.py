"""VIM drivers: each changes its VIM to match a target."""
