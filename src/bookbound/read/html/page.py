"""What one page of a site says: its words, and what it tells of itself and of the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bookbound.read.galley import Setting
from bookbound.read.html import typeset_element
from bookbound.read.html.address import key, resolved
from bookbound.read.html.main import main_part
from bookbound.read.html.selectolax import Document
from bookbound.read.site.nav import Entry, entries
from bookbound.read.titles import LONGEST, first_title

MOST_LINKS = 20_000
_SEPARATOR = re.compile(r"\s[|\-\u2013\u2014\u00b7\u00bb]\s|\s::\s")
_NEXT = "link[rel~=next], a[rel~=next], a.pagination-nav__link--next"
_GENERATED = re.compile(r"(?i)docusaurus|mkdocs|mdbook|sphinx|gitbook|hugo|vitepress|vuepress|jekyll|antora|asciidoc")
_SIGNS = {
    "mkdocs": "footer a[href^='https://www.mkdocs.org']",
    "sphinx": ".sphinxsidebar, [data-content_root], .toctree-wrapper, .wy-nav-side",
    "mdbook": "#mdbook-help-popup, ol.chapter, #menu-bar",
}


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page of a site, with where it leads."""

    url: str
    file: str
    key: str
    setting: Setting = field(repr=False)
    name: str
    site: str
    canonical: str
    after: str
    entries: tuple[Entry, ...] = field(repr=False)
    links: tuple[str, ...] = field(repr=False)
    kept_out: bool
    followed: bool
    leads_on: bool
    choked: bool

    @property
    def heading(self) -> str:
        return " ".join(first_title(self.setting).split())


def look(html: str, url: str, file: str) -> HtmlPage:
    """All that a page says."""
    document = Document(html)
    base = resolved(url, next(iter(document.given("base[href]", "href")), "")) or url
    main = main_part(document)
    robots = " ".join(document.given("meta[name=robots i]", "content")).lower()
    title = document.first(("head title", "title"))
    return HtmlPage(
        url,
        file,
        key(url),
        typeset_element(main) if main else Setting("", (), ()),
        (title.words() if title else "")[:LONGEST],
        next(iter(document.given("meta[property='og:site_name']", "content")), "").strip()[:LONGEST],
        canonical(document, base),
        _first(base, document.given(_NEXT, "href")),
        entries(document, base),
        _links(document, base),
        "noindex" in robots or robots.strip() == "none",
        "nofollow" not in robots and robots.strip() != "none",
        bool(document.given("meta[http-equiv=refresh i]", "content")),
        document.refused,
    )


def canonical(document: Document, base: str) -> str:
    """The address that a page says is its own, if it says so."""
    return _first(base, document.given("link[rel~=canonical]", "href"))


def parted(name: str) -> tuple[str, str]:
    """A page's name as its title bar has it: the page's own, and the site's."""
    cuts = list(_SEPARATOR.finditer(name))
    return (name[: cuts[-1].start()].strip(), name[cuts[-1].end() :].strip()) if cuts else (name, "")


def generator(html: str) -> str:
    """The generator that a page says it was made with, or shows signs of."""
    document = Document(html)
    named = _GENERATED.search(" ".join(document.given("meta[name=generator i]", "content")))
    if named:
        return named[0].lower()
    return next((name for name, sign in _SIGNS.items() if document.given(sign, "class")), "")


def _first(base: str, hrefs: list[str]) -> str:
    return next(filter(None, (resolved(base, href) for href in hrefs if href)), "")


def _links(document: Document, base: str) -> tuple[str, ...]:
    followed = document.given("a[href]:not([rel~=nofollow])", "href") + document.given("iframe[src='toc.html']", "src")
    outside = ("#", "mailto:", "javascript:", "data:", "tel:")
    hrefs = [href for href in dict.fromkeys(followed) if not href.startswith(outside)]
    return tuple(dict.fromkeys(filter(None, (resolved(base, href) for href in hrefs[:MOST_LINKS]))))
