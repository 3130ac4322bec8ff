"""VIM drivers: each makes its VIM match a target."""
