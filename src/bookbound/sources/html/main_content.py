"""Finds the main content of an HTML page, without navigation and hidden elements."""

from __future__ import annotations

from bookbound.sources.html.elements import HtmlElement
from bookbound.sources.html.selectolax import HtmlDocument

HIDDEN_SELECTOR = ", ".join(
    (
        "head, style, noscript, template, iframe, object, video, audio, canvas, datalist, rp, svg title, svg desc",
        "script:not([type^='math/tex'])",
        "input, select, textarea, button:not([role=tab]), form[role=search], dialog:not([open])",
        # A tab that is not the open one is hidden until it is asked for.
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
"""What of a page is not seen, or is no word of it: scripts, hidden elements, buttons, numbers of lines and of notes."""
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
"""What of a page leads elsewhere."""
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
"""Where the words of a page stand: by the signs of the generators, then by those of HTML itself."""
_PAGE_FRAME_SELECTOR = ", ".join(
    (
        "body header:not(article header), body footer:not(article footer), body > aside, .sidebar, .navbar, .menu",
        "#sidebar, #header, #footer, #navigation, #menu, #toc, .header, .footer, .navigation, .cookie-banner",
    )
)
_FEWEST_LINKS, _MOSTLY = 5, 0.8
_LINK_LIST_TAGS = frozenset(("ul", "ol", "div", "section", "p", "td"))


def find_main_content(document: HtmlDocument) -> HtmlElement | None:
    """The element that holds the book's words, without what leads elsewhere."""
    found = document.first(MAIN_SELECTORS, f"{HIDDEN_SELECTOR}, {NAVIGATION_SELECTOR}")
    if found is None:
        alone = len(document.given("article", "id")) == 1
        found = document.first(("article",), f"{HIDDEN_SELECTOR}, {NAVIGATION_SELECTOR}") if alone else None
    if found is not None and found.words():
        return found
    body = document.first(
        ("body",), f"{HIDDEN_SELECTOR}, {NAVIGATION_SELECTOR}, {_PAGE_FRAME_SELECTOR}"
    ) or document.first(("body",), HIDDEN_SELECTOR)
    return _drop_link_lists(body) if body else None


def _drop_link_lists(body: HtmlElement) -> HtmlElement:
    """A page that shows no sign of where its words stand, less the lists that are hardly anything but links."""
    whole, linked, links = _count_link_text(body)
    waiting = [body]
    while waiting:
        element = waiting.pop()
        kept: list[HtmlElement | str] = []
        for child in element.children:
            if isinstance(child, HtmlElement):
                many = child.tag in _LINK_LIST_TAGS and links[child] >= _FEWEST_LINKS
                if many and linked[child] > _MOSTLY * whole[child] and whole[child] < whole[body] / 2:
                    continue
                waiting.append(child)
            kept.append(child)
        element.children = kept
    return body


def _count_link_text(
    body: HtmlElement,
) -> tuple[dict[HtmlElement, int], dict[HtmlElement, int], dict[HtmlElement, int]]:
    """For each element its characters, those of them in links, and its links."""
    order = [body]
    for element in order:
        order += [child for child in element.children if isinstance(child, HtmlElement)]
    whole: dict[HtmlElement, int] = {}
    linked: dict[HtmlElement, int] = {}
    links: dict[HtmlElement, int] = {}
    for element in reversed(order):
        inner = [child for child in element.children if isinstance(child, HtmlElement)]
        own = sum(len(child.strip()) for child in element.children if isinstance(child, str))
        whole[element] = own + sum(whole[child] for child in inner)
        is_link = element.tag == "a" and "href" in element.attributes
        linked[element] = whole[element] if is_link else sum(linked[child] for child in inner)
        links[element] = is_link + sum(links[child] for child in inner)
    return whole, linked, links
