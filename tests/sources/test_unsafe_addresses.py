"""A base address that is no web address never becomes the address of a page, in any format."""

from __future__ import annotations

from pathlib import Path

import pytest

from bookbound.domain.chunk import Place
from bookbound.domain.document import safe_url
from bookbound.sources import parse_book

UNSAFE = ("javascript:alert(1)//", "JavaScript:alert(1)//", "data:text/html,x/", "vbscript:x/", "file:///etc/")
PAGE = "# Gaits\n\nA gait is a pattern of steps that repeats.\n"
BOOKS = {
    "docusaurus": {
        "docusaurus.config.js": 'module.exports = {{ title: "B", url: "{url}", baseUrl: "/" }};',
        "docs/a.md": PAGE,
    },
    "mkdocs": {"mkdocs.yml": 'site_name: B\nsite_url: "{url}"\n', "docs/index.md": PAGE, "docs/a.md": PAGE},
    "mdbook": {
        "book.toml": '[book]\ntitle = "B"\n[output.html]\nsite-url = "{url}"\n',
        "src/SUMMARY.md": "# Summary\n\n- [A](a.md)\n",
        "src/a.md": PAGE,
    },
    "hugo": {"hugo.toml": 'baseURL = "{url}"\ntitle = "B"\n', "content/a.md": "---\ntitle: A\n---\n" + PAGE},
    "sphinx": {
        "conf.py": 'project = "B"\nhtml_baseurl = "{url}"\n',
        "index.rst": "Gaits\n=====\n\nA gait is a pattern of steps that repeats.\n",
    },
    "jupyter": {
        "_config.yml": 'title: B\nhtml:\n  baseurl: "{url}"\n',
        "_toc.yml": "format: jb-book\nroot: a\n",
        "a.md": PAGE,
    },
    "html": {
        "index.html": '<html><head><title>B</title><link rel="canonical" href="{url}"></head><body><main><h1>Gaits</h1>'
        "<p>A gait is a pattern of steps that repeats.</p></main></body></html>"
    },
}


def write_book(folder: Path, kind: str, url: str) -> Path:
    for name, content in BOOKS[kind].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.format(url=url) if "{url}" in content else content)
    return folder


@pytest.mark.parametrize("kind", BOOKS)
def test_a_base_address_that_is_no_web_address_is_left_out(tmp_path: Path, kind: str) -> None:
    for number, url in enumerate(UNSAFE):
        pages = parse_book(write_book(tmp_path / str(number), kind, url)).pages
        assert pages
        for page in pages:
            assert page.url == "" or page.url.startswith("/"), page.url


@pytest.mark.parametrize("kind", [kind for kind in BOOKS if kind != "html"])
def test_a_web_address_is_kept(tmp_path: Path, kind: str) -> None:
    pages = parse_book(write_book(tmp_path, kind, "https://book.example/")).pages
    assert all(page.url.startswith("https://book.example/") for page in pages)


def test_a_stored_place_with_another_kind_of_address_has_none() -> None:
    for url in (*UNSAFE, " javascript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)"):
        place = Place("a.md", url, "", "A", (), "gaits", 0, 1)
        assert (place.url, place.link) == ("", "#gaits")
    for url in ("", "/a", "a.pdf#page=8", "https://x.example/a?b=c:d", "HTTP://x.example", "//x.example/a", "a/b:c"):
        assert safe_url(url) == url
