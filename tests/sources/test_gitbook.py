"""Reads GitBooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources import parse_book
from bookbound.sources.includes import IncludeLoader, substitute
from bookbound.sources.plain_folder import find_gitbook_includes

Site = Callable[[dict[str, str]], Path]

CONFIG = "root: ./docs/\nstructure:\n  readme: README.md\n  summary: CONTENTS.md\nredirects:\n  old: guide/words.md\n"
CONTENTS = """# Table of contents

* [Welcome](README.md)

## Guide

* [Words](guide/words.md)
* [Part of it](guide/words.md#part)
* [Elsewhere](https://x.example)
"""
PAGES = {"docs/CONTENTS.md": CONTENTS, "docs/README.md": "# Welcome", "docs/guide/words.md": "# Words", "a.md": "no"}


def test_the_configuration_names_the_folder_and_the_table_of_contents(site: Site) -> None:
    book = parse_book(site({".gitbook.yaml": CONFIG, **PAGES}))
    assert book.kind == "gitbook"
    assert [(page.file, page.url, page.chapter) for page in book.pages] == [
        ("docs/README.md", "/", "Welcome"),
        ("docs/guide/words.md", "/guide/words", "Guide"),
    ]


@pytest.mark.parametrize("broken", ["", "[", "root: 3", "root: ../other", "structure: [x]", "root: '\\0'"])
def test_a_configuration_without_a_table_of_contents_means_a_plain_folder(site: Site, broken: str) -> None:
    assert parse_book(site({".gitbook.yaml": broken, "a.md": "a"})).kind == "markdown"


BLOCKS = """# Words

{% hint style="warning" %}
Mind **this**.
{% endhint %}

{% tabs %}
{% tab title="First" %}
One.
{% endtab %}

{% tab title="Second" %}
```js
two()
```
{% endtab %}
{% endtabs %}

{% code title="index.js" overflow="wrap" %}
```js
code()
```
{% endcode %}

{% content-ref url="../README.md" %}
[Welcome](../README.md)
{% endcontent-ref %}

{% embed url="https://v.example/x" %}
The film
{% endembed %}

{% stepper %}
{% step %}
### Step one

Do it.
{% endstep %}
{% endstepper %}

{% include ".gitbook/includes/shared.md" %}

## Part of it <a href="#part" id="part"></a>

End.
"""


def test_blocks_show_their_titles_and_text(site: Site, faults: Callable[[Page], list[str]]) -> None:
    shared = '---\ntitle: Not shown\n---\nShared *words*.\n\n{% include "more.md" %}'
    files = {".gitbook/includes/shared.md": shared, ".gitbook/includes/more.md": "More."}
    book = parse_book(site({"SUMMARY.md": "* [A](a.md)", "a.md": BLOCKS, **files}))
    [page] = book.pages
    assert page.text.split("\n\n") == [
        *("Words", "Mind this.", "First", "One.", "Second", "two()", "index.js", "code()", "Welcome", "The film"),
        *("Step one", "Do it.", "Shared words.", "More.", "Part of it", "End."),
    ]
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == ["words", "step-one", "part"]
    assert (faults(page), book.notices) == ([], ())


def test_includes_that_are_missing_or_outside_are_lost(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Secret.")
    text = 'A.\n\n{% include "gone.md" %}\n\n{% include "../secret.md" %}\n\n{% include "a.md" %}'
    book = parse_book(site({"SUMMARY.md": "* [A](a.md)", "a.md": text}))
    assert "Secret" not in book.pages[0].text
    assert [notice.lost for notice in book.notices] == [True]


JINJA = '# J\n\n```jinja\n{% include "header.html" %}\n```\n\nOr `{% include "x.html" %}` too.\n'
SHOWN = 'J\n\n{% include "header.html" %}\n\nOr {% include "x.html" %} too.'


def test_an_include_example_in_code_stays_and_nothing_is_lost(site: Site) -> None:
    book = parse_book(site({"SUMMARY.md": "* [J](j.md)", "j.md": JINJA}))
    assert ([page.text for page in book.pages], book.notices) == ([SHOWN], ())


def test_a_plain_folder_includes_nothing(site: Site) -> None:
    book = parse_book(site({"j.md": JINJA, "header.html": "<b>Secret</b>", "x.html": "x"}), "markdown")
    assert [page.text for page in book.pages] == [SHOWN]
    assert not any(notice.lost for notice in book.notices)


def test_the_configuration_of_an_old_gitbook_enables_includes(site: Site) -> None:
    files = {"docs/SUMMARY.md": "* [A](a.md)", "docs/a.md": 'A.\n\n{% include "b.md" %}', "docs/b.md": "B."}
    book = parse_book(site({"book.json": '{"root": "docs"}', **files}))
    assert [(book.kind, page.text) for page in book.pages] == [("markdown", "A.\n\nB.")]


@given(st.text(alphabet="{}% include\"'a.md\n", max_size=100))
def test_any_text_can_be_searched_for_includes(text: str) -> None:
    here = Path(__file__)
    found = find_gitbook_includes(text, here, includes=IncludeLoader(here.parent))
    assert isinstance(substitute(text, found).text, str)
