import itertools

import testtools

from tacker_cnf import errors
from tacker_cnf.api import filter_syntax

# a filter; its operator, the names before the last one, the last, the values
GOOD: list[tuple[str, str, tuple[str, ...], str | None, tuple[str, ...]]] = [
    ("(eq,a,x)", "eq", (), "a", ("x",)),
    ("(neq,a/b/c,x)", "neq", ("a", "b"), "c", ("x",)),
    ("(in,a,x,y,z)", "in", (), "a", ("x", "y", "z")),
    ("(nin,a,x)", "nin", (), "a", ("x",)),
    ("(gt,a,1)", "gt", (), "a", ("1",)),
    ("(gte,a,1)", "gte", (), "a", ("1",)),
    ("(lt,a,1)", "lt", (), "a", ("1",)),
    ("(lte,a,1)", "lte", (), "a", ("1",)),
    ("(cont,a,x,y)", "cont", (), "a", ("x", "y")),
    ("(ncont,a,x,y)", "ncont", (), "a", ("x", "y")),
    # values
    ("(eq,a,)", "eq", (), "a", ("",)),
    ("(eq,a,'')", "eq", (), "a", ("",)),
    ("(eq,a,'''')", "eq", (), "a", ("'",)),
    ("(eq,a,'x,y')", "eq", (), "a", ("x,y",)),
    ("(eq,a,'x);(y')", "eq", (), "a", ("x);(y",)),
    ("(eq,a,'it''s')", "eq", (), "a", ("it's",)),
    ("(eq,a,'''x''')", "eq", (), "a", ("'x'",)),
    ("(in,a,'x,','y)',z)", "in", (), "a", ("x,", "y)", "z")),
    ("(eq,a,x;y)", "eq", (), "a", ("x;y",)),
    ("(eq,a,(x)", "eq", (), "a", ("(x",)),
    ("(eq,a, x )", "eq", (), "a", (" x ",)),
    ("(eq,a,ü~1/@)", "eq", (), "a", ("ü~1/@",)),
    # names
    ("(eq,a~1b,x)", "eq", (), "a/b", ("x",)),
    ("(eq,a~0b,x)", "eq", (), "a~b", ("x",)),
    ("(eq,a~ab,x)", "eq", (), "a,b", ("x",)),
    ("(eq,~bkey,x)", "eq", (), "@key", ("x",)),
    ("(eq,~01,x)", "eq", (), "~1", ("x",)),
    ("(eq,a/~b~1~0~a/c,x)", "eq", ("a", "@/~,"), "c", ("x",)),
    ("(eq,a/@key,x)", "eq", ("a",), None, ("x",)),
    ("(eq,a/~bkey/b,x)", "eq", ("a", "@key"), "b", ("x",)),
    ("(eq,a (b),x)", "eq", (), "a (b)", ("x",)),
]

# a malformed filter, the error, and its position
BAD = [
    ("", "expected '(' but the filter ends", 1),
    ("eq,a,x", "expected '(' but found 'e'", 1),
    ("(", "unknown operator ''", 2),
    ("()", "unknown operator ''", 2),
    ("(eq)", "expected ',' but found ')'", 4),
    ("(EQ,a,x)", "unknown operator 'EQ'", 2),
    ("(like,a,x)", "unknown operator 'like'", 2),
    ("(eq,a)", "expected ',' but the filter ends", 7),
    ("(eq,a);(eq,b,x)", "expected ',' and a value but found ')'", 6),
    ("(eq,,x)", "expected the name of an attribute", 5),
    ("(eq,a/,x)", "expected the name of an attribute", 7),
    ("(eq,/a,x)", "expected the name of an attribute", 5),
    ("(eq,a//b,x)", "expected the name of an attribute", 7),
    ("(eq,a~,x)", "unknown escape; use ~0, ~1, ~a or ~b", 6),
    ("(eq,ab~2,x)", "unknown escape; use ~0, ~1, ~a or ~b", 7),
    ("(eq,a/b~c,x)", "unknown escape; use ~0, ~1, ~a or ~b", 8),
    ("(eq,a/@key/b,x)", "nothing may follow @key", 11),
    ("(eq,a,x", "expected ')' but the filter ends", 8),
    ("(eq,a,x)(eq,b,x)", "expected ';' but found '('", 9),
    ("(eq,a,x);", "expected '(' but the filter ends", 10),
    ("(eq,a,x,y)", "eq takes one value, found another", 8),
    ("(lte,a,1,2)", "lte takes one value, found another", 9),
    ("(eq,a,'x)", "the quoted value has no closing quote", 7),
    ("(eq,a,'x''y)", "the quoted value has no closing quote", 7),
    ("(eq,a,'x'y)", "expected ')' but found 'y'", 10),
    ("(eq,a,it's)", "a value that contains a quote must be quoted", 9),
    ("(eq,a,x) ;(eq,b,y)", "expected ';' but found ' '", 9),
    ("(eq,a,\0)", "NUL is not allowed", 7),
    ("(eq,a\0,x)", "NUL is not allowed", 6),
]


class TestParse(testtools.TestCase):
    def test_one_expression(self) -> None:
        for text, *expected in GOOD:
            (found,) = filter_syntax.parse(text)
            self.assertEqual(
                expected,
                [found.op, found.prefix, found.leaf, found.values],
                text,
            )

    def test_several_expressions(self) -> None:
        texts = [case[0] for case in GOOD]
        for first, second in itertools.product(texts, texts):
            self.assertEqual(
                filter_syntax.parse(first) + filter_syntax.parse(second),
                filter_syntax.parse(f"{first};{second}"),
            )

    def test_position_of_an_error(self) -> None:
        for text, what, position in BAD:
            error = self.assertRaises(
                errors.InvalidFilter, filter_syntax.parse, text
            )
            self.assertIn(f"filter: {what}", str(error), text)
            self.assertTrue(
                str(error).endswith(f", at position {position}."),
                f"{text}: {error}",
            )

    def test_position_of_an_error_in_the_second_expression(self) -> None:
        for text, _, position in BAD:
            if not text:
                continue
            error = self.assertRaises(
                errors.InvalidFilter, filter_syntax.parse, f"(eq,a,x);{text}"
            )
            self.assertTrue(
                str(error).endswith(f" {position + 9}."), f"{text}: {error}"
            )

    def test_a_long_filter_is_parsed_quickly(self) -> None:
        values = ",".join(["'x''y'"] * 20_000)
        (found,) = filter_syntax.parse(f"(in,a,{values})")
        self.assertEqual(("x'y",) * 20_000, found.values)
