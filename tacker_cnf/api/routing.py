"""Find the handler of a path and a method in a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from tacker_cnf import errors

Handler = Callable[..., Any]
Methods = Mapping[str, Handler]

PATH_SEGMENT: Final = "{id}"
REMAINING_PATH: Final = "{path}"


class Routes:
    """A table of paths; ``{id}`` matches one segment, ``{path}`` the rest."""

    def __init__(self, table: Mapping[str, Methods]) -> None:
        self._root: dict[str, Any] = {}
        for path, methods in table.items():
            node = self._root
            for segment in path.strip("/").split("/"):
                node = node.setdefault(segment, {})
            node[""] = path, methods

    def match(
        self, method: str, segments: Sequence[str]
    ) -> tuple[Handler, list[str], str]:
        """Return the handler, the variable segments, and the path of the
        table.

        :raises NotFound: no route has this path
        :raises MethodNotAllowed: the path does not have this method
        """
        (path, methods), variables = self._find(segments)
        handler = methods.get(method)
        if handler is None:
            raise errors.MethodNotAllowed(method, methods)
        return handler, variables, path

    def _find(
        self, segments: Sequence[str]
    ) -> tuple[tuple[str, Methods], list[str]]:
        node, variables = self._root, []
        for number, segment in enumerate(segments):
            if segment in node and segment not in {
                "",
                PATH_SEGMENT,
                REMAINING_PATH,
            }:
                node = node[segment]
            elif PATH_SEGMENT in node and segment:
                node = node[PATH_SEGMENT]
                variables.append(segment)
            elif REMAINING_PATH in node and segment:
                variables.append("/".join(segments[number:]))
                return node[REMAINING_PATH][""], variables
            else:
                _raise_not_found(segments)
        if "" not in node:
            _raise_not_found(segments)
        return node[""], variables


def _raise_not_found(segments: Sequence[str]) -> NoReturn:
    raise errors.NotFound(f"No resource has the path /{'/'.join(segments)}.")
