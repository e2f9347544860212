"""Tests the widget as a module: what a site with code of its own mounts and removes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.site_generators import Addresses, read_snippets
from tests.server.page.test_widget_file import SOURCES

MODULE = '<script type="module">import {{ mount }} from "{}/widget.mjs"; Object.assign(window, {{ mount }})</script>'
REACT = """
export function useEffect(effect) {
  const cleanUp = effect();
  cleanUp();  // as React's strict mode does
  window.cleanUp = effect();
}
"""
CONSUMER = """
import { mount, type Bookbound, type Reply } from "bookbound-widget";
const bookbound: Bookbound = mount({ server: "https://ask.book.example", key: "k", position: "left" });
const stop: () => void = bookbound.on("reply", (reply: Reply) => console.log(reply.status));
// @ts-expect-error: the server is required
mount({ key: "k" });
stop();
export const cleanUp: () => void = bookbound.unmount;
"""


@pytest.fixture
def page(tab: Tab, site: BookSite, server: str) -> Page:
    """A page that has loaded the module and not mounted anything."""
    tab.page.goto(site.add("/module", "<p>Some words.</p>", server, script=MODULE.format(server)))
    tab.page.wait_for_function("Boolean(window.mount)")
    return tab.page


def test_a_mounted_widget_answers_and_tells_the_page(tab: Tab, page: Page, server: str) -> None:
    page.evaluate("(server) => { window.bookbound = mount({ server, color: 'rgb(170, 0, 0)' }) }", server)
    assert page.locator(".launcher").evaluate("(each) => getComputedStyle(each).backgroundColor") == "rgb(170, 0, 0)"
    page.evaluate("() => void bookbound.on('reply', (reply) => { window.outcome = reply.status })")
    assert page.evaluate("bookbound.ask('Does it walk?').then((reply) => reply.answer)") == "It walks."
    assert page.evaluate("outcome") == "answered"
    assert tab.problems == []


def test_an_unmounted_widget_leaves_nothing_and_can_be_mounted_again(tab: Tab, page: Page, server: str) -> None:
    page.evaluate("(server) => { window.bookbound = mount({ server }) }", server)
    page.evaluate("bookbound.ask('Does it walk?')")
    page.evaluate("bookbound.unmount()")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main'))")
    page.keyboard.press("Alt+a")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    expect(page.locator("#bookbound-widget")).to_have_count(0)
    page.evaluate("(server) => { window.bookbound = mount({ server }) }", server)
    expect(page.locator(".turn")).to_have_count(1)
    assert tab.problems == []


def test_a_second_mount_replaces_the_first(page: Page, server: str) -> None:
    page.evaluate("(server) => { mount({ server }); mount({ server, position: 'left' }) }", server)
    expect(page.locator("#bookbound-widget")).to_have_count(1)
    expect(page.locator(".root.left")).to_have_count(1)


@pytest.mark.parametrize("options", ["", "null", "{}", "{server: ''}", "{server: 'javascript:alert(1)'}"])
def test_a_widget_without_a_server_says_what_is_missing(page: Page, options: str) -> None:
    message = page.evaluate(f"(() => {{ try {{ mount({options}) }} catch (error) {{ return error.message }} }})()")
    assert message.startswith("Bookbound needs the address of its server: set `server`")
    expect(page.locator("#bookbound-widget")).to_have_count(0)


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("key: 5", "set `key` to text."),
        ("server: {}", "set `server` to text."),
        ("questions: 'One?'", "set `questions` to a list of texts."),
        ("questions: [1]", "set `questions` to a list of texts."),
    ],
)
def test_an_option_of_the_wrong_type_is_named(page: Page, server: str, option: str, advice: str) -> None:
    call = f"mount({{ server: '{server}', {option} }})"
    message = page.evaluate(f"(() => {{ try {{ {call} }} catch (error) {{ return `${{error}}` }} }})()")
    assert message == f"TypeError: Bookbound: {advice}"
    expect(page.locator("#bookbound-widget")).to_have_count(0)


def test_the_component_of_the_guide_survives_strict_mode(tab: Tab, site: BookSite, server: str) -> None:
    modules = {"react": f"data:text/javascript,{REACT}", "bookbound-widget": f"{server}/widget.mjs"}
    imports = f'<script type="importmap">{json.dumps({"imports": modules})}</script>'
    component = Addresses(site.address, server, "").fill(read_snippets()["React"])
    script = f'{imports}<script type="module">{component}\nAskTheBook();</script>'
    tab.page.goto(site.add("/react", "<p>Some words.</p>", server, script=script))
    tab.page.locator(".launcher").click()
    tab.ask("Does it walk?")
    assert "It walks." in tab.page.locator(".reply.answered").inner_text()
    tab.page.evaluate("cleanUp()")
    expect(tab.page.locator("#bookbound-widget")).to_have_count(0)
    assert tab.problems == []


def test_the_package_has_the_module_and_its_types(tmp_path: Path) -> None:
    compiler = SOURCES / "node_modules" / ".bin" / "tsc"
    if not shutil.which("npm") or not compiler.exists():
        pytest.skip("The tools of the widget are not installed. Install them: npm --prefix widget install --no-save")
    ignored = shutil.ignore_patterns("node_modules", "dist")
    widget = shutil.copytree(SOURCES, tmp_path / "repository" / "widget", ignore=ignored)
    (widget / "node_modules").symlink_to(SOURCES / "node_modules")
    (tmp_path / "repository" / "src" / "bookbound" / "server" / "page").mkdir(parents=True)
    packed = subprocess.run(["npm", "pack", "--silent"], cwd=widget, capture_output=True, text=True)
    assert packed.returncode == 0, packed.stdout + packed.stderr
    (archive,) = widget.glob("*.tgz")
    package = tmp_path / "site" / "node_modules" / "bookbound-widget"
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "site" / "node_modules", filter="data")
    (tmp_path / "site" / "node_modules" / "package").rename(package)
    (tmp_path / "site" / "site.ts").write_text(CONSUMER)
    options = ["--strict", "--noEmit", "--moduleResolution", "bundler", "--module", "esnext", "--ignoreConfig"]
    checked = subprocess.run([compiler, *options, "site.ts"], cwd=tmp_path / "site", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert re.match(r"/\* Bookbound widget", (package / "dist" / "widget.mjs").read_text(encoding="utf-8"))
