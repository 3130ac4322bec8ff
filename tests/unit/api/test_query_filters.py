import datetime
from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.api import filters, matching
from tacker_cnf.sol.base import DateTime, SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc
from tests.factories import NOW


class Part(SolType):
    id: int
    color: str | None = None
    tags: tuple[str, ...] = ()
    parts: tuple["Part", ...] = ()


class Thing(SolType):
    id: str
    name: str | None = None
    weight: float | None = None
    level: int | None = None
    ready: bool | None = None
    made_at: DateTime | None = None
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = msgspec.field(default_factory=dict)
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    best: Part | None = None


THING = Thing(
    id="one",
    name="Söme, (náme)",
    weight=1.5,
    level=100,
    ready=True,
    made_at=NOW,
    parts=(
        Part(id=1, color="red", tags=("a", "b")),
        Part(id=2, color="green", tags=("c",)),
    ),
    by_name={"x": Part(id=3, color="blue"), "a/b,c": Part(id=4)},
    data={
        "text": "5",
        "number": 5,
        "half": 0.5,
        "yes": True,
        "none": None,
        "list": [1, "two", False, {"deep": "er"}],
        "map": {"@key": "at", "~": "tilde"},
    },
)

MATCHING = [
    # strings
    "(eq,id,one)",
    "(neq,id,two)",
    "(in,id,two,one)",
    "(nin,id,two,three)",
    "(gt,id,on)",
    "(gte,id,one)",
    "(lt,id,onf)",
    "(lte,id,one)",
    "(cont,id,n)",
    "(cont,id,z,ne)",
    "(cont,id,)",
    "(ncont,id,z,on )",
    "(eq,name,'Söme, (náme)')",
    "(cont,name,'(')",
    "(neq,name,'söme, (náme)')",
    "(gt,name,Soz)",
    # numbers
    "(eq,weight,1.5)",
    "(eq,weight,15e-1)",
    "(eq,level,100)",
    "(eq,level,100.0)",
    "(neq,level,101)",
    "(in,level,99,100)",
    "(nin,level,99,101)",
    "(gt,level,99)",
    "(gt,level,99.9)",
    "(gt,level,-100)",
    "(gte,level,100)",
    "(lt,level,1000)",
    "(lte,level,100)",
    # booleans
    "(eq,ready,true)",
    "(neq,ready,false)",
    "(in,ready,true,false)",
    "(nin,ready,false)",
    # dates
    "(eq,madeAt,2026-11-20T12:00:00Z)",
    "(eq,madeAt,2026-11-20T21:00:00+09:00)",
    "(neq,madeAt,2026-11-20T12:00:00.5Z)",
    "(gt,madeAt,2026-11-20T11:59:59.999Z)",
    "(gte,madeAt,2026-11-20T12:00:00Z)",
    "(lt,madeAt,2026-11-20T12:00:00.001Z)",
    "(lte,madeAt,2026-11-20T12:00:00Z)",
    "(in,madeAt,2026-11-20T12:00:00Z,2027-11-20T12:00:00Z)",
    "(nin,madeAt,2027-11-20T12:00:00Z)",
    # arrays: one matching element is enough
    "(eq,parts/color,red)",
    "(eq,parts/color,green)",
    "(neq,parts/color,red)",
    "(nin,parts/color,red,blue)",
    "(ncont,parts/color,ee)",
    "(gt,parts/id,1)",
    "(eq,parts/tags,b)",
    "(eq,parts/tags,a);(eq,parts/tags,b)",
    "(eq,parts/color,red);(eq,parts/id,1)",
    "(eq,parts/color,red);(eq,parts/tags,b)",
    # maps
    "(eq,byName/x/color,blue)",
    "(eq,byName/a~1b~ac/id,4)",
    "(eq,byName/@key,x)",
    "(neq,byName/@key,x)",
    "(cont,byName/@key,'b,c')",
    # attributes of any type
    "(eq,data/text,5)",
    "(cont,data/text,5)",
    "(gt,data/text,'10')",
    "(eq,data/number,5)",
    "(eq,data/number,5.0)",
    "(neq,data/number,five)",
    "(nin,data/number,five,6)",
    "(lt,data/number,10)",
    "(gte,data/half,0.5)",
    "(eq,data/yes,true)",
    "(neq,data/yes,false)",
    "(neq,data/yes,1)",
    "(eq,data/list,1)",
    "(eq,data/list,two)",
    "(eq,data/list,false)",
    "(eq,data/list/deep,er)",
    "(eq,data/map/~bkey,at)",
    "(eq,data/map/~0,tilde)",
    "(eq,data/map/@key,~)",
    "(eq,data/@key,half)",
    # all have to match
    "(eq,id,one);(gt,level,5);(eq,parts/color,red);(eq,data/yes,true)",
]
OTHERS = [
    "(eq,id,One)",
    "(eq,id,one )",
    "(neq,id,one)",
    "(in,id,two,three)",
    "(nin,id,two,one)",
    "(gt,id,one)",
    "(gte,id,onf)",
    "(lt,id,one)",
    "(lte,id,on)",
    "(cont,id,N)",
    "(ncont,id,z,n)",
    "(eq,weight,1.6)",
    "(gt,level,100)",
    "(gt,level,1e3)",
    "(lt,level,99)",
    "(eq,ready,false)",
    "(eq,madeAt,2026-11-20T12:00:00.5Z)",
    "(gt,madeAt,2026-11-20T12:00:00Z)",
    "(lt,madeAt,2026-11-20T12:00:00+02:00)",
    "(eq,parts/color,blue)",
    "(eq,parts/color,red);(eq,parts/id,2)",
    "(eq,parts/tags,a);(eq,parts/tags,c)",
    "(eq,byName/y/color,blue)",
    "(eq,byName/@key,y)",
    # an absent attribute matches nothing, whatever the operator
    *(f"({op},best/color,x)" for op in ("eq", "neq", "in", "nin", "ncont")),
    *(f"({op},data/nothing,x)" for op in ("eq", "neq", "nin", "ncont")),
    *(f"({op},data/none,x)" for op in ("eq", "neq", "nin", "ncont")),
    "(neq,byName/a~1b~ac/color,x)",
    "(neq,parts/parts/color,x)",
    # an operator that does not apply to the type of the value
    "(gt,data/yes,false)",
    "(cont,data/number,5)",
    "(ncont,data/number,6)",
    "(gt,data/number,four)",
    "(eq,data/yes,1)",
    "(eq,data/number,true)",
    "(eq,data/map,at)",
    "(neq,data/map,at)",
    "(eq,data/text/deeper,5)",
    "(eq,id,one);(eq,id,two)",
]
#: a filter that is invalid for a Thing, and the reason
REFUSED = [
    ("(eq,nope,x)", "Thing has no attribute nope."),
    ("(eq,made_at,x)", "Thing has no attribute made_at."),
    ("(eq,Id,x)", "Thing has no attribute Id."),
    ("(eq,@key,x)", "Thing has no attribute @key."),
    ("(eq,id/x,x)", "Thing has no attribute id/x."),
    ("(eq,parts/nope,x)", "Thing has no attribute parts/nope."),
    ("(eq,parts/0/id,x)", "Thing has no attribute parts/0/id."),
    ("(eq,parts/@key,x)", "Thing has no attribute parts/@key."),
    ("(eq,byName/x/nope,x)", "Thing has no attribute byName/x/nope."),
    ("(eq,parts,x)", "parts is a structure; use one of its attributes."),
    ("(eq,byName,x)", "byName is a structure; use one of its attributes."),
    ("(eq,byName/x,x)", "byName/x is a structure; use one of its attributes."),
    ("(eq,data,x)", "data is a structure; use one of its attributes."),
    ("(eq,level,x)", "level is a number, not 'x'."),
    ("(eq,level,)", "level is a number, not ''."),
    ("(eq,level,nan)", "level is a number, not 'nan'."),
    ("(eq,level,1_0)", "level is a number, not '1_0'."),
    ("(eq,ready,True)", "ready is a boolean, not 'True'."),
    ("(eq,ready,1)", "ready is a boolean, not '1'."),
    ("(eq,madeAt,2026-11-20)", "madeAt is a date, not '2026-11-20'."),
    (
        "(eq,madeAt,2026-11-20T12:00:00)",
        "madeAt is a date, not '2026-11-20T12:00:00'.",
    ),
    (
        "(eq,madeAt,0001-01-01T00:00:00+14:00)",
        "madeAt is a date, not '0001-01-01T00:00:00+14:00'.",
    ),
    (
        "(gt,madeAt,9999-12-31T23:59:59Z)",
        "madeAt is a date, not '9999-12-31T23:59:59Z'.",
    ),
    ("(in,level,1,x)", "level is a number, not '1', 'x'."),
    ("(gt,ready,true)", "gt does not apply to ready, which is a boolean."),
    ("(cont,level,1)", "cont does not apply to level, which is a number."),
    ("(ncont,madeAt,1)", "ncont does not apply to madeAt, which is a date."),
]
#: filters by which a client could guess a secret
SECRETS = [
    (VnfInstance, "vimConnectionInfo/vim1/accessInfo/password"),
    (VnfInstance, "vimConnectionInfo/vim1/accessInfo/username"),
    (VnfInstance, "vimConnectionInfo/vim1/accessInfo/@key"),
    (VnfInstance, "vimConnectionInfo/vim1/interfaceInfo/clientSecret"),
    (VnfInstance, "vimConnectionInfo/accessInfo/accessInfo/x"),
    (VnfInstance, "vimConnectionInfo/vim1/interfaceInfo/ki/length"),
    (
        VnfLcmOpOcc,
        "operationParams/vimConnectionInfo/vim1/accessInfo/username",
    ),
    (VnfLcmOpOcc, "changedInfo/vimConnectionInfo/vim1/accessInfo/x"),
]


