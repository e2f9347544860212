"""A Hugo site is read with its order, URLs and shortcodes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.generators.hugo.config import HugoSite
from bookbound.sources.generators.hugo.page_source import (
    PageLocation,
    expand_shortcodes,
    parse_date_field,
    parse_hugo_front_matter,
)
from bookbound.sources.includes import substitute
from bookbound.sources.page_loader import FrontMatter

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


def test_pages_are_sorted_by_weight_date_and_title_and_have_their_urls(site: Site) -> None:
    book = parse_book(site({"hugo.toml": CONFIG, **PAGES}))
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
def test_pages_that_are_not_published_today_are_left_out_with_a_notice(site: Site, field: str, shown: bool) -> None:
    root = site({"hugo.yaml": "title: S", "content/a.md": f"---\n{field}\n---\nA.", "content/b.md": "B."})
    book = parse_book(root)
    assert [page.text for page in book.pages] == (["A.", "B."] if shown else ["B."])
    assert [(notice.file, notice.lost) for notice in book.notices] == ([] if shown else [("content/a.md", False)])
    assert book.is_volatile is ("2999" in field), "only a date that has yet to come changes it"


def test_text_between_shortcodes_is_kept(site: Site, faults: Callable[[Page], list[str]]) -> None:
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
    [page] = parse_book(site({"config.json": "{}", "content/a.md": source})).pages
    assert page.text == "Before.\n\nInner words.\n\nWhat it shows\n\nfunc main() {}\n\nSee there."
    assert [block.kind for block in page.blocks].count("code") == 1
    assert faults(page) == []


@pytest.mark.parametrize(
    "name", ["hugo.toml", "config.yaml", "config/_default/hugo.json", "config/_default/config.toml"]
)
def test_a_site_is_recognised_by_a_configuration_next_to_its_content(site: Site, name: str) -> None:
    assert parse_book(site({name: "", "content/a.md": "A."})).kind == "hugo"


def test_a_page_with_front_matter_only_shows_its_title(site: Site) -> None:
    root = site({"hugo.toml": "", "content/a.md": "A.", "content/b.md": '{"title": "Only a title"}'})
    assert [page.text for page in parse_book(root).pages] == ["A.", "Only a title"]


def test_the_content_folder_alone_finds_the_configuration_above_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    later = {"content/posts/later.md": "---\ndate: 2999-01-01\n---\nL."}
    root = site({"hugo.toml": CONFIG, **PAGES, **later})
    whole, part = parse_book(root), parse_book(root / "content")
    assert (part.kind, part.title, part.notices) == ("hugo", "The Site", whole.notices)
    assert [(page.file, page.url) for page in part.pages] == [(page.file, page.url) for page in whole.pages]
    monkeypatch.chdir(root / "content")
    assert parse_book(Path()).pages == whole.pages
    assert parse_book(root / "content" / "docs").kind == "markdown"


def test_the_content_folder_of_a_language_is_the_site_in_that_language(site: Site) -> None:
    config = "[languages.en]\nweight = 1\ncontentDir = 'content/en'\n[languages.fr]\ncontentDir = 'content/fr'\n"
    root = site({"hugo.toml": config, "content/en/a.md": "A.", "content/fr/b.md": "B."})
    assert [page.url for page in parse_book(root / "content" / "fr").pages] == ["/fr/b/"]
    assert [page.url for page in parse_book(root / "content" / "en", edition="2.0").pages] == ["/a/"]
    assert [page.url for page in parse_book(root / "content", edition="fr").pages] == ["/fr/b/"]
    with pytest.raises(SourceError, match="en, fr"):
        parse_book(root, edition="2.0")


def test_the_content_folder_can_be_configured_but_not_outside(site: Site, tmp_path: Path) -> None:
    root = site({"hugo.toml": 'contentDir = "text"\nuglyURLs = true', "text/A.md": "A.", "content/b.md": "no"})
    assert [page.url for page in parse_book(root).pages] == ["/a.html"]
    (root / "hugo.toml").write_text('contentDir = "../other"')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.md").write_text("secret")
    assert "secret" not in [page.text for page in parse_book(root).pages]


def test_a_date_is_read_in_any_form() -> None:
    for value in ("2021-05-05", "2021-05-05T00:00:00+00:00", datetime(2021, 5, 5), datetime(2021, 5, 5).date()):
        assert parse_date_field(FrontMatter({"date": value}), "date") == datetime(2021, 5, 5, tzinfo=UTC)
    assert parse_date_field(FrontMatter({"date": "soon"}), "date") is None


@given(st.sampled_from(["+++\n", "{", "---\n"]), st.text(alphabet='{}[]:="+-\n ab1', max_size=60))
def test_any_front_matter_can_be_parsed(opening: str, rest: str) -> None:
    front = parse_hugo_front_matter(opening + rest)
    assert 0 <= front.end <= len(opening + rest)


DATED = "---\ntitle: 'The A: Title'\ndate: 2021-03-04\n---\nA."
SECTIONS = {
    "content/posts/_index.md": "---\ntitle: Posts\n---\nP.",
    "content/posts/a file.md": DATED,
    "content/posts/b/index.md": "---\ntitle: Bundle\ndate: 2021-03-04\n---\nB.",
    "content/posts/sub/_index.md": "---\ntitle: Sub\n---\nS.",
    "content/posts/sub/c.md": "---\ntitle: C\nslug: c-slug\ndate: 2022-11-09\n---\nC.",
    "content/posts/sub/deep/d.md": "---\ntitle: D\n---\nD.",
    "content/top.md": "---\ntitle: Top\n---\nT.",
}


def urls(root: Path, edition: str | None = None) -> dict[str, str]:
    return {page.file.removeprefix("content/"): page.url for page in parse_book(root, edition=edition).pages}


# As Hugo 0.166 publishes them.
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            'permalinks.posts = "/:year/:month/:slug/"',
            {
                "posts/_index.md": "/posts/",
                "posts/a file.md": "/2021/03/the-a-title/",
                "posts/b/index.md": "/2021/03/bundle/",
                "posts/sub/_index.md": "/posts/sub/",
                "posts/sub/c.md": "/2022/11/c-slug/",
                "posts/sub/deep/d.md": "/0001/01/d/",
                "top.md": "/top/",
            },
        ),
        (
            'permalinks.posts = "/:section/:sections/:sections[last]/:day/:monthname/:weekday-:weekdayname/:yearday'
            '/:filename/:title/:slugorfilename"',
            {
                "posts/a file.md": "/posts/posts/posts/04/march/4-thursday/63/a-file/the-a-title/a-file/",
                "posts/sub/c.md": "/posts/posts/sub/sub/09/november/3-wednesday/313/c/c/c-slug/",
            },
        ),
        (
            '[permalinks.page]\nposts = "/p/:contentbasename/"\n"/" = "/root/:slug/"\n'
            '[permalinks.section]\nposts = "/s/:sections[1:]/"',
            {
                "posts/_index.md": "/s/",
                "posts/sub/_index.md": "/s/sub/",
                "posts/b/index.md": "/p/b/",
                "posts/sub/deep/d.md": "/p/d/",
                "top.md": "/root/top/",
            },
        ),
        (
            'uglyURLs = true\npermalinks.posts = "/p/:slug/"',
            {"posts/_index.md": "/posts/index.html", "posts/sub/c.md": "/p/c-slug.html", "top.md": "/top.html"},
        ),
        (
            "uglyURLs.posts = true",
            {"posts/b/index.md": "/posts/b.html", "posts/sub/deep/d.md": "/posts/sub/deep/d.html", "top.md": "/top/"},
        ),
    ],
)
def test_a_section_can_have_a_permalink_pattern(site: Site, config: str, expected: dict[str, str]) -> None:
    found = urls(site({"hugo.toml": config, **SECTIONS}))
    assert {file: found[file] for file in expected} == expected


def test_a_url_keeps_letters_digits_and_a_few_marks(site: Site) -> None:
    names = {"A (b) c's+~@,;é": "", "Up/Low X": "", "x.y": "", "s": "slug: A Slug/with é & Things"}
    names |= {"u": "url: /x/y", "v": "url: X/With Space/", "w": "url: /x/z.html", "t": "url: /posts/:slug/\ntitle: T"}
    pages = {f"content/{name}.md": f"---\n{fields}\n---\nx" for name, fields in names.items()}
    assert urls(site({"hugo.toml": "", **pages})) == {
        "A (b) c's+~@,;é.md": "/a-b-cs+~@%C3%A9/",
        "Up/Low X.md": "/up/low-x/",
        "s.md": "/a-slug/with-%C3%A9-things/",
        "t.md": "/posts/t/",
        "u.md": "/x/y/",
        "v.md": "/X/With%20Space/",
        "w.md": "/x/z.html",
        "x.y.md": "/x.y/",
    }


def test_other_files_of_a_bundle_are_not_pages(site: Site) -> None:
    root = site({"hugo.toml": "", "content/b/index.md": "B.", "content/b/part.md": "P.", "content/b/in/x.md": "X."})
    book = parse_book(root)
    assert [page.url for page in book.pages] == ["/b/"]
    assert {notice.file for notice in book.notices} == {"content/b/part.md", "content/b/in/x.md"}


LANGUAGES = (
    'baseURL = "https://x.example/s/"\ndefaultContentLanguage = "fr"\nlanguages.en.weight = 1\nlanguages.fr.weight = 2'
)


def test_the_default_language_is_read_and_the_others_are_editions(site: Site) -> None:
    names = ("_index", "_index.en", "a", "a.en", "b.fr", "c.en", "v1.2", "f.de")
    pages = {f"content/{name}.md": f"---\ntitle: {name}\n---\nx" for name in names}
    root = site({"hugo.toml": LANGUAGES, **pages, "content/e.en.md": "---\nurl: rel/e/\n---\nx"})
    assert sorted(url.removeprefix("https://x.example/s") for url in urls(root).values()) == [
        *("/", "/a/", "/b/", "/f.de/", "/v1.2/")
    ]
    assert sorted(url.removeprefix("https://x.example/s") for url in urls(root, "en").values()) == [
        *("/en/", "/en/a/", "/en/c/", "/en/rel/e/")
    ]
    assert [(notice.message, notice.lost) for notice in parse_book(root).notices] == [
        ("read in fr; --edition reads another language: en", False)
    ]


def test_a_language_can_have_its_own_folder_and_settings(site: Site) -> None:
    config = {
        "config/_default/hugo.yaml": "baseURL: /\ntitle: Site\ndefaultContentLanguageInSubdir: true",
        "config/_default/languages.toml": "[en]\nweight = 1\n[de]\ncontentDir = 'content/de'\ntitle = 'Seite'",
        "config/_default/permalinks.yaml": "posts: /p/:slug/",
        "config/production/hugo.yaml": "baseURL: https://live.example/",
    }
    root = site({**config, "content/posts/a.md": DATED, "content/de/posts/b.md": DATED})
    assert urls(root) == {"posts/a.md": "https://live.example/en/p/the-a-title/"}
    assert (parse_book(root).title, parse_book(root, edition="de").title) == ("Site", "Seite")
    assert urls(root, "de") == {"de/posts/b.md": "https://live.example/de/p/the-a-title/"}


SHORTCODES = """---
title: A
params: {own: mine}
---
V {{< param "version" >}} and {{% param own %}}.

