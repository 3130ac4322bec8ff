"""The failures that end a command.

CommandFailed                  exit status 1
+-- RequestRejected            the server answered with an error
|   +-- NotFound               404
+-- ConnectionLost             no response, or not all of it
+-- InvalidResponse            the response is not what the API describes
+-- UsageError                 exit status 2: the command line is wrong
"""

from typing import ClassVar


class CommandFailed(Exception):
    """The command cannot do what it was asked for."""

    exit_status: ClassVar[int] = 1


class RequestRejected(CommandFailed):
    """The server answered with an error.

    :param status: of the HTTP response
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotFound(RequestRejected):
    """The server has no such resource."""


class ConnectionLost(CommandFailed):
    """The server is unreachable, or the connection broke."""


class InvalidResponse(CommandFailed):
    """The server sent something else than the API describes."""


class UsageError(CommandFailed):
    """The command line is wrong."""

    exit_status = 2
