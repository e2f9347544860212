"""An mdBook is read with its chapters, URLs and included files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page, SourceNotice
from bookbound.sources import parse_book
from bookbound.sources.generators.mdbook import find_includes
from bookbound.sources.includes import IncludeLoader, substitute

Site = Callable[[dict[str, str]], Path]

CONFIG = """
[book]
title = "The Book"
[output.html]
site-url = "/the-book/"
[output.html.code.hidelines]
python = "~"
"""
SUMMARY = """# Summary

[Before](README.md)

# First part

- [One](one.md)
    - [Inner](deep/README.md)
        - [Inmost](deep/in%20most.md)
    - [Later]()
- [Two](two.md)

# Second part

- [Three](three.md)
- [Gone](gone.md)

---

[After](after.md)
"""


def book_of(site: Site, **pages: str) -> Path:
    summary = "\n".join(f"- [{name}]({name}.md)" for name in pages)
    written = {f"src/{name}.md": text for name, text in pages.items()}
    return site({"book.toml": CONFIG, "src/SUMMARY.md": summary, **written})


def test_the_book_has_the_pages_of_its_summary_at_the_urls_of_mdbook(site: Site) -> None:
    names = ("README", "one", "deep/README", "deep/in most", "two", "three", "after", "unlisted")
    root = site({"book.toml": CONFIG, "src/SUMMARY.md": SUMMARY} | {f"src/{name}.md": f"# {name}" for name in names})
    book = parse_book(root)
    assert (book.title, book.kind) == ("The Book", "mdbook")
    assert [(page.file, page.url, page.chapter) for page in book.pages] == [
        ("src/README.md", "/the-book/index.html", "Before"),
        ("src/one.md", "/the-book/one.html", "One"),
        ("src/deep/README.md", "/the-book/deep/index.html", "One"),
        ("src/deep/in most.md", "/the-book/deep/in%20most.html", "One"),
        ("src/two.md", "/the-book/two.html", "Two"),
        ("src/three.md", "/the-book/three.html", "Second part"),
        ("src/after.md", "/the-book/after.html", "After"),
    ]
    assert book.notices == (
        SourceNotice("src/SUMMARY.md", "the chapter Later is a draft"),
        SourceNotice("src/SUMMARY.md", "lists gone.md, which does not exist", lost=True),
        SourceNotice("src/SUMMARY.md", "1 file left out, not listed here: src/unlisted.md"),
    )


@pytest.mark.parametrize("folder", ["", "guide/"])
def test_a_book_is_recognised_by_a_configuration_here_or_one_folder_down(site: Site, folder: str) -> None:
    files = {"book.toml": '[book]\nsrc = "text"', "text/SUMMARY.md": "- [A](a.md)", "text/a.md": "a"}
    root = site({f"{folder}{name}": text for name, text in files.items()})
    assert [page.url for page in parse_book(root).pages] == ["/a.html"]
    assert [(page.file, page.url) for page in parse_book(root / folder / "text").pages] == [("a.md", "/a.html")]


FILE = """fn one() {}
fn two() {}
// ANCHOR: kept
fn kept() {}
// ANCHOR: inner
fn inner() {}
// ANCHOR_END: inner
// ANCHOR_END: kept
fn last() {}
"""


@pytest.mark.parametrize(
    ("link", "lines"),
    [
        ("{{#include ../file.rs:2}}", ["fn two() {}"]),
        ("{{#include ../file.rs::2}}", ["fn one() {}", "fn two() {}"]),
        ("{{#include ../file.rs:9:}}", ["fn last() {}"]),
        ("{{#include ../file.rs:1:2}}", ["fn one() {}", "fn two() {}"]),
        ("{{#include ../file.rs:kept}}", ["fn kept() {}", "fn inner() {}"]),
        ("{{ #rustdoc_include ../file.rs:inner }}", ["fn inner() {}"]),
        ("{{#include ../file.rs:nothing}}", []),
        ("\\{{#include ../file.rs}}", ["{{#include ../file.rs}}"]),
        ("{{#unknown}}", ["{{#unknown}}"]),
    ],
)
def test_an_include_selects_lines_or_an_anchor_of_a_file(
    site: Site, link: str, lines: list[str], faults: Callable[[Page], list[str]]
) -> None:
    root = book_of(site, a=f"Before.\n\n```rust\n{link}\n```\n\nAfter.")
    (root / "file.rs").write_text(FILE)
    [page] = parse_book(root).pages
    assert page.text == "\n\n".join(filter(None, ["Before.", "\n".join(lines), "After."]))
    assert faults(page) == []


def test_an_included_page_is_part_of_the_page_but_a_title_is_not(site: Site) -> None:
    source = "{{#title Not shown}}\n# A\n\n{{#include part.txt}}\n\n## End\n\nLast words."
    root = book_of(site, a=source)
    (root / "src" / "part.txt").write_text("## End\n\nA *part*.\n\n{{#playground ../x.rs editable}}")
    (root / "x.rs").write_text("fn main() {}\n")
    [page] = parse_book(root).pages
    assert page.text == "A\n\nEnd\n\nA part.\n\nfn main() {}\n\nEnd\n\nLast words."
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == ["a", "end", "end-1"]
    last = page.spans[-1]
    assert source[last.start : last.end] == "Last words."


def test_a_template_is_filled_with_its_arguments(site: Site) -> None:
    root = book_of(site, a="{{#template part.txt name=The name of it size=2}}")
    (root / "src" / "part.txt").write_text("*[[#name]]* has [[#size]] of [[#colour red]][[#none]].")
    assert parse_book(root).pages[0].text == "The name of it has 2 of red."


def test_files_outside_of_the_book_are_not_included_and_cycles_end(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Secret.")
    root = book_of(
        site, a="A {{#include ../../secret.txt}}", b="B\n\n{{#include b.md}}", c="C {{#include /etc/passwd}}"
    )
    (root / "src" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "src" / "c.md").write_text("C {{#include link.txt}}")
    book = parse_book(root)
    assert [page.text[:1] for page in book.pages] == ["A", "B", "C"]
    assert not any("Secret" in page.text for page in book.pages)
    assert [notice.file for notice in book.notices if notice.lost] == ["src/a.md", "src/c.md"]


def test_hidden_lines_of_code_are_not_read(site: Site) -> None:
    code = "```rust\n# hidden();\nfn main() {\n    # hidden();\n#\n    ## shown\n#[test]\n}\n```\n"
    python = "```python\n~hidden = 1\nshown = 2\n```\n\n```sh,hidelines=!\n!hidden\n# shown\n```"
    [page] = parse_book(book_of(site, a=code + "\n" + python)).pages
    assert page.text == "fn main() {\n    # shown\n#[test]\n}\n\nshown = 2\n\n# shown"


@given(st.text(alphabet="{}#include ab:.\\1\n", max_size=100))
def test_any_text_can_be_searched_for_includes(text: str) -> None:
    here = Path(__file__)
    assert isinstance(substitute(text, find_includes(text, here, IncludeLoader(here.parent))).text, str)


GUIDE = """README guide/installation guide/reading guide/creating cli/README cli/init cli/build cli/watch cli/serve
cli/test cli/clean cli/completions format/README format/summary format/configuration/README
format/configuration/general format/configuration/preprocessors format/configuration/renderers
format/configuration/environment-variables format/theme/README format/theme/index-hbs
format/theme/syntax-highlighting format/theme/editor format/mathjax format/mdbook format/markdown
continuous-integration for_developers/README for_developers/preprocessors for_developers/backends
misc/contributors""".split()


@pytest.mark.slow
def test_the_real_mdbook_guide_is_read_in_its_order(shared: Path) -> None:
    folder = shared / "data" / "books" / "mdbook_guide"
    if not folder.is_dir():
        pytest.skip("the mdBook guide is not among the real books here")
    book = parse_book(folder)
    assert (book.title, book.kind) == ("mdBook Documentation", "mdbook")
    assert [page.file for page in book.pages] == [f"guide/src/{name}.md" for name in GUIDE]
    assert list(dict.fromkeys(page.chapter for page in book.pages)) == [
        *("Introduction", "User guide", "Command-line tool", "Format", "Continuous integration", "For developers"),
        "Contributors",
    ]
    # Headings of format/summary.md and of cli/init.md.
    anchors = {page.file: [block.anchor for block in page.blocks if block.kind == "heading"] for page in book.pages}
    assert anchors["guide/src/format/summary.md"] == ["summarymd", "structure", "example"]
    assert anchors["guide/src/cli/init.md"] == [
        *("the-init-command", "tip-generate-chapters-from-summarymd", "specify-a-directory"),
        *("--theme", "--title", "--ignore", "--force"),
    ]
    init = next(page for page in book.pages if page.file.endswith("cli/init.md"))
    assert init.url == "/mdBook/cli/init.html"