class TestMatches(testtools.TestCase):
    def test_every_operator_on_every_type(self) -> None:
        shown = msgspec.to_builtins(THING)
        for expected, texts in ((True, MATCHING), (False, OTHERS)):
            for text in texts:
                parsed = filters.parse(text, Thing)
                self.assertEqual(expected, parsed.matches(shown), text)

    def test_an_empty_filter_matches(self) -> None:
        self.assertTrue(matching.Filter().matches({}))

    def test_an_absent_attribute_does_not_match(self) -> None:
        shown = msgspec.to_builtins(Thing(id="bare"))
        for text in (*MATCHING, *OTHERS):
            if "," + "id," not in text:
                matches = filters.parse(text, Thing).matches(shown)
                self.assertFalse(matches, text)


class TestParse(testtools.TestCase):
    def rejection(self, text: str, kind: Any) -> str:
        error = self.assertRaises(
            errors.InvalidFilter, filters.parse, text, kind
        )
        return str(error)

    def test_filters_that_the_type_does_not_support_are_rejected(self) -> None:
        for text, why in REFUSED:
            self.assertEqual(f"filter: {why}", self.rejection(text, Thing))

    def test_filters_on_secrets_are_rejected(self) -> None:
        for kind, name in SECRETS:
            self.assertEqual(
                f"filter: {name} may contain a secret and cannot be filtered by.",
                self.rejection(f"(cont,{name},x)", kind),
            )

    def test_a_hidden_value_never_matches(self) -> None:
        shown = {"extensions": {"ki": "***", "site": "a"}}
        for text in (
            "(eq,extensions/ki,***)",
            "(neq,extensions/ki,x)",
            "(in,extensions/ki,***)",
            "(nin,extensions/ki,x)",
            "(gt,extensions/ki,!)",
            "(lt,extensions/ki,z)",
            "(cont,extensions/ki,*)",
            "(ncont,extensions/ki,x)",
        ):
            parsed = filters.parse(text, VnfInstance)
            self.assertFalse(parsed.matches(shown), text)
        parsed = filters.parse("(eq,extensions/site,a)", VnfInstance)
        self.assertTrue(parsed.matches(shown))

    def test_filters_on_attributes_beside_secrets_are_allowed(self) -> None:
        info = VimConnectionInfo(
            vim_type="fake", interface_info={"endpoint": "https://x"}
        )
        shown = {"vimConnectionInfo": {"vim1": msgspec.to_builtins(info)}}
        for text in (
            "(eq,vimConnectionInfo/vim1/vimType,fake)",
            "(cont,vimConnectionInfo/vim1/interfaceInfo/endpoint,://)",
        ):
            parsed = filters.parse(text, VnfInstance)
            self.assertTrue(parsed.matches(shown), text)


class TestSplit(testtools.TestCase):
    def test_columns_are_compared_by_the_database(self) -> None:
        parsed = filters.parse(
            "(eq,id,x);(gt,level,1);(eq,data/level,1);(lt,madeAt,"
            "2026-11-20T12:00:00Z)",
            Thing,
        )
        comparisons, left = parsed.split({"id", "made_at", "data"})
        self.assertEqual(
            [
                ("id", "eq", ("x",)),
                ("made_at", "lt", (NOW.astimezone(datetime.UTC),)),
            ],
            [msgspec.structs.astuple(c) for c in comparisons],
        )
        self.assertEqual({"level", "data"}, left.attributes)
        self.assertTrue(left.matches({"level": 2, "data": {"level": 1}}))
        self.assertFalse(left.matches({"level": 1, "data": {"level": 1}}))
