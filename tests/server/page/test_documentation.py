"""Runs the scripts of the guide in a real Chromium, and asks the documentation site about itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.docs.blocks import list_blocks
from tests.docs.test_site import DOCS, REPOSITORY, find_tool
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.site_generators import Addresses
from tests.server.page.test_generated_sites import serve_folder
from tests.server.server_process import run_fast_server

from bookbound import bootstrap
from bookbound.settings import Settings

GUIDE = "docs/guides/put-it-on-your-site.md"
SCRIPTS = [block.code for block in list_blocks() if (block.document, block.language) == (GUIDE, "js")]
TAGS = [block.code for block in list_blocks() if (block.document, block.language) == (GUIDE, "html")]


def test_the_scripts_of_the_guide_ask_the_book(tab: Tab, site: BookSite, book_server: str) -> None:
    (tag,), (use_widget, call_api) = TAGS, SCRIPTS
    addresses = Addresses(site.address, book_server, "")
    page = tab.page
    page.goto(site.add("/guide", "<p>Some words.</p>", book_server, script=addresses.fill(tag)))
    page.wait_for_function("Boolean(window.Bookbound)")
    asked = use_widget.replace('Bookbound.ask("', 'const asked = Bookbound.ask("').replace("Bookbound.close();", "")
    status = page.evaluate(f"async () => {{ {asked}\n const reply = await asked; stop(); return reply.status; }}")
    assert status in ("answered", "unsure", "refused")
    page.evaluate("() => { Bookbound.close(); }")
    call = addresses.fill(call_api).replace(', "X-API-Key": ""', "")
    reply = page.evaluate(f"async (question) => {{ {call}\n return reply; }}", "What is a service in ROS 2?")
    assert "A service is a remote function call." in reply["answer"]
    assert reply["citations"][0]["link"].startswith(site.address)


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of the site and of its server, built, indexed and served as `make docs-serve` does it."""
    tool = find_tool()
    if tool is None:
        pytest.skip("Zensical is not installed, so the site cannot be built: make docs")
    folder = tmp_path_factory.mktemp("documentation")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(REPOSITORY / "mkdocs.yml", folder)
    served = (REPOSITORY / "mkdocs-serve.yml").read_text(encoding="utf-8")
    bootstrap.index_book(folder / "docs", Settings(index=folder / "index"))
    (folder / "site").mkdir()
    with (
        serve_folder(folder / "site") as site,
        run_fast_server(folder / "index", BOOKBOUND_ALLOWED_ORIGINS=site) as server,
    ):
        (folder / "mkdocs-serve.yml").write_text(served.replace("http://127.0.0.1:8000", server), encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [tool, "build", "--strict", "--config-file", "mkdocs-serve.yml"]
        subprocess.run(command, cwd=folder, env=clean, check=True, capture_output=True)
        yield site, server


SERVERS = ("documentation", "book_server")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_documentation_answers_from_itself_and_cites_its_pages(
    documentation: tuple[str, str], new_tab: Tab, scheme: str
) -> None:
    site, server = documentation
    tab = new_tab(color_scheme=scheme)  # type: ignore[operator]
    requests: list[str] = []
    tab.page.on("request", lambda request: requests.append(request.url))
    page = tab.open(f"{site}/")
    tab.ask("Which exit code means that a service could not be reached?")
    reply = page.locator(".reply").first
    assert "a service could not be reached" in reply.inner_text()
    page.locator(f"#bookbound-widget[data-scheme={scheme}]").wait_for(state="attached")
    link = page.locator("a.cite").first
    assert re.match(rf"{site}/(reference|guides|internals)/", link.get_attribute("href") or "")
    link.click()
    page.wait_for_url(re.compile(r"/(reference|guides|internals)/"))
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    assert [each for each in requests if not each.startswith((site, server, "data:"))] == []
    assert tab.problems == []
