"""Extracts an HTML page's text, title, links and navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from bookbound.sources.html import render_element
from bookbound.sources.html.elements import HtmlElement
from bookbound.sources.html.main_content import HIDDEN_SELECTOR, find_main_content
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.html.urls import page_key, resolve_url
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.titles import MAX_TITLE_CHARS, find_first_title

MAX_PAGE_LINKS = 20_000
_TITLE_SEPARATOR = re.compile(r"\s[|\-\u2013\u2014\u00b7\u00bb]\s|\s::\s")
_NEXT_SELECTOR = "link[rel~=next], a[rel~=next], a.pagination-nav__link--next"
_GENERATOR_NAME = re.compile(
    r"(?i)docusaurus|mkdocs|mdbook|sphinx|gitbook|hugo|vitepress|vuepress|jekyll|antora|asciidoc"
)
_GENERATOR_SELECTORS = {
    "mkdocs": "footer a[href^='https://www.mkdocs.org']",
    "sphinx": ".sphinxsidebar, [data-content_root], .toctree-wrapper, .wy-nav-side",
    "mdbook": "#mdbook-help-popup, ol.chapter, #menu-bar",
}


class NavigationEntry(NamedTuple):
    """A page as the navigation lists it; its chapter is empty where the page is one of its own."""

    url: str
    chapter: str


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page of a site, with where it leads."""

    url: str
    file: str
    key: str
    setting: RenderedPage = field(repr=False)
    name: str
    site: str
    canonical: str
    after: str
    entries: tuple[NavigationEntry, ...] = field(repr=False)
    links: tuple[str, ...] = field(repr=False)
    kept_out: bool
    followed: bool
    leads_on: bool
    choked: bool

    @property
    def heading(self) -> str:
        return " ".join(find_first_title(self.setting).split())


def parse_html_page(html: str, url: str, file: str) -> HtmlPage:
    """All that a page says."""
    document = HtmlDocument(html)
    base = resolve_url(url, next(iter(document.given("base[href]", "href")), "")) or url
    main = find_main_content(document)
    robots = " ".join(document.given("meta[name=robots i]", "content")).lower()
    title = document.first(("head title", "title"))
    return HtmlPage(
        url,
        file,
        page_key(url),
        render_element(main) if main else RenderedPage("", (), ()),
        (title.words() if title else "")[:MAX_TITLE_CHARS],
        next(iter(document.given("meta[property='og:site_name']", "content")), "").strip()[:MAX_TITLE_CHARS],
        find_canonical_url(document, base),
        _first_url(base, document.given(_NEXT_SELECTOR, "href")),
        read_navigation(document, base),
        _collect_links(document, base),
        "noindex" in robots or robots.strip() == "none",
        "nofollow" not in robots and robots.strip() != "none",
        bool(document.given("meta[http-equiv=refresh i]", "content")),
        document.refused,
    )


def find_canonical_url(document: HtmlDocument, base: str) -> str:
    """The address that a page says is its own, if it says so."""
    return _first_url(base, document.given("link[rel~=canonical]", "href"))


def split_page_title(name: str) -> tuple[str, str]:
    """A page's name as its title bar has it: the page's own, and the site's."""
    cuts = list(_TITLE_SEPARATOR.finditer(name))
    return (name[: cuts[-1].start()].strip(), name[cuts[-1].end() :].strip()) if cuts else (name, "")


def detect_generator(html: str) -> str:
    """The generator that a page says it was made with, or shows signs of."""
    document = HtmlDocument(html)
    named = _GENERATOR_NAME.search(" ".join(document.given("meta[name=generator i]", "content")))
    if named:
        return named[0].lower()
    return next((name for name, sign in _GENERATOR_SELECTORS.items() if document.given(sign, "class")), "")


def _first_url(base: str, hrefs: list[str]) -> str:
    return next(filter(None, (resolve_url(base, href) for href in hrefs if href)), "")


def _collect_links(document: HtmlDocument, base: str) -> tuple[str, ...]:
    followed = document.given("a[href]:not([rel~=nofollow])", "href") + document.given("iframe[src='toc.html']", "src")
    outside = ("#", "mailto:", "javascript:", "data:", "tel:")
    hrefs = [href for href in dict.fromkeys(followed) if not href.startswith(outside)]
    return tuple(dict.fromkeys(filter(None, (resolve_url(base, href) for href in hrefs[:MAX_PAGE_LINKS]))))


