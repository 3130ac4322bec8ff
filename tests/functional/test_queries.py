"""Filters, selectors and pages of the lists, over HTTP."""

import re
from typing import Any
from urllib import parse

import testtools

from tests.fixtures.vnfm import FAKE_VIM, Response, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
LISTS = (INSTANCES, OP_OCCS, PACKAGES)
SECRET_VIM = {
    "vim1": FAKE_VIM["vim1"]
    | {"accessInfo": {"username": "me", "password": "hunter2"}}
}


class QueryTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def get(self, path: str, *flags: str, **query: str) -> Response:
        text = "&".join((*flags, parse.urlencode(query)))
        return self.vnfm.call("GET", f"{path}?{text}")

    def get_json(self, path: str, *flags: str, **query: str) -> Any:
        response = self.get(path, *flags, **query)
        self.assertEqual(200, response.status, response.content.decode())
        return response.json

    def ids(self, path: str, text: str) -> list[str]:
        return [r["id"] for r in self.get_json(path, filter=text)]

    def refused(self, path: str, *flags: str, **query: str) -> str:
        response = self.get(path, *flags, **query)
        self.assertEqual(400, response.status, response.content.decode())
        self.assertEqual("application/problem+json", response.type)
        return response.detail

    def create_named(self, vnfd_id: str, name: str, **more: Any) -> str:
        body = {"vnfdId": vnfd_id, "vnfInstanceName": name, **more}
        return str(self.vnfm.call("POST", INSTANCES, body).json["id"])


class TestFilters(QueryTest):
    def test_of_instances(self) -> None:
        up = self.vnfm.create_instantiated(vimConnectionInfo=SECRET_VIM)
        vnfd = self.vnfm.instance(up)["vnfdId"]
        a = self.create_named(
            vnfd, "it's a, b", metadata={"x/y": 5, "t": ["u"]}
        )
        b = self.create_named(vnfd, "B")
        # a filter and the instances that it finds
        cases = [
            (f"(eq,id,{a})", [a]),
            (f"(in,id,{a},{b})", [a, b]),
            ("(eq,vnfInstanceName,'it''s a, b')", [a]),
            ("(cont,vnfInstanceName,B)", [b]),
            ("(neq,vnfInstanceName,B)", [a]),
            (f"(eq,vnfdId,{vnfd})", [up, a, b]),
            ("(eq,instantiationState,INSTANTIATED)", [up]),
            ("(neq,instantiationState,INSTANTIATED)", [a, b]),
            ("(eq,instantiationState,SOMETHING_NEW)", []),
            ("(gt,metadata/x~1y,4)", [a]),
            ("(eq,metadata/t,u)", [a]),
            ("(eq,metadata/@key,t)", [a]),
            ("(eq,vimConnectionInfo/@key,vim1)", [up]),
            ("(eq,vimConnectionInfo/vim1/vimType,fake)", [up]),
            ("(eq,instantiatedVnfInfo/flavourId,simple)", [up]),
            ("(gte,instantiatedVnfInfo/scaleStatus/scaleLevel,0)", [up]),
            ("(cont,_links/terminate/href,/terminate)", [up]),
            (f"(eq,vnfdId,{vnfd});(gt,metadata/x~1y,4)", [a]),
            (f"(eq,id,{b});(gt,metadata/x~1y,4)", []),
        ]
        for text, expected in cases:
            self.assertEqual(expected, self.ids(INSTANCES, text), text)
            short = self.ids("/v2/vnf_instances", text)
            self.assertEqual(expected, short, text)

    def test_an_attribute_of_the_filter_is_not_shown(self) -> None:
        self.vnfm.create_instantiated()
        text = "(eq,vimConnectionInfo/@key,vim1)"
        (shown,) = self.get_json(INSTANCES, filter=text)
        self.assertNotIn("vimConnectionInfo", shown)

    def test_of_op_occs(self) -> None:
        instance = self.vnfm.create_instantiated()
        down = {"terminationType": "FORCEFUL"}
        terminate = self.vnfm.run(instance, "terminate", down)
        (instantiate,) = self.get_json(
            OP_OCCS, filter="(eq,operation,INSTANTIATE)"
        )
        start_time = instantiate["startTime"]
        both = [instantiate["id"], terminate["id"]]
        cases = [
            ("(eq,operation,TERMINATE)", both[1:]),
            ("(in,operation,TERMINATE,INSTANTIATE)", both),
            ("(eq,operationState,COMPLETED)", both),
            (f"(eq,vnfInstanceId,{instance})", both),
            (f"(eq,grantId,{instantiate['grantId']})", both[:1]),
            (f"(gte,startTime,{start_time})", both),
            (f"(lt,startTime,{start_time})", []),
            ("(eq,isAutomaticInvocation,false)", both),
            ("(eq,isCancelPending,true)", []),
            ("(eq,operationParams/flavourId,simple)", both[:1]),
            (
                "(neq,resourceChanges/affectedVnfcs/changeType,REMOVED)",
                both[:1],
            ),
        ]
        for text, expected in cases:
            self.assertEqual(expected, self.ids(OP_OCCS, text), text)

    def test_of_packages(self) -> None:
        vnfd = self.vnfm.onboard()
        empty = self.vnfm.call(
            "POST", PACKAGES, {"userDefinedData": {"a": {"b": [1, 2]}}}
        ).json["id"]
        (used,) = self.ids(PACKAGES, f"(eq,vnfdId,{vnfd})")
        self.assertEqual([], self.ids(PACKAGES, "(eq,usageState,IN_USE)"))
        self.vnfm.create(vnfd)
        checksum = self.vnfm.call("GET", f"{PACKAGES}/{used}").json["checksum"]
        cases = [
            ("(eq,onboardingState,CREATED)", [empty]),
            ("(eq,operationalState,ENABLED)", [used]),
            ("(eq,usageState,IN_USE)", [used]),
            ("(eq,usageState,NOT_IN_USE)", [empty]),
            ("(cont,vnfProductName,i)", [used]),
            ("(neq,vnfProductName,i)", [used]),
            (f"(eq,checksum/hash,{checksum['hash']})", [used]),
            ("(eq,userDefinedData/a/b,2)", [empty]),
            ("(cont,additionalArtifacts/artifactPath,pod.yaml)", [used]),
        ]
        for text, expected in cases:
            self.assertEqual(expected, self.ids(PACKAGES, text), text)

    def test_invalid_filters(self) -> None:
        cases = [
            (
                "(eq,id",
                "filter: expected ',' but the filter ends, at position 7.",
            ),
            ("", "filter: expected '(' but the filter ends, at position 1."),
            ("(eq,nope,1)", "has no attribute nope."),
            ("(eq,id/x,1)", "has no attribute id/x."),
            ("(eq,_links,1)", "_links is a structure; use one of its"),
        ]
        for path in LISTS:
            for text, why in cases:
                self.assertIn(why, self.refused(path, filter=text))
            self.assertEqual(
                "filter: the parameter occurs 2 times; use it once.",
                self.refused(
                    path, "filter=(eq,id,1)", filter="(eq,_links/self/href,x)"
                ),
            )

    def test_no_filter_reveals_a_secret(self) -> None:
        self.vnfm.create_instantiated(vimConnectionInfo=SECRET_VIM)
        access = "vimConnectionInfo/vim1/accessInfo"
        for path, name in (
            (INSTANCES, f"{access}/password"),
            (INSTANCES, f"{access}/username"),
            (INSTANCES, f"{access}/@key"),
            (OP_OCCS, f"operationParams/{access}/password"),
        ):
            for op in ("eq", "cont", "lt", "neq"):
                detail = self.refused(path, filter=f"({op},{name},hunter2)")
                self.assertIn(f"{name} may contain a secret", detail)
                self.assertNotIn("hunter2", detail)