{{% comment %}} hidden {{% /comment %}}

```go
{{</* ref "x" */>}}
```

Use `{{</* ref "y" */>}}` here, {{</* shown */>}}.

{{< figure
  src="a.png"
  caption="Over lines"
>}}

{{< tabs >}}
{{< tab name="First" >}}
One *tab*.
{{< /tab >}}
{{% tab "Second" %}}
Two.
{{% /tab %}}
{{< /tabs >}}
"""


def test_built_in_shortcodes_are_expanded(site: Site, faults: Callable[[Page], list[str]]) -> None:
    [page] = parse_book(site({"hugo.toml": 'params.version = "1.9"', "content/a.md": SHORTCODES})).pages
    assert page.text.split("\n\n") == [
        *("A", "V 1.9 and mine.", '{{< ref "x" >}}', 'Use {{< ref "y" >}} here, {{< shown >}}.', "Over lines"),
        *("First", "One tab.", "Second", "Two."),
    ]
    assert faults(page) == []


@given(st.text(alphabet='{}<>%/*`~ param"highlightcomment\n', max_size=120))
def test_any_text_can_be_searched_for_shortcodes(text: str) -> None:
    assert isinstance(substitute(text, expand_shortcodes(text, FrontMatter(), FrontMatter())).text, str)


@given(st.text(alphabet=':sectionslug[]1last/:.{} é\n"', max_size=60), st.text(max_size=20))
def test_any_permalink_pattern_gives_a_url(pattern: str, title: str) -> None:
    site = HugoSite(Path(), FrontMatter({"permalinks": {"posts": pattern}}), Path())
    location = PageLocation(Path("posts/a.md"), FrontMatter({"url": title}), title, ("posts",))
    assert location.url(site).startswith("/")
