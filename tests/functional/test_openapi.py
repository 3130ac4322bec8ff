"""GET /openapi.json."""

from typing import Any, ClassVar

import webob

from tests.functional import test_http

PATH = "/openapi.json"


class TestDocument(test_http.HttpTest):
    def test_it_needs_no_version(self) -> None:
        request = webob.Request.blank(PATH)
        response = request.get_response(self.vnfm.app)
        self.assertEqual(200, response.status_int)
        self.assertEqual("application/json", response.content_type)
        self.assertEqual("3.1.1", response.json["openapi"])

    def test_without_an_endpoint_the_server_is_the_request_host(
        self,
    ) -> None:
        document = self.call("GET", PATH).json
        self.assertEqual([{"url": "/"}], document["servers"])

    def test_without_keystone_there_is_no_token(self) -> None:
        document = self.call("GET", PATH).json
        self.assertNotIn("security", document)
        self.assertNotIn("securitySchemes", document["components"])

    def test_it_is_the_same_each_time(self) -> None:
        first = self.call("GET", PATH).content
        self.assertEqual(first, self.call("GET", PATH).content)


class TestDocumentBehindAProxy(test_http.HttpTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "api": {"endpoint": "https://vnfm.example/nfv"}
    }

    def test_the_server_is_the_endpoint(self) -> None:
        document = self.call("GET", PATH).json
        self.assertEqual(
            [{"url": "https://vnfm.example/nfv"}], document["servers"]
        )


class TestDocumentWithKeystone(test_http.HttpTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "api": {"auth_strategy": "keystone"}
    }

    def test_it_documents_the_token_and_is_public(self) -> None:
        document = self.call("GET", PATH).json
        self.assertEqual([{"keystone": []}], document["security"])
        scheme = document["components"]["securitySchemes"]["keystone"]
        self.assertEqual("X-Auth-Token", scheme["name"])
        itself = document["paths"][PATH]["get"]
        self.assertEqual([], itself["security"])
        self.assertNotIn("401", itself["responses"])
