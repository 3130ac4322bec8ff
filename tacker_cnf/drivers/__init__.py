"""VIM drivers: each makes the changes on its type of VIM."""