MAX_NAVIGATION_ENTRIES = 20_000
# No entry says more; entries may stand in each other, and are not to be read through again and again.
_MAX_LABEL_NODES = 300
_SIDEBAR_SELECTORS = (
    ".theme-doc-sidebar-menu",
    "nav.md-nav--primary",
    "ol.chapter",
    ".wy-menu-vertical",
    ".sidebar-tree",
    "nav.bd-docs-nav",
    ".sphinxsidebarwrapper",
    "ul.navbar-nav",
    ".book-menu",
    "#td-section-nav",
    ".VPSidebar",
    ".sidebar-links",
    ".nav-menu",
)
_NOT_NAVIGATION_SELECTOR = (
    f"{HIDDEN_SELECTOR}, .md-nav--secondary, .relations, .toc, [role=search], [aria-label='Table of contents']"
)
_GROUP_TAGS = frozenset(("ul", "ol", "nav"))
_LABEL_TAGS = frozenset(("a", "label", "button", "summary"))
_GROUP_TITLE_TAGS = frozenset(("p", "h2", "h3", "h4", "h5", "h6"))


class _NavigationLink(NamedTuple):
    """One link of the navigation: the part and the outermost entry it stands in."""

    part: str
    top: int
    url: str
    words: str


def read_navigation(document: HtmlDocument, url: str) -> tuple[NavigationEntry, ...]:
    """The pages that a page's navigation lists, in their order."""
    nav = document.first(_SIDEBAR_SELECTORS, _NOT_NAVIGATION_SELECTOR)
    if nav is None:
        navs = document.some("nav, [role=navigation]", _NOT_NAVIGATION_SELECTOR)
        nav = max(navs, key=lambda each: sum(1 for _ in _iterate_anchors(each)), default=None)
    return tuple(_assign_chapters(nav, url)) if nav else ()


def _assign_chapters(nav: HtmlElement, url: str) -> Iterator[NavigationEntry]:
    labels: list[str] = []
    lines = list(_iterate_navigation_links(nav, url, labels))[:MAX_NAVIGATION_ENTRIES]
    pages: dict[int, set[str]] = {}
    for line in lines:
        pages.setdefault(line.top, set()).add(line.url)
    for line in lines:
        label = labels[line.top] if line.top >= 0 else ""
        alone = len(pages[line.top]) == 1 and line.words == label
        yield NavigationEntry(line.url, line.part if alone or not label else label)


def _iterate_navigation_links(nav: HtmlElement, url: str, labels: list[str]) -> Iterator[_NavigationLink]:
    """The links in their order; the label of each outermost entry goes to `labels`."""
    part, top = "", -1
    waiting: list[tuple[HtmlElement, int]] = [(nav, 0)]
    while waiting:
        node, depth = waiting.pop()
        if node.tag == "li":
            depth += 1
            label = _find_entry_label(node) if depth == 1 else ""
            if label and not any(True for _ in _iterate_anchors(node)):
                part = label
            elif label:
                labels.append(label)
                top = len(labels) - 1
        elif node.tag in _GROUP_TITLE_TAGS and not depth:
            part = node.words(_MAX_LABEL_NODES)
        if node.tag == "a" and (target := _resolve_target(node, url)):
            yield _NavigationLink(part, top if depth else -1, target, node.words(_MAX_LABEL_NODES))
        waiting += [(child, depth) for child in reversed(node.children) if isinstance(child, HtmlElement)]


def _find_entry_label(item: HtmlElement) -> str:
    """The words of an entry before those inside it: its link's or label's, else what stands there."""
    words: list[str] = []
    waiting = item.children[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            words.append(node)
        elif node.tag in _GROUP_TAGS:
            break
        elif node.tag in _LABEL_TAGS and (label := node.words(_MAX_LABEL_NODES)):
            return label
        else:
            waiting += reversed(node.children)
    return " ".join("".join(words).split())


def _iterate_anchors(element: HtmlElement) -> Iterator[HtmlElement]:
    inside = (node for node in element.inside() if isinstance(node, HtmlElement))
    return (node for node in inside if node.tag == "a" and "href" in node.attributes)


def _resolve_target(link: HtmlElement, url: str) -> str:
    """The page that a link leads to; nothing for one within its page or out of the site."""
    href = link.get("href").strip()
    return "" if not href or href.startswith("#") else resolve_url(url, href)
