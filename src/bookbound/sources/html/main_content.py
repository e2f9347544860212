"""Finds the main content of an HTML page, without navigation and hidden elements."""

from __future__ import annotations

from typing import NamedTuple

from bookbound.sources.html.elements import HtmlElement
from bookbound.sources.html.selectolax import HtmlDocument

HIDDEN_SELECTOR = ", ".join(
    (
        "head, style, noscript, template, iframe, object, video, audio, canvas, datalist, rp, svg title, svg desc",
        "script:not([type^='math/tex'])",
        "input, select, textarea, button:not([role=tab]), form[role=search], dialog:not([open])",
        # A tab panel is hidden until the reader opens its tab.
        "[hidden]:not([role=tabpanel]), [aria-hidden=true], [style*='display:none' i], [style*='display: none' i]",
        ".sr-only, .visually-hidden, .visuallyhidden, .screen-reader-text, .skip-link, .boring",
        ".footnote-ref, .footnote-reference, .footnote-backref, .fn-backref, .reversefootnote",
        "[role=doc-noteref], [role=doc-backlink], [data-footnote-ref], [data-footnote-backref], aside.footnote .label",
        ".footnote-definition-label",
        r"[epub\:type~=noteref]",
        ".linenos, .linenodiv, .lineno, .gutter, .rouge-gutter, .lnt, .chroma .ln, .line-numbers-rows",
        ".MathJax, .MathJax_Display, .MathJax_Preview, .MathJax_SVG, mjx-math",
    )
)
"""Elements without visible text: scripts, hidden elements, buttons, line numbers and footnote marks."""
NAVIGATION_SELECTOR = ", ".join(
    (
        "nav, [role=navigation], [role=search], [role=banner], [role=contentinfo], [role=menubar], [role=toolbar]",
        ".toctree-wrapper, .contents, .breadcrumbs, .breadcrumb, .wy-breadcrumbs, .related, .sphinxsidebar",
        ".edit-this-page, .theme-edit-this-page, .edit-page, .edit-page-link, .md-content__button, .theme-doc-footer",
        ".theme-doc-toc-mobile, .theme-doc-version-badge, .theme-doc-version-banner, .theme-last-updated",
        ".md-source-file, .md-feedback, .md-post__meta, .nav-chapters, .nav-wide-wrapper, .prev-next-area",
        ".prev-next-footer, .header-article-items, .td-page-meta, .td-toc, .book-toc, .feedback, .page-toc, .toc",
        ".rst-footer-buttons, .sourcelink, .pagination, .pagination-nav, .page-nav, .search-box, .announcement",
    )
)
"""Elements that lead to other pages."""
MAIN_SELECTORS = (
    "article .theme-doc-markdown",
    "article > .markdown",
    "article.md-content__inner",
    "article.bd-article",
    "article#furo-main-content",
    ".rst-content [itemprop=articleBody]",
    "div.body",
    "#content main",
    "#mdbook-content main",
    ".theme-default-content",
    ".vp-doc",
    ".td-content",
    "article.markdown",
    "article.doc",
    "div[role=main]",
    "main article:only-of-type",
    "main",
    "[role=main]",
)
"""Elements that contain a page's text: first those of known generators, then those of HTML itself."""
_PAGE_FRAME_SELECTOR = ", ".join(
    (
        "body header:not(article header), body footer:not(article footer), body > aside, .sidebar, .navbar, .menu",
        "#sidebar, #header, #footer, #navigation, #menu, #toc, .header, .footer, .navigation, .cookie-banner",
    )
)
# Shorter lists of links, and those in half of the page, are often the text itself.
_MIN_LINKS = 5
_MIN_LINK_SHARE = 0.8
_LINK_LIST_TAGS = frozenset(("ul", "ol", "div", "section", "p", "td"))


def find_main_content(document: HtmlDocument) -> HtmlElement | None:
    """Return the element that contains the book's text, without navigation."""
    removed = f"{HIDDEN_SELECTOR}, {NAVIGATION_SELECTOR}"
    has_one_article = len(document.attribute_values("article", "id")) == 1
    found = document.select_first((*MAIN_SELECTORS, *(("article",) if has_one_article else ())), removed)
    if found is not None and found.text():
        return found
    # The frame is guessed by its names, so it goes only if nothing says where the text is.
    body = document.select_first(("body",), f"{removed}, {_PAGE_FRAME_SELECTOR}")
    body = body or document.select_first(("body",), HIDDEN_SELECTOR)
    return _drop_link_lists(body) if body else None


class _TextCount(NamedTuple):
    """The characters of an element, those of them in links, and the number of links."""

    chars: int
    linked: int
    links: int


def _drop_link_lists(body: HtmlElement) -> HtmlElement:
    """Remove the lists that contain mostly links from a page whose main content is not marked."""
    elements = [body, *body.elements()]
    counts: dict[HtmlElement, _TextCount] = {}
    for element in reversed(elements):
        inner = [counts[child] for child in element.children if isinstance(child, HtmlElement)]
        chars = sum(len(child.strip()) for child in element.children if isinstance(child, str))
        chars += sum(count.chars for count in inner)
        is_link = element.tag == "a" and "href" in element.attributes
        linked = chars if is_link else sum(count.linked for count in inner)
        counts[element] = _TextCount(chars, linked, is_link + sum(count.links for count in inner))

    def is_link_list(child: HtmlElement | str) -> bool:
        if isinstance(child, str) or child.tag not in _LINK_LIST_TAGS:
            return False
        count = counts[child]
        is_minor = count.chars < counts[body].chars / 2
        return is_minor and count.links >= _MIN_LINKS and count.linked > _MIN_LINK_SHARE * count.chars

    for element in elements:
        element.children = [child for child in element.children if not is_link_list(child)]
    return body
