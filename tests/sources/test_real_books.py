"""Reads whole books as their authors wrote them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from bookbound.domain.document import Page, ParsedBook
from bookbound.sources import parse_book

pytestmark = pytest.mark.slow
BOOKS = (
    "byte_of_python",
    "d2l_en",
    "docusaurus_docs",
    "fastapi_docs",
    "hf_deep_rl_course",
    "isaaclab_docs",
    "learn2love",
    "mdbook_guide",
    "mkdocs_docs",
    "physical_ai_2",
    "python_robotics_docs",
    "ros2_docs",
)
# The names of admonitions and containers in all dialects; not shown if these have a title.
NAMES = set("note tip info warning danger caution important details tab success attention hint error".split())


@cache
def parsed(folder: Path) -> ParsedBook:
    return parse_book(folder)


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest, shared: Path) -> ParsedBook:
    folder = shared / "data" / "books" / request.param
    if not folder.is_dir():
        pytest.skip(f"{request.param} is not available here")
    return parsed(folder)


def test_every_span_is_exact_and_every_block_is_in_order(book: ParsedBook, faults: Callable[[Page], list[str]]) -> None:
    assert [fault for page in book.pages for fault in faults(page)] == []


def test_pages_are_in_reading_order_and_have_a_title_a_url_and_a_chapter(book: ParsedBook) -> None:
    assert [page.position for page in book.pages] == list(range(len(book.pages)))
    assert all(
        page.title and page.chapter and page.url.startswith(("/", "https://")) and page.text for page in book.pages
    )
    assert len({page.url for page in book.pages}) == len(book.pages)


def test_no_visible_word_is_lost(book: ParsedBook) -> None:
    lost: Counter[str] = Counter()
    total = 0
    for page in book.pages:
        expected = Counter(_crude_rst(page.source) if page.file.endswith(".rst") else _crude_markdown(page.source))
        total += expected.total()
        lost += expected - Counter(_words(page.text))
    for name in NAMES:
        del lost[name]
    assert lost.total() < 0.001 * total, f"{lost.total()} of {total}: {lost.most_common(40)}"


@pytest.mark.parametrize("name", ["byte_of_python", "hf_deep_rl_course", "ros2_docs"])
def test_every_page_with_an_answer_is_read(name: str, shared: Path) -> None:
    questions = shared / "data" / "questions" / f"{name}.jsonl"
    if not questions.is_file():
        pytest.skip(f"no questions are available about {name} here")
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    evidence = {piece["file"] for row in rows for piece in row["evidence"]}
    assert evidence
    assert evidence <= {page.file for page in parsed(shared / "data" / "books" / name).pages}


# The entries of the index, each with its number of pages, including unlisted pages of its folder.
CHAPTERS = {
    "ros2_docs": [
        *(("ROS 2 Documentation", 1), ("Installation", 27), ("Distributions", 24), ("Tutorials", 115)),
        *(("How-to Guides", 54), ("Concepts", 28), ("Contact", 1), ("The ROS 2 Project", 15), ("Package Docs", 1)),
        *(("Related Projects", 3), ("Glossary", 1), ("Citations", 1)),
    ],
    "python_robotics_docs": [
        *(("Welcome to PythonRobotics's documentation!", 1), ("Getting Started", 5), ("Introduction", 4)),
        *(("Localization", 6), ("Mapping", 11), ("SLAM", 6), ("Path Planning", 26), ("Path Tracking", 9)),
        *(("Arm Navigation", 4), ("Aerial Navigation", 3), ("Bipedal", 2), ("Inverted Pendulum", 1)),
        *(("Mission Planning", 3), ("Utilities", 2), ("Appendix", 6)),
    ],
    "isaaclab_docs": [
        *(("API Reference", 30), ("Container Deployment", 5), ("Experimental features", 1)),
        *(("Newton Physics Integration", 9), ("Features", 5), ("How-to Guides", 19), ("From IsaacGymEnvs", 2)),
        *(("Migration", 2), ("Core Concepts", 11), ("Developer's Guide", 4), ("Overview", 3)),
        *(("Imitation Learning", 4), ("Build your Own Project or Task", 3), ("Reinforcement Learning", 5)),
        *(("Sim2Real Deployment of Policies Trained in Isaac Lab", 4), ("Refs", 10), ("Setup", 11)),
        *(("Local Installation", 6), ("Walkthrough", 6), ("Tutorials", 21)),
    ],
}


@pytest.mark.parametrize("name", CHAPTERS)
def test_sphinx_books_have_the_pages_and_chapters_of_their_toctrees(name: str, shared: Path) -> None:
    folder = shared / "data" / "books" / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not available here")
    found = parsed(folder)
    assert found.kind == "sphinx"
    assert list(Counter(page.chapter for page in found.pages).items()) == CHAPTERS[name]


def test_prose_contains_no_markup(book: ParsedBook) -> None:
    tags = "div|details|summary|Tabs|TabItem|figure"
    markup = re.compile(rf"^:::+\w*$|\{{#[\w-]+\}}|</?(?:{tags})\b|^(?:/{{3,}}|!!!) ", re.MULTILINE)
    stray = [
        f"{page.file}: {found[0]}"
        for page in book.pages
        for found in markup.finditer(_prose(page))
        if not re.search(rf"`[^`\n]*{re.escape(found[0].strip())}", page.source)
    ]
    assert stray == []


def _prose(page: Page) -> str:
    return "\n".join(page.text[b.start : b.end] for b in page.blocks if b.kind in ("paragraph", "heading"))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def _crude_markdown(source: str) -> Iterator[str]:
    """Extract the words of Markdown roughly: code as it is, and the rest without markup."""
    fence, prose = "", []
    source = re.sub(
        r"(?ms)^```toc$.*?^```$|:(?:numref|eqref|cite[tp]?):`[^`\n]*`|(?<!\\)\{\{#[^{}\n]*\}\}", " ", source
    )
    source = re.sub(r"(?ms)^```rust.*?^```$", lambda code: re.sub(r"(?m)^ *#(?: .*)?$", "", code[0]), source)
    # Descriptions of pictures are not part of the text.
    source = re.sub(r"!\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^)\n]*\)|<img\b[^>]*>", " ", source)
    # Highlighting comments are not shown.
    source = re.sub(r"(?m)^[^\w\n]*highlight-(?:next-line|start|end)[^\w\n]*$", "", source)
    source = re.sub(r'(?s)<div class="termy">.*?</div>', lambda found: re.sub(r"<[^<>\n]*>", "", found[0]), source)
    lines = re.sub(r"(?ms)^(`{3,})mdx-code-block\n(.*?)^\1$", r"\2", source).split("\n")
    if lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        lines = lines[[line.strip() for line in lines].index("---", 1) + 1 :]
    for line in lines:
        bare = line.lstrip(" \t>").removeprefix("- ").removeprefix("* ")
        bare = re.sub(r"^\d+\. +", "", bare)
        if fence:
            if bare.startswith(fence) and not bare.strip("`~ "):
                fence = ""
            else:
                yield from _words(line)
        elif re.match(r"(`{3,}[^`]*|~{3,}.*)$", bare):
            fence = (re.match(r"[`~]+", bare) or [""])[0]
            prose.append("")
        else:
            prose.append(line)
    yield from _words(_without_markup("\n".join(prose)))


def _without_markup(text: str) -> str:
    quoted: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        quoted.append(found[2])
        return f"\ue000{len(quoted) - 1}\ue001"

    text = re.sub(r"(?s)<!--.*?-->|\{/\*.*?\*/\}", " ", text)
    text = re.sub(r"(?s)(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", set_aside, text)
    text = re.sub(r"(?ms)^(?:import|export)\b[^\n]*(?:\n(?!\s*\n)[^\n]*)*", " ", text)
    text = re.sub(r"(?s)<(script|style|head|Head)\b.*?</\1>", " ", text)
    text = re.sub(r"(?s)<(?!https?:|mailto:)/?[A-Za-z][^<>]*(?:=>[^<>]*)*>", " ", text)
    text = re.sub(r"(?m)\[\[[\w-]+\]\][ \t]*$|^:[a-z_]+:\S*|^ *:::+.*\{.*\}|^::: .*$", " ", text)
    for _ in range(4):
        text = re.sub(r"\{[^{}\n]*\}|(?<= )\[[ xX]\](?= )|\{(?:[^{}$]|\$\{)*\}", " ", text)
    text = re.sub(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\s*\)", "]", text)
    text = re.sub(r"(?m)^\s*\[[^\]\n]+\]:\s*\S+.*$|\[\^[^\]\s]*\]:?", " ", text)
    text = re.sub(r"\]\[[^\]\n]*\]", "]", text)
    text = re.sub(r"&#?\w+;", " ", text)
    text = re.sub(r"(?<=\w)\*{1,2}(?=\w)|(?<=\w)\\(?=_)", "", text)
    return re.sub("\ue000(\\d+)\ue001", lambda found: quoted[int(found[1])], text)


def _crude_rst(source: str) -> Iterator[str]:
    """Extract the words of reStructuredText roughly."""
    seen = "code-block code math tabs note group-tab tab-set tab-item warning tip dropdown rubric admonition".split()
    titled = ("group-tab", "rubric", "tab-item", "dropdown", "admonition", "note")
    hidden_below = -1
    for line in _plain_rst(source).split("\n"):
        depth, bare = len(line) - len(line.lstrip()), line.strip()
        if hidden_below >= 0 and (not bare or depth > hidden_below):
            continue
        hidden_below = -1
        if re.match(r"\.\.(?: |$)", bare):
            found = re.match(r"\.\. ([\w-]+) ?::(?: +(.*)|$)", bare)
            name = found[1].lower() if found else ""
            yield from _words((found and found[2]) or "") if name in titled else ()
            hidden_below = depth if name not in seen else -1
        elif not re.match(r":[\w-]+:(?: |$)|__ ", bare):
            yield from _words(line)


def _plain_rst(source: str) -> str:
    source = re.sub(r":(?:icon|eq|class|func|meth|attr|mod|cite\S*):`[^`]*`", " ", source)
    source = re.sub(r":(?:ref|doc):`[^`<]*`", " ", source)
    source = re.sub(r":math:`([^`]*)`(?:\\ )?", r" \1 ", source)
    source = re.sub(r":[\w:-]+:`~?([^`<]*?)\s*(?:<[^`>]*>)?`", r" \1 ", source)
    source = re.sub(r"`((?:[^`<\n]|\n(?!\s*\n))*)\s*<[^`<>]*>`_*", r"\1", source)
    source = re.sub(r"(?<=`)\\ (?=\w)|(?<=\w)\\ (?=\W)", "", source)
    return re.sub(r"\|[^|\s][^|\n]*\||\[[\w#]+\]_", " ", source)
