"""What of the answer of a VIM is shown to users.

A VIM may be any server that a user names. So only the messages of its error
structures are quoted, never other parts of a body or of a status line.
"""

import http
from typing import Final

#: characters of a message
MAX_CHARACTERS: Final = 2000


def quote(message: object) -> str:
    """Return a message as one line of limited length."""
    text = str(message)[: 2 * MAX_CHARACTERS]
    printable = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(printable.split())
    if len(line) <= MAX_CHARACTERS:
        return line
    return line[:MAX_CHARACTERS] + " ..."


def phrase(status: int) -> str:
    """Return the name of an HTTP status, instead of a message."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "no message"
