"""Tests that `/docs` shows the whole API and requests nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from bookbound.server.api_page import render_api_page
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_app(ScriptedBackend(make_refusal()), Settings(access_mode="keys")))


def test_the_page_shows_each_endpoint_with_its_summary_fields_and_errors(client: TestClient) -> None:
    page, document = unescape(client.get("/docs").text), client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            start = page.index(f"<h3>{method.upper()} {path}</h3>")
            shown = page[start : page.index("</table>", page.index("<h4>Replies</h4>", start))]
            assert operation["description"].split("\n")[0] in shown
            assert all(f"<td>{status}</td>" in shown for status in operation["responses"])
            reference = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            name = reference["$ref"].rpartition("/")[2] if reference else ""
            fields = document["components"]["schemas"].get(name, {}).get("properties", {})
            assert all(f"<code>{field}</code>" in shown for field in fields)
    assert all(f"id='{name}'" in page for name in document["components"]["schemas"])


def test_every_example_of_the_page_is_a_request_that_works(client: TestClient) -> None:
    examples = re.findall(r"<pre>POST (\S+)\n.*?\n\n(.*?)</pre>", unescape(client.get("/docs").text), re.DOTALL)
    assert {path for path, _ in examples} >= {"/ask", "/chat", "/api/query", "/v1/answers", "/v1/search"}
    public = TestClient(create_app(ScriptedBackend(make_refusal()), Settings()))
    for path, body in examples:
        assert "…" not in body
        assert public.post(path, json=json.loads(body)).status_code == 200


def test_the_page_has_no_script_and_requests_nothing(client: TestClient) -> None:
    response = client.get("/docs")
    assert response.headers["Content-Type"].startswith("text/html")
    assert not re.search(r"<script|<link|<img|<iframe|\bsrc=|@import|url\(|\son\w+=|https?://", response.text)
    style = re.search(r"<style>(.*?)</style>", response.text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
    assert response.headers["Content-Security-Policy"] == policy


def test_texts_of_the_document_are_escaped() -> None:
    schema = {"properties": {"<b>": {"type": "string", "description": "<i>", "minLength": 1, "examples": ["</pre>"]}}}
    operation = {"description": "<u>", "responses": {"200": {"description": "<s>"}}}
    operation["requestBody"] = {"content": {"application/json": {"schema": schema | {"required": ["<b>"]}}}}
    info = {"title": "<em>", "version": "<q>", "description": "<p1>"}
    page = render_api_page({"info": info, "paths": {"/<a>": {"post": operation}}, "components": {"schemas": {}}})
    assert not re.search(r"<(b|i|u|s|em|q|p1|a)>|\"</pre>", page)
    assert "string, 1 or more characters" in page
