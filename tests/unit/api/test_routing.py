import testtools

from tacker_cnf import errors
from tacker_cnf.api.routing import Methods, Routes


def methods(name: str, *allowed: str) -> Methods:
    """Build handlers that return their names."""
    return {m: lambda m=m: f"{m} {name}" for m in allowed or ("GET",)}


ROUTES = Routes(
    {
        "/things": methods("all", "GET", "POST"),
        "/things/{id}": methods("one", "GET", "DELETE"),
        "/things/{id}/parts/{path}": methods("part"),
        "/things/special": methods("special"),
        "/v2/things": methods("short"),
    }
)


class TestMatch(testtools.TestCase):
    def test_handlers_are_found(self) -> None:
        cases = [
            ("GET", "things", "GET all", []),
            ("POST", "things", "POST all", []),
            ("GET", "things/7", "GET one", ["7"]),
            ("DELETE", "things/7", "DELETE one", ["7"]),
            # a literal segment takes precedence over a variable
            ("GET", "things/special", "GET special", []),
            ("GET", "things/7/parts/a", "GET part", ["7", "a"]),
            ("GET", "things/7/parts/a/b/c.d", "GET part", ["7", "a/b/c.d"]),
            ("GET", "things/7/parts/../x", "GET part", ["7", "../x"]),
            ("GET", "v2/things", "GET short", []),
        ]
        for method, path, expected_name, variables in cases:
            handler, found, route = ROUTES.match(method, path.split("/"))
            self.assertEqual((expected_name, variables), (handler(), found))
            self.assertEqual(found != [], "{" in route, route)

    def test_an_unknown_path_is_not_found(self) -> None:
        paths = [
            "",
            "other",
            "thing",
            "v2",
            "things/7/parts",
            "things/7/parts/",
            "things/7/other",
            "things//parts/a",
            "/things",
            "things/",
            "things/special/more",
        ]
        for path in paths:
            error = self.assertRaises(
                errors.NotFound, ROUTES.match, "GET", path.split("/")
            )
            self.assertEqual(f"No resource has the path /{path}.", str(error))

    def test_an_unsupported_method_lists_the_others(self) -> None:
        for method in ("PUT", "HEAD", "OPTIONS", "get", ""):
            error = self.assertRaises(
                errors.MethodNotAllowed, ROUTES.match, method, ["things", "7"]
            )
            self.assertEqual([("Allow", "DELETE, GET")], error.headers)
            self.assertEqual(
                f"{method} is not possible here, only DELETE, GET.",
                str(error),
            )
