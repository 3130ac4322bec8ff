"""VIM drivers: each changes its VIM to make a change."""
