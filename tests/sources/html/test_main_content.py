"""Finds the main content of a page."""

from __future__ import annotations

import pytest

from bookbound.sources.html.main_content import find_main_content
from bookbound.sources.html.selectolax import HtmlDocument

LINKS = "".join(f"<li><a href=p{at}>Page {at}</a></li>" for at in range(9))
AROUND = f"<header>Head</header><nav><ul>{LINKS}</ul></nav>{{}}<aside>Beside</aside><footer>Foot</footer>"
WORDS = "<h1>Title</h1><p>These are the words.</p>"


def words(html: str) -> str:
    found = find_main_content(HtmlDocument(html))
    return found.text() if found else ""


@pytest.mark.parametrize(
    "main",
    [
        "<main><article><nav class=theme-doc-breadcrumbs>a</nav><div class='theme-doc-markdown markdown'>{}</div>"
        "<footer class=theme-doc-footer>Edit this page</footer></article></main>",
        "<main><article class='md-content__inner md-typeset'><a class=md-content__button>Edit</a>{}</article></main>",
        "<div id=content><main>{}</main><nav class=nav-wrapper>next</nav></div>",
        "<div class=documentwrapper><div class=body role=main>{}<div class=toctree-wrapper>contents</div></div></div>",
        "<article role=main id=furo-main-content>{}</article>",
        "<article class=bd-article>{}</article><div class=prev-next-footer>next</div>",
        "<div class=rst-content><div role=navigation>crumbs</div><div itemprop=articleBody>{}</div></div>",
        "<div class=col-md-9 role=main>{}</div>",
        "<div class=td-content>{}</div>",
        "<div class=vp-doc>{}</div>",
        "<main>{}</main>",
        "<article>{}</article>",
        "<div role=main>{}</div>",
        "<div>{}</div>",
        "{}",
        "<table><tr><td>{}</td></tr></table>",
    ],
)
def test_main_content_is_found_by_the_marks_of_generators_and_of_html(main: str) -> None:
    assert words(AROUND.format(main.format(WORDS))) == "TitleThese are the words."


def test_a_list_of_links_is_navigation_if_nothing_is_marked() -> None:
    around = f"<div><ul>{LINKS}</ul></div>"
    own = "<div><p>Many words of the book, <a href=x>linked</a> once.</p><ul><li>An item.</ul></div>"
    rest = "And more of them, so that there is something to read at all on this page."
    assert words(f"{around}{own}<p>{rest}</p>") == f"Many words of the book, linked once.An item.{rest}"


def test_a_page_of_links_keeps_them() -> None:
    assert words(f"<ul>{LINKS}</ul>").startswith("Page 0Page 1")


def test_an_empty_main_element_does_not_count() -> None:
    assert words(f"<main></main><div>{WORDS}</div>") == "TitleThese are the words."