class TestSelectors(QueryTest):
    def names(self, path: str, *flags: str, **query: str) -> set[str]:
        (shown,) = self.get_json(path, *flags, **query)
        return set(shown)

    def test_of_instances(self) -> None:
        instance_id = self.vnfm.create_instantiated()
        full = self.vnfm.instance(instance_id)
        complex_ones = {"vimConnectionInfo", "instantiatedVnfInfo"}
        complex_ones |= {
            "vnfConfigurableProperties",
            "extensions",
            "metadata",
        } & full.keys()
        brief = full.keys() - complex_ones
        names = self.names
        self.assertEqual(brief, names(INSTANCES))
        self.assertEqual(brief, names(INSTANCES, "exclude_default"))
        self.assertEqual([full], self.get_json(INSTANCES, "all_fields"))
        self.assertEqual([full], self.get_json(INSTANCES, "all_fields="))
        vims = {"vimConnectionInfo"}
        self.assertEqual(
            brief | vims, names(INSTANCES, fields="vimConnectionInfo")
        )
        self.assertEqual(
            brief | vims,
            names(INSTANCES, "exclude_default", fields="vimConnectionInfo"),
        )
        self.assertEqual(
            full.keys() - vims,
            names(INSTANCES, exclude_fields="vimConnectionInfo,id,_links"),
        )
        (cut,) = self.get_json(
            INSTANCES, fields="instantiatedVnfInfo/vnfcResourceInfo/id"
        )
        info = cut["instantiatedVnfInfo"]
        self.assertEqual(
            {"flavourId", "vnfState", "vnfcResourceInfo"}, info.keys()
        )
        for vnfc in info["vnfcResourceInfo"]:
            self.assertEqual(
                set(), vnfc.keys() - {"id", "vduId", "computeResource"}
            )

    def test_of_op_occs(self) -> None:
        self.vnfm.create_instantiated()
        omitted = {"operationParams", "resourceChanges", "timeline"}
        brief = self.names(OP_OCCS)
        full = self.names(OP_OCCS, "all_fields")
        self.assertEqual(omitted, full - brief)
        # as the openstack command sends it
        for name in ("exclude-fields", "exclude_fields"):
            self.assertEqual(
                full - {"resourceChanges"},
                self.names(OP_OCCS, **{name: "resourceChanges"}),
            )

    def test_of_packages(self) -> None:
        self.vnfm.onboard()
        omitted = {"checksum", "additionalArtifacts"}
        brief = self.names(PACKAGES)
        self.assertEqual(omitted, self.names(PACKAGES, "all_fields") - brief)
        self.assertEqual(
            {"checksum"}, self.names(PACKAGES, fields="checksum") - brief
        )

    def test_no_selector_shows_a_secret(self) -> None:
        self.vnfm.create_instantiated(vimConnectionInfo=SECRET_VIM)
        access = "vimConnectionInfo/vim1/accessInfo"
        for path, fields in (
            (INSTANCES, access),
            (INSTANCES, f"{access}/password"),
            (OP_OCCS, f"operationParams/{access}/password"),
        ):
            for response in (
                self.get(path, "all_fields"),
                self.get(path, fields=fields),
                self.get(path, "exclude_default", fields=fields),
                self.get(path, exclude_fields="vnfSnapshotInfoId")
                if path == OP_OCCS
                else self.get(path, exclude_fields="metadata"),
            ):
                self.assertEqual(
                    200, response.status, response.content.decode()
                )
                self.assertIn(b"vim1", response.content)
                self.assertNotIn(b"hunter2", response.content)

    def test_invalid_selectors(self) -> None:
        for path in LISTS:
            for flags, query, why in (
                (("all_fields",), {"fields": "id"}, "exclude each other"),
                (("all_fields", "exclude_default"), {}, "exclude each other"),
                (
                    (),
                    {"fields": "id", "exclude_fields": "id"},
                    "exclude each other",
                ),
                ((), {"fields": "nope"}, "has no attribute 'nope'"),
                ((), {"exclude_fields": "id/x"}, "has no attribute 'id/x'"),
                ((), {"exclude-fields": "no"}, "has no attribute 'no'"),
                ((), {"all_fields": "no"}, "all_fields takes no value"),
                (("fields=id",), {"fields": "id"}, "occurs 2 times"),
                (
                    ("exclude_fields=id",),
                    {"exclude-fields": "id"},
                    "occurs twice",
                ),
            ):
                self.assertIn(why, self.refused(path, *flags, **query))

    def test_unknown_parameters_are_ignored(self) -> None:
        for path in LISTS:
            self.assertEqual([], self.get_json(path, "what", all_feelds="1"))


