"""The templates of the pages."""

import datetime
from collections.abc import Mapping
from typing import Any, Final

import jinja2
import msgspec

from tacker_cnf.web import assets

#: files of a package that a page lists
MAX_FILES: Final = 200
#: state -> its colour; all others are neutral
_COLOURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "COMPLETED",
            "DONE",
            "ENABLED",
            "INSTANTIATED",
            "ONBOARDED",
            "REACHABLE",
            "STARTED",
        ),
        "good",
    ),
    **dict.fromkeys(
        (
            "STARTING",
            "PROCESSING",
            "ROLLING_BACK",
            "IN_PROGRESS",
            "UNFINISHED",
            "UPLOADING",
            "RUNNING",
        ),
        "busy",
    ),
    **dict.fromkeys(("FAILED_TEMP", "FAILED", "ERROR"), "bad"),
    **dict.fromkeys(
        ("ROLLED_BACK", "INTERRUPTED", "STOPPED", "CANCELLING", "LOST"),
        "warn",
    ),
}


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tacker_cnf.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"asset": assets.path_of, "max_files": MAX_FILES}
    environment.filters |= {
        "colour": lambda state: _COLOURS.get(str(state), "plain"),
        "words": _words,
        "json": _json,
        "moment": _moment,
        "seconds": _seconds,
    }
    return environment


def _words(name: str) -> str:
    """Return the name of a constant as words."""
    return str(name).replace("_", " ").capitalize()


def _json(value: Any) -> str:
    """Return a value as JSON for people."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _moment(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _seconds(duration: float) -> str:
    """Return a duration for people."""
    if duration < 60:
        return f"{duration:.1f} s"
    minutes, seconds = divmod(round(duration), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
    )


_ENVIRONMENT: Final = _environment()


def render(name: str, /, **values: Any) -> bytes:
    """Render a template."""
    return _ENVIRONMENT.get_template(name).render(values).encode()
