"""Extracts an HTML page's text, title, links and navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
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


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page of a site: its text, what it says about itself and where it leads."""

    url: str
    file: str
    key: str
    rendered: RenderedPage = field(repr=False)
    title: str
    site: str
    canonical: str
    next_url: str
    entries: tuple[NavigationEntry, ...] = field(repr=False)
    links: tuple[str, ...] = field(repr=False)
    is_noindex: bool
    may_follow_links: bool
    is_redirect: bool
    is_too_costly: bool

    @property
    def heading(self) -> str:
        return " ".join(find_first_title(self.rendered).split())


def parse_html_page(html: str, url: str, file: str) -> HtmlPage:
    document = HtmlDocument(html)
    base = resolve_url(url, next(iter(document.attribute_values("base[href]", "href")), "")) or url
    main = find_main_content(document)
    robots = " ".join(document.attribute_values("meta[name=robots i]", "content")).lower()
    title = document.select_first(("head title", "title"))
    site = next(iter(document.attribute_values("meta[property='og:site_name']", "content")), "")
    return HtmlPage(
        url=url,
        file=file,
        key=page_key(url),
        rendered=render_element(main) if main else RenderedPage("", (), ()),
        title=(title.text() if title else "")[:MAX_TITLE_CHARS],
        site=site.strip()[:MAX_TITLE_CHARS],
        canonical=find_canonical_url(document, base),
        next_url=_first_url(base, document.attribute_values(_NEXT_SELECTOR, "href")),
        entries=read_navigation(document, base),
        links=_collect_links(document, base),
        is_noindex="noindex" in robots or robots.strip() == "none",
        may_follow_links="nofollow" not in robots and robots.strip() != "none",
        is_redirect=bool(document.attribute_values("meta[http-equiv=refresh i]", "content")),
        is_too_costly=document.is_too_costly,
    )


def find_canonical_url(document: HtmlDocument, base: str) -> str:
    """Return the URL that a page declares as its own, if any."""
    return _first_url(base, document.attribute_values("link[rel~=canonical]", "href"))


def split_page_title(title: str) -> tuple[str, str]:
    """Split the title of a page into the page's own title and the site's name."""
    last = max(_TITLE_SEPARATOR.finditer(title), key=lambda match: match.end(), default=None)
    return (title[: last.start()].strip(), title[last.end() :].strip()) if last else (title, "")


def detect_generator(html: str) -> str:
    """Return the generator that a page names or shows signs of."""
    document = HtmlDocument(html)
    named = _GENERATOR_NAME.search(" ".join(document.attribute_values("meta[name=generator i]", "content")))
    if named:
        return named[0].lower()
    signs = _GENERATOR_SELECTORS.items()
    return next((name for name, selector in signs if document.attribute_values(selector, "class")), "")


def _first_url(base: str, hrefs: list[str]) -> str:
    return next(filter(None, (resolve_url(base, href) for href in hrefs if href)), "")


def _collect_links(document: HtmlDocument, base: str) -> tuple[str, ...]:
    hrefs = document.attribute_values("a[href]:not([rel~=nofollow])", "href")
    hrefs += document.attribute_values("iframe[src='toc.html']", "src")
    other_schemes = ("#", "mailto:", "javascript:", "data:", "tel:")
    hrefs = [href for href in dict.fromkeys(hrefs) if not href.startswith(other_schemes)]
    return tuple(dict.fromkeys(filter(None, (resolve_url(base, href) for href in hrefs[:MAX_PAGE_LINKS]))))


MAX_NAVIGATION_ENTRIES = 20_000
# No label is longer; the limit keeps nested entries from being read again and again.
_MAX_LABEL_NODES = 300
# In this order: a page of one generator can contain the parts of another that it uses.
_SIDEBAR_SELECTORS = (
    ".theme-doc-sidebar-menu nav.md-nav--primary ol.chapter .wy-menu-vertical .sidebar-tree nav.bd-docs-nav"
    " .sphinxsidebarwrapper ul.navbar-nav .book-menu #td-section-nav .VPSidebar .sidebar-links .nav-menu".split()
)
_NOT_NAVIGATION_SELECTOR = (
    f"{HIDDEN_SELECTOR}, .md-nav--secondary, .relations, .toc, [role=search], [aria-label='Table of contents']"
)
_GROUP_TAGS = frozenset(("ul", "ol", "nav"))
_LABEL_TAGS = frozenset(("a", "label", "button", "summary"))
_GROUP_TITLE_TAGS = frozenset(("p", "h2", "h3", "h4", "h5", "h6"))


class NavigationEntry(NamedTuple):
    """A page in the navigation; its chapter is empty if the page is a chapter itself."""

    url: str
    chapter: str


class _NavigationLink(NamedTuple):
    """A link of the navigation, and the part and the outermost entry that contain it."""

    part: str
    top: int
    url: str
    label: str


def read_navigation(document: HtmlDocument, url: str) -> tuple[NavigationEntry, ...]:
    """Return the pages that a page's navigation lists, in order."""
    nav = document.select_first(_SIDEBAR_SELECTORS, _NOT_NAVIGATION_SELECTOR)
    if nav is None:
        navs = document.select("nav, [role=navigation]", _NOT_NAVIGATION_SELECTOR)
        nav = max(navs, key=lambda each: sum(1 for _ in _iterate_anchors(each)), default=None)
    return tuple(_assign_chapters(nav, url)) if nav else ()


def _assign_chapters(nav: HtmlElement, url: str) -> Iterator[NavigationEntry]:
    labels: list[str] = []
    links = list(islice(_iterate_navigation_links(nav, url, labels), MAX_NAVIGATION_ENTRIES))
    pages: dict[int, set[str]] = {}
    for link in links:
        pages.setdefault(link.top, set()).add(link.url)
    for link in links:
        label = labels[link.top] if link.top >= 0 else ""
        is_single = len(pages[link.top]) == 1 and link.label == label
        yield NavigationEntry(link.url, link.part if is_single or not label else label)


def _iterate_navigation_links(nav: HtmlElement, url: str, labels: list[str]) -> Iterator[_NavigationLink]:
    """Yield the links in order, and add the label of each outermost entry to `labels`."""
    part, top = "", -1
    pending: list[tuple[HtmlElement, int]] = [(nav, 0)]
    while pending:
        node, depth = pending.pop()
        if node.tag == "li":
            depth += 1
            label = _find_entry_label(node) if depth == 1 else ""
            if label and not any(True for _ in _iterate_anchors(node)):
                part = label
            elif label:
                labels.append(label)
                top = len(labels) - 1
        elif node.tag in _GROUP_TITLE_TAGS and not depth:
            part = node.text(_MAX_LABEL_NODES)
        href = node.get("href").strip() if node.tag == "a" else ""
        if href and not href.startswith("#") and (target := resolve_url(url, href)):
            yield _NavigationLink(part, top if depth else -1, target, node.text(_MAX_LABEL_NODES))
        pending += [(child, depth) for child in reversed(node.children) if isinstance(child, HtmlElement)]


def _find_entry_label(item: HtmlElement) -> str:
    """Return the label of an entry without the entries inside it: its link or label, else its own text."""
    words: list[str] = []
    pending = item.children[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            words.append(node)
        elif node.tag in _GROUP_TAGS:
            break
        elif node.tag in _LABEL_TAGS and (label := node.text(_MAX_LABEL_NODES)):
            return label
        else:
            pending += reversed(node.children)
    return " ".join("".join(words).split())


def _iterate_anchors(element: HtmlElement) -> Iterator[HtmlElement]:
    return (node for node in element.elements() if node.tag == "a" and "href" in node.attributes)