class TestPages(QueryTest):
    def setUp(self) -> None:
        super().setUp()
        self.vnfd = self.vnfm.onboard()

    def page_size(self, size: int) -> None:
        self.vnfm.conf.set_override("page_size", size, "api")

    def next(self, response: Response) -> str | None:
        """Read the Link header as the openstack command does."""
        link = response.headers.get("Link")
        if link is None:
            return None
        (url,) = re.findall("<(.*)>", link)
        self.assertEqual(["next"], re.findall('rel="(.*)"', link))
        self.assertTrue(url.startswith("http://localhost/"), url)
        path, _, query = url.removeprefix("http://localhost").partition("?")
        query_string = parse.urlencode(parse.parse_qs(query), doseq=True)
        return f"{path}?{query_string}"

    def pages(self, path: str, between: Any = None) -> list[list[Any]]:
        found = []
        following: str | None = path
        while following:
            response = self.vnfm.call("GET", following)
            self.assertEqual(200, response.status, response.content.decode())
            found.append(response.json)
            following = self.next(response)
            if between:
                between(response.json)
        return found

    def test_pages_while_resources_are_created_and_deleted(self) -> None:
        created = [self.create_named(self.vnfd, f"n{i}") for i in range(250)]
        added: list[str] = []
        deleted: list[str] = []

        def meanwhile(page: list[Any]) -> None:
            position = created.index(page[-1]["id"]) if page else 0
            # the last resource of this page, and two of later pages
            for deleted_id in created[position : position + 3]:
                response = self.vnfm.call(
                    "DELETE", f"{INSTANCES}/{deleted_id}"
                )
                if response.status == 204:
                    deleted.append(deleted_id)
            if not added:
                added.append(self.create_named(self.vnfd, "late"))

        def first_only(page: list[Any]) -> None:
            if page[-1]["id"] in created:
                meanwhile(page)

        pages = self.pages(INSTANCES, first_only)
        self.assertEqual([100, 100], [len(page) for page in pages[:2]])
        listed = [r["id"] for page in pages for r in page]
        unseen = [i for i in created if i not in listed]
        self.assertEqual(
            [*(i for i in created if i in listed), *added], listed
        )
        self.assertEqual(set(), set(unseen) - set(deleted))
        self.assertEqual(4, len(unseen))

    def test_sizes(self) -> None:
        created = [self.create_named(self.vnfd, f"n{i}") for i in range(6)]
        for size, lengths in (
            (1, [1] * 6),
            (2, [2, 2, 2]),
            (4, [4, 2]),
            (5, [5, 1]),
            (6, [6]),
            (7, [6]),
        ):
            self.page_size(size)
            pages = self.pages(INSTANCES)
            self.assertEqual(lengths, [len(page) for page in pages])
            self.assertEqual(created, [r["id"] for p in pages for r in p])

    def test_pages_are_full_with_a_filter(self) -> None:
        self.page_size(2)
        for number in range(250):
            more = {"metadata": {"n": number}}
            self.create_named(self.vnfd, f"n{number % 2}", **more)
        for text, numbers in (
            ("(gte,metadata/n,243)", range(243, 250)),
            ("(eq,vnfInstanceName,n1);(lt,metadata/n,10)", range(1, 10, 2)),
            (
                "(eq,vnfInstanceName,n0);(in,metadata/n,0,100,248,1)",
                [0, 100, 248],
            ),
            ("(gt,metadata/n,249)", []),
        ):
            query = parse.urlencode({"filter": text, "fields": "metadata"})
            pages = self.pages(f"{INSTANCES}?{query}")
            found = [r["metadata"]["n"] for page in pages for r in page]
            self.assertEqual(list(numbers), found, text)
            for page in pages[:-1]:
                self.assertEqual(2, len(page), text)
            self.assertEqual(max(1, (len(found) + 1) // 2), len(pages))

    def test_the_next_page_has_the_same_query(self) -> None:
        self.page_size(1)
        for _ in range(3):
            self.vnfm.create_instantiated()
        for path in (INSTANCES, "/v2/vnf_instances"):
            for flag in ("all_fields", "all_fields=", "all_fields=true"):
                pages = self.pages(f"{path}?{flag}&x=%C3%BC+%26&y=%3E")
                self.assertEqual(3, len(pages))
                for (instance,) in pages:
                    self.assertIn("vimConnectionInfo", instance)
        text = "/vnflcm/v2/vnf_instances?exclude-fields=metadata&x=%3E%26"
        link = self.vnfm.call("GET", text).headers["Link"]
        self.assertIn("?exclude-fields=metadata&x=%3E%26&nextpage_", link)

    def test_of_each_list(self) -> None:
        self.page_size(1)
        for _ in range(2):
            self.vnfm.create_instantiated()
        full = {INSTANCES: 2, OP_OCCS: 2, PACKAGES: 3}
        for path, count in full.items():
            pages = self.pages(f"{path}?all_fields")
            self.assertEqual([1] * count, [len(page) for page in pages])
            ids = {page[0]["id"] for page in pages}
            self.assertEqual(count, len(ids))

    def test_operations_of_one_second_stay_in_order(self) -> None:
        self.page_size(1)
        instance = self.vnfm.create()
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        expected = []
        for _ in range(2):
            for task, request_body in (
                ("instantiate", body),
                ("terminate", {"terminationType": "FORCEFUL"}),
            ):
                expected.append(
                    self.vnfm.run(instance, task, request_body)["id"]
                )
        pages = self.pages(OP_OCCS)
        self.assertEqual(expected, [page[0]["id"] for page in pages])

    def test_the_endpoint_that_clients_see(self) -> None:
        self.page_size(1)
        endpoint = "https://nfv.example:8443/vnfm"
        self.vnfm.conf.set_override("endpoint", endpoint, "api")
        for _ in range(2):
            self.create_named(self.vnfd, "x")
        link = self.vnfm.call("GET", INSTANCES).headers["Link"]
        self.assertTrue(link.startswith(f"<{endpoint}{INSTANCES}?"), link)

    def test_an_invalid_marker(self) -> None:
        for path in LISTS:
            for marker in ("", "x", "bm90aGluZw"):
                detail = self.refused(path, nextpage_opaque_marker=marker)
                self.assertIn("is not a marker of this list", detail)
            self.assertIn(
                "occurs 2 times",
                self.refused(
                    path,
                    "nextpage_opaque_marker=x",
                    nextpage_opaque_marker="x",
                ),
            )
