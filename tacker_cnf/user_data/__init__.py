"""User data: what tells of which templates and parameters a stack is made."""
