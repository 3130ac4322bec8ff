"""The bodies of requests, from files and options."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from tacker_cnf.cli.failures import UsageError


class _Loader(yaml.SafeLoader):
    """Loads YAML, with dates as texts."""


def _text(_: _Loader, node: yaml.ScalarNode) -> Any:
    return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all lifecycle operations have."""
    parser.add_argument(
        "--request",
        metavar="FILE",
        help="JSON or YAML with the body of the request, - for the standard "
        "input; options override its attributes",
    )
    add_key_values(
        parser, "--param", "additionalParams of the request; may be repeated"
    )


def add_key_values(
    parser: argparse.ArgumentParser, option: str, help_text: str
) -> None:
    """Add an option for entries of an object."""
    parser.add_argument(
        option,
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=key_value,
        help=f"{help_text}; VALUE may be JSON",
    )


def key_value(text: str) -> tuple[str, Any]:
    """Parse ``KEY=VALUE``: the value is JSON, or else a text."""
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def build(args: argparse.Namespace, **attributes: Any) -> dict[str, Any]:
    """Return the body of a file with the attributes and --param of a command.

    :param attributes: those that are None are left out
    :raises UsageError: the file cannot be read
    """
    body = read(args.request) if args.request else {}
    body |= {name: v for name, v in attributes.items() if v is not None}
    if args.param:
        body["additionalParams"] = {
            **body.get("additionalParams", {}),
            **dict(args.param),
        }
    return body


def require(body: dict[str, Any], **options: str) -> None:
    """Check that a body has attributes.

    :param options: attribute -> the options that set it
    :raises UsageError: some are missing
    """
    missing = [option for name, option in options.items() if name not in body]
    if missing:
        raise UsageError(
            f"{' and '.join(missing)} is missing: add it to the command, or "
            "the attribute to the file of --request."
        )


def read(name: str) -> dict[str, Any]:
    """Read an object from a file of JSON or YAML.

    :raises UsageError: there is none, or a value that JSON does not have
    """
    try:
        text = (
            sys.stdin.read() if name == "-" else Path(name).read_text("utf8")
        )
        body = _Loader(text).get_single_data()
        json.dumps(body, allow_nan=False)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
    except (TypeError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{name} cannot be read: {error}") from None
    if not isinstance(body, dict):
        raise UsageError(f"{name} has no JSON or YAML object.")
    return body
