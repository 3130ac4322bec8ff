"""Draw the path of a request from the code.

``.. request-path::`` shows the functions that a request to heal a VNF passes,
by process, with the first line of the docstring of each. The build fails if
one of them does not exist.
"""

import html
import importlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH: Final = 860
ROW: Final = 46
BOX: Final = 38
COLORS: Final = {
    "process": "#f3f6fa",
    "line": "#5b6b7d",
    "text": "#1c2733",
    "contract": "#dcebdc",
    "transaction": "#f6e7cf",
    "box": "#ffffff",
}


class Station(NamedTuple):
    """A function on the path."""

    #: module in tacker_cnf, and name in it
    path: str
    #: box, contract or transaction
    kind: str = "box"


PATH: Final[Sequence[tuple[str, Sequence[Station]]]] = (
    (
        "API server",
        (
            Station("api.vnf_instances:VnfInstances.start_operation"),
            Station("services.operations:OperationService.start"),
            Station("lcm.operations.base:Operation.change"),
            Station("drivers.base:InfraDriver.plan", "contract"),
            Station("db.op_occs:add", "transaction"),
        ),
    ),
    (
        "conductor",
        (
            Station("conductor.claims:Claims.acquire", "transaction"),
            Station("lcm.operations.base:Operation.change"),
            Station("conductor.runner:Runner.run"),
            Station("conductor.steps:Steps.plan"),
            Station("drivers.base:InfraDriver.plan", "contract"),
            Station("drivers.base:InfraDriver.execute", "contract"),
            Station("lcm.resource_changes:between"),
            Station("db.op_occs:record", "transaction"),
        ),
    ),
    (
        "dispatcher",
        (Station("notification.dispatcher:Dispatcher"),),
    ),
)
#: what leads from a process to the next one
LINKS: Final = (
    "202, and a message that wakes a conductor",
    "notifications, in the outbox",
)


def summary(station: Station) -> str:
    """Return the first line of a function's docstring."""
    module_name, _, name = station.path.partition(":")
    found: Any = importlib.import_module(f"tacker_cnf.{module_name}")
    for part in name.split("."):
        found = getattr(found, part)
    doc = inspect.getdoc(found)
    if not doc:
        raise ValueError(f"{station.path} has no docstring")
    first = doc.partition("\n\n")[0]
    return first.replace("\n", " ").replace("``", "")


def draw() -> Iterator[str]:
    """Yield the lines of the SVG."""
    rows = sum(len(stations) + 1 for _, stations in PATH) + len(LINKS)
    height = rows * ROW + 10
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" style="max-width:100%" '
        'font-family="sans-serif" font-size="13">'
    )
    yield "<title>The path of a request</title>"
    y = 5
    for number, (process, stations) in enumerate(PATH):
        bottom = (len(stations) + 1) * ROW
        yield rectangle(5, y, WIDTH - 10, bottom, "process")
        yield text(18, y + 24, process, bold=True)
        for station in stations:
            y += ROW
            yield rectangle(18, y - 6, WIDTH - 36, BOX, station.kind)
            name = station.path.replace(":", " ")
            yield text(28, y + 9, name, bold=True)
            yield text(28, y + 25, summary(station))
        y += ROW
        if number < len(LINKS):
            yield text(40, y + 28, f"\N{DOWNWARDS ARROW} {LINKS[number]}")
            y += ROW
    yield "</svg>"


def rectangle(x: int, y: int, width: int, height: int, kind: str) -> str:
    """Return a rectangle with round corners."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" '
        f'fill="{COLORS[kind]}" stroke="{COLORS["line"]}"/>'
    )


def text(x: int, y: int, content: str, *, bold: bool = False) -> str:
    """Return a line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" fill="{COLORS["text"]}"{weight}>'
        f"{html.escape(content)}</text>"
    )


class RequestPath(SphinxDirective):
    """The picture of the path."""

    def run(self) -> list[nodes.Node]:
        """Return the document nodes."""
        return [nodes.raw("", "\n".join(draw()), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("request-path", RequestPath)
    return {"version": "1", "parallel_read_safe": True}
