"""Tests the built script and module of the widget: they are up to date, small, and any site may load them."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bookbound.domain import reply
from bookbound.server.app import create_app
from bookbound.server.page import MODULE_FILE, WIDGET_FILE
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

SOURCES = Path(__file__).resolve().parents[3] / "widget"
MAX_COMPRESSED_BYTES = 40_000
both_files = pytest.mark.parametrize("file", [WIDGET_FILE, MODULE_FILE], ids=lambda file: file.name)


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_app(ScriptedBackend(make_refusal()), Settings(access_mode="keys")))


def hash_sources() -> str:
    """The hash that `widget/vite.config.js` writes into the built file."""
    names = [f"src/{file.name}" for file in (SOURCES / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted([*names, "package-lock.json", "vite.config.js"]):
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    return digest.hexdigest()


@both_files
def test_the_built_file_is_made_from_the_sources(file: Path) -> None:
    found = re.match(r"/\*.*sha256 ([0-9a-f]{64}) \*/\n", file.read_text(encoding="utf-8"))
    assert found
    assert found[1] == hash_sources(), "The widget is stale. Build it again: make widget"


@pytest.mark.parametrize(
    "message",
    [
        reply.NOT_IN_BOOK_MESSAGE,
        reply.NOT_IN_SELECTION_MESSAGE,
        reply.UNSURE_MESSAGE,
        reply.UNSURE_SELECTION_MESSAGE,
        reply.PARTIAL_ANSWER_MESSAGE,
        reply.PARTIAL_SELECTION_ANSWER_MESSAGE,
        reply.MISSING_PARTS_MESSAGE,
    ],
)
def test_each_language_translates_what_the_server_says(message: str) -> None:
    strings = (SOURCES / "src" / "strings.ts").read_text(encoding="utf-8")
    assert strings.count(f'"{message.removesuffix("{}")}":') == 3


@both_files
def test_the_widget_is_under_40_kilobytes(file: Path) -> None:
    assert len(gzip.compress(file.read_bytes())) < MAX_COMPRESSED_BYTES


@both_files
def test_the_widget_never_parses_html_and_names_no_other_host(file: Path) -> None:
    script = file.read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "eval(",
        "new Function",
    ):
        assert word not in script
    assert set(re.findall(r"https?://[\w.-]+", script)) == {"http://www.w3.org"}


def test_the_lock_file_names_no_registry() -> None:
    assert "://" not in re.sub(r'"url": "[^"]*"', "", (SOURCES / "package-lock.json").read_text(encoding="utf-8"))


@both_files
def test_every_site_may_load_the_widget_without_a_key(client: TestClient, file: Path) -> None:
    response = client.get(f"/{file.name}", headers={"Origin": "https://any.example"})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    assert response.content == file.read_bytes()


def test_a_browser_that_has_the_widget_is_told_so(client: TestClient) -> None:
    first = client.get("/widget.js")
    assert "max-age" in first.headers["cache-control"]
    again = client.get("/widget.js", headers={"If-None-Match": f"W/{first.headers['etag']}"})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/widget.js", headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_widget_is_compressed_only_on_request(client: TestClient) -> None:
    assert client.get("/widget.js").headers["content-encoding"] == "gzip"
    assert "content-encoding" not in client.get("/widget.js", headers={"Accept-Encoding": "identity"}).headers
