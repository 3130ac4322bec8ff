"""Bodies of requests, from the command line."""

import argparse
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf.cli import request_body, task_commands
from tacker_cnf.cli.failures import UsageError


class TestKeyValues(testtools.TestCase):
    def test_values_are_json_or_text(self) -> None:
        for text, value in (
            ("a=b", "b"),
            ("a=", ""),
            ("a=1", 1),
            ('a="1"', "1"),
            ("a=1.20", 1.2),
            ("a=true", True),
            ("a=b=c", "b=c"),
            ('a=["x.yaml"]', ["x.yaml"]),
            ('a={"b": 1}', {"b": 1}),
            ("a=[x", "[x"),
        ):
            self.assertEqual(("a", value), request_body.key_value(text))

    def test_what_is_no_pair(self) -> None:
        for text in ("", "a", "=b"):
            self.assertRaises(
                argparse.ArgumentTypeError, request_body.key_value, text
            )

    def test_scale_levels_of_aspects(self) -> None:
        self.assertEqual(
            {"aspectId": "a=b", "scaleLevel": 2},
            task_commands.aspect_level("a=b=2"),
        )
        for text in ("", "a", "a=", "=1", "a=-1", "a=x"):
            self.assertRaises(
                argparse.ArgumentTypeError, task_commands.aspect_level, text
            )


class TestBuild(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)

    def build(self, text: str | None, *params: str, **attributes: Any) -> Any:
        request = None
        if text is not None:
            request = str(self.folder / "request")
            Path(request).write_text(text)
        args = argparse.Namespace(
            request=request, param=[request_body.key_value(p) for p in params]
        )
        return request_body.build(args, **attributes)

    def test_options_override_the_file(self) -> None:
        text = "flavourId: small\nadditionalParams: {a: 1, b: 2}\n"
        self.assertEqual(
            {"flavourId": "big", "additionalParams": {"a": 1, "b": 3, "c": 4}},
            self.build(text, "b=3", "c=4", flavourId="big"),
        )

    def test_absent_options_are_not_sent(self) -> None:
        self.assertEqual({}, self.build(None, flavourId=None))
        self.assertEqual({"a": 1}, self.build('{"a": 1}', flavourId=None))

    def test_dates_are_texts(self) -> None:
        for date in ("2026-01-01", "2026-01-01T00:00:00Z", "2026-99-99"):
            self.assertEqual({"a": date}, self.build(f"a: {date}"))
            self.assertEqual({date: 1}, self.build(f"{date}: 1"))

    def test_files_without_an_object(self) -> None:
        for text in (
            *("", "[]", "a", "{", "\x00", "[" * 9999),
            *("a: !!binary eA==", "a: .nan", "a: !!set {b}", "a: &b [*b]"),
            *("a: !!timestamp [1]", "? [a]\n: b", "a: !!python/none"),
        ):
            error = self.assertRaises(UsageError, self.build, text)
            self.assertIn(str(self.folder / "request"), str(error))
        self.assertRaises(UsageError, request_body.read, str(self.folder))
