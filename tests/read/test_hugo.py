"""Order, addresses and words as Hugo makes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.book import Page
from bookbound.read import read
from bookbound.read.frontmatter import FrontMatter
from bookbound.read.hugo.front import hugo_fields, moment

Site = Callable[[dict[str, str]], Path]

CONFIG = 'title = "The Site"\nbaseURL = "https://site.example/sub/"\n'
PAGES = {
    "content/_index.md": "---\ntitle: Home\n---\nWelcome.",
    "content/about.md": "+++\ntitle = 'About us'\n+++\nAbout.",
    "content/docs/_index.md": "---\ntitle: The docs\nlinkTitle: Docs\nweight: 1\n---\nDocs.",
    "content/docs/Second Page.md": "---\ntitle: Second\nweight: 20\n---\nTwo.",
    "content/docs/first.md": '{"title": "First", "weight": 10}\nOne.',
    "content/docs/deep/_index.md": "---\ntitle: Deep\nweight: 15\n---\nDeep.",
    "content/docs/deep/x.md": "---\nslug: named\n---\n# X",
    "content/docs/bundle/index.md": "---\ntitle: Bundle\nweight: 30\n---\nB.",
    "content/docs/moved.md": "---\ntitle: Moved\nurl: /else/where/\nweight: 40\n---\nM.",
    "content/posts/old.md": "---\ntitle: Old\ndate: 2019-01-01\n---\nO.",
    "content/posts/new.md": "---\ntitle: New\ndate: 2021-05-05T10:00:00Z\n---\nN.",
    "content/posts/none.md": "---\ntitle: Undated\n---\nU.",
}


def test_pages_come_by_weight_date_and_title_at_their_addresses(site: Site) -> None:
    book = read(site({"hugo.toml": CONFIG, **PAGES}))
    assert (book.title, book.kind, book.notices) == ("The Site", "hugo", ())
    address = "https://site.example/sub"
    assert [(page.url.removeprefix(address), page.title, page.chapter) for page in book.pages] == [
        ("/", "Home", "Home"),
        ("/docs/", "The docs", "Docs"),
        ("/docs/first/", "First", "Docs"),
        ("/docs/deep/", "Deep", "Docs"),
        ("/docs/deep/named/", "X", "Docs"),
        ("/docs/second-page/", "Second", "Docs"),
        ("/docs/bundle/", "Bundle", "Docs"),
        ("/else/where/", "Moved", "Docs"),
        ("/about/", "About us", "About us"),
        ("/posts/new/", "New", "Posts"),
        ("/posts/old/", "Old", "Posts"),
        ("/posts/none/", "Undated", "Posts"),
    ]
    assert book.pages[2].text == "First\n\nOne."


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("draft: true", False),
        ("headless: true", False),
        ("date: 2999-01-01", False),
        ("publishDate: 2999-01-01", False),
        ("expiryDate: 2001-01-01", False),
        ("build: {render: never}", False),
        ("expiryDate: 2999-01-01", True),
        ("date: 2001-01-01", True),
    ],
)
def test_what_is_not_published_today_is_left_out_and_told_of(site: Site, field: str, shown: bool) -> None:
    root = site({"hugo.yaml": "title: S", "content/a.md": f"---\n{field}\n---\nA.", "content/b.md": "B."})
    book = read(root)
    assert [page.text for page in book.pages] == (["A.", "B."] if shown else ["B."])
    assert [(notice.file, notice.lost) for notice in book.notices] == ([] if shown else [("content/a.md", False)])


def test_shortcodes_keep_the_words_between_them(site: Site, faults: Callable[[Page], list[str]]) -> None:
    source = """Before.

{{% notice tip %}}
Inner *words*.
{{% /notice %}}

{{< figure src="/x.png" caption="What it shows" >}}

{{< highlight go "linenos=table" >}}
func main() {}
{{< /highlight >}}

See [there]({{< ref "other.md" >}}).
<!--more-->
"""
    [page] = read(site({"config.json": "{}", "content/a.md": source})).pages
    assert page.text == "Before.\n\nInner words.\n\nWhat it shows\n\nfunc main() {}\n\nSee there."
    assert [block.kind for block in page.blocks].count("code") == 1
    assert faults(page) == []


@pytest.mark.parametrize(
    "name", ["hugo.toml", "config.yaml", "config/_default/hugo.json", "config/_default/config.toml"]
)
def test_a_site_is_known_by_a_configuration_beside_its_content(site: Site, name: str) -> None:
    assert read(site({name: "", "content/a.md": "A."})).kind == "hugo"
    assert read(site({name: ""}) / "content").kind == "markdown"


def test_the_content_may_have_another_folder_but_not_outside(site: Site, tmp_path: Path) -> None:
    root = site({"hugo.toml": 'contentDir = "text"\nuglyURLs = true', "text/A.md": "A.", "content/b.md": "no"})
    assert [page.url for page in read(root).pages] == ["/a.html"]
    (root / "hugo.toml").write_text('contentDir = "../other"')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.md").write_text("secret")
    assert "secret" not in [page.text for page in read(root).pages]


def test_a_time_is_read_in_any_of_its_forms() -> None:
    for value in ("2021-05-05", "2021-05-05T00:00:00+00:00", datetime(2021, 5, 5), datetime(2021, 5, 5).date()):
        assert moment(FrontMatter({"date": value}), "date") == datetime(2021, 5, 5, tzinfo=UTC)
    assert moment(FrontMatter({"date": "soon"}), "date") is None


@given(st.sampled_from(["+++\n", "{", "---\n"]), st.text(alphabet='{}[]:="+-\n ab1', max_size=60))
def test_no_front_matter_stops_the_reader(opening: str, rest: str) -> None:
    front = hugo_fields(opening + rest)
    assert 0 <= front.end <= len(opening + rest)
