"""Show the progress of an operation: live on a terminal, else line by line."""

from collections.abc import Iterator
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tacker_cnf.cli import op_text
from tacker_cnf.cli.op_types import OpOcc, ProgressResource, Step

#: status or outcome -> its symbol and style
_MARKS: Final = {
    "COMPLETED": ("✓", "green"),
    "DONE": ("✓", "green"),
    "FAILED": ("✗", "red"),
    "INTERRUPTED": ("!", "yellow"),
}
_RUNNING: Final = ("●", "cyan")
REFRESHES_PER_SECOND: Final = 4
#: columns of a line that is not on a terminal; it is not wrapped
MAX_WIDTH: Final = 10_000


class Display(Protocol):
    """Shows each state of an operation."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def show(self, op_occ: OpOcc) -> None: ...


def open_console(stream: TextIO) -> Console:
    """Return a console that prints texts as they are."""
    is_terminal = stream.isatty()
    return Console(
        file=stream,
        force_terminal=is_terminal,
        width=None if is_terminal else MAX_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )


def open_display(stream: TextIO, title: str) -> Display:
    """Return what shows an operation on this stream."""
    console = open_console(stream)
    is_live = console.is_terminal and not console.is_dumb_terminal
    return (LiveDisplay if is_live else LineDisplay)(console, title)


class LineDisplay:
    """A line for each change."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._shown: OpOcc | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, op_occ: OpOcc) -> None:
        for change in op_text.changes(self._shown, op_occ):
            took = op_text.duration(op_occ)
            if change.at:
                took = op_text.elapsed(op_occ.start_time, change.at)
            self._console.print(
                f"{took:>8}  {op_occ.operation} of {self._title}: "
                f"{change.text}"
            )
        self._shown = op_occ


class LiveDisplay:
    """The steps and the resources, refreshed in place."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._shown: OpOcc | None = None
        self._live = Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=REFRESHES_PER_SECOND,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, op_occ: OpOcc) -> None:
        self._shown = op_occ
        self._live.refresh()

    def _render(self) -> RenderableType:
        if self._shown is None:
            return Text()
        # what is above the resources, and a line for those that do not fit
        rows = self._console.height - len(self._shown.timeline) - 3
        return render(self._shown, self._title, max(rows, 1))


def render(op_occ: OpOcc, title: str, max_resources: int) -> RenderableType:
    """Return the steps, and the resources of the last one."""
    parts: list[RenderableType] = [_heading(op_occ, title)]
    if not op_occ.timeline:
        return Group(*parts, Text(f"  {op_occ.progress}"))
    steps = Table.grid(padding=(0, 2))
    for step in op_occ.timeline:
        steps.add_row(*_step_cells(step))
    parts.append(steps)
    parts += _resources(op_occ.timeline[-1], max_resources)
    return Group(*parts)


def _heading(op_occ: OpOcc, title: str) -> Text:
    took = op_text.duration(op_occ)
    text = Text(f"{op_occ.operation} of {title}  ")
    text.append(op_occ.operation_state, style="bold")
    text.append(f"  {took}")
    if op_occ.is_cancel_pending:
        text.append(f"  {op_text.CANCEL_PENDING}", style="yellow")
    return text


def _step_cells(step: Step) -> Iterator[Text]:
    yield _mark(step.outcome)
    yield Text(op_text.step_name(step))
    yield Text(op_text.count(step))
    yield Text(
        op_text.elapsed(step.start_time, step.end_time or op_text.now())
    )
    yield Text(op_text.step_message(step), overflow="ellipsis", no_wrap=True)


def _mark(status: str | None) -> Text:
    symbol, style = _MARKS.get(status or "", _RUNNING)
    return Text(symbol, style=style)


def _resources(step: Step, limit: int) -> Iterator[RenderableType]:
    # what is in progress or has failed is of more interest
    ordered = sorted(step.resources, key=lambda r: r.status == "DONE")
    if ordered:
        table = Table.grid(padding=(0, 2))
        for resource in ordered[:limit]:
            table.add_row(*_resource_cells(resource))
        yield table
    if len(ordered) > limit:
        yield Text(f"    and {len(ordered) - limit} more")


def _resource_cells(resource: ProgressResource) -> Iterator[Text]:
    yield Text("  ") + _mark(resource.status)
    yield Text(op_text.resource_name(resource), no_wrap=True)
    yield Text(
        op_text.elapsed(
            resource.start_time, resource.end_time or op_text.now()
        )
    )
    yield Text(resource.message, overflow="ellipsis", no_wrap=True)
