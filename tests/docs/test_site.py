"""The documentation site has every page, its links lead somewhere, and it loads nothing from other servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bookbound.sources.slugs import github_slug, python_markdown_slug

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
CONFIG = REPOSITORY / "mkdocs.yml"
DOCUMENTS = [*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md")]
TOOL = "zensical"


def read_config(name: str = "mkdocs.yml") -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))
    return loaded


def list_pages(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for each in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from list_pages(each)


def test_the_navigation_has_every_page_but_the_single_decisions() -> None:
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    decisions = {page for page in pages if re.match(r"internals/decisions/\d", page)}
    listed = list(list_pages(read_config()["nav"]))
    assert sorted(listed) == sorted(pages - decisions)


@pytest.mark.parametrize("folder", ["guides", "reference", "internals"])
def test_the_home_page_links_to_every_page_of_a_group(folder: str) -> None:
    home = (DOCS / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in (DOCS / folder).glob("*.md") if f"({folder}/{page.name})" not in home]
    assert missing == []


def list_anchors(document: Path) -> set[str]:
    """The anchors that are the same on the site and on a forge."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = [re.sub(r"`|\[([^]]*)\]\([^)]*\)", r"\1", each) for each in re.findall(r"^#+ (.*)", text, re.MULTILINE)]
    return {python_markdown_slug(each) for each in headings} & {github_slug(each) for each in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_anchor_of_a_link_is_that_of_a_heading(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link and "#" in link]
    parts = [(link, *link.split("#")) for link in links]
    assert [
        link for link, file, anchor in parts if anchor not in list_anchors(document.parent / file if file else document)
    ] == []


def test_no_page_of_the_site_links_out_of_the_folder_of_the_site() -> None:
    outside = [
        f"{page.relative_to(DOCS)}: {link}"
        for page in DOCS.rglob("*.md")
        for link in re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL))
        if "://" not in link and not (page.parent / link).resolve().is_relative_to(DOCS)
    ]
    assert outside == []


def test_the_widget_is_on_the_served_site_as_the_guide_says() -> None:
    guide = (DOCS / "guides" / "site-generators.md").read_text(encoding="utf-8")
    section = guide.partition("## MkDocs and Material for MkDocs")[2]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert block
    served = read_config("mkdocs-serve.yml")
    assert served.pop("INHERIT") == CONFIG.name
    assert set(served) == set(yaml.safe_load(block[1]))
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert served["extra_javascript"] == ["http://127.0.0.1:8000/widget.js"]
    assert "serve --index .bookbound/docs --port 8000" in makefile


def test_the_lock_of_the_tools_has_hashes_and_names_no_host() -> None:
    lock = (REPOSITORY / "requirements-docs.lock").read_text(encoding="utf-8")
    pinned = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)[1:]
    assert [each for each in pinned if "--hash=sha256:" not in each] == []
    assert "://" not in lock


def find_tool() -> str | None:
    """The tool in the environment of `make docs`, or else in the path."""
    return shutil.which(TOOL, path=os.pathsep.join([str(REPOSITORY / ".venv-docs" / "bin"), os.environ["PATH"]]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it, from a copy of the documents."""
    tool = find_tool()
    if tool is None:
        pytest.skip("Zensical is not installed, so the site cannot be built: make docs")
    folder = tmp_path_factory.mktemp("documentation")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(CONFIG, folder)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [tool, "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_site_has_every_page_and_a_search_index(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS)
        folder = name.parent if name.stem == "README" else name.with_suffix("")
        assert (site / folder / "index.html").is_file(), name
    assert "strain wave gear" in (site / "search.json").read_text(encoding="utf-8")
    assert list(site.rglob("*.py")) == []


def test_the_site_loads_nothing_from_other_servers(site: Path) -> None:
    loading = re.compile(
        r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//[^>]*|<link[^>]*\shref=["']?(?:https?:)?//[^>]*"""
    )
    styles = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^)]*""")
    found = [
        (file.name, hit) for file in site.rglob("*.html") for hit in loading.findall(file.read_text(encoding="utf-8"))
    ]
    found += [
        (file.name, hit) for file in site.rglob("*.css") for hit in styles.findall(file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("problem", ["[here](nowhere.md)", "[here](compare.md#nowhere)"])
def test_a_broken_link_or_anchor_ends_the_build(site: Path, tmp_path: Path, problem: str) -> None:
    shutil.copytree(site.parent / "docs", tmp_path / "docs")
    shutil.copy(CONFIG, tmp_path)
    home = tmp_path / "docs" / "README.md"
    home.write_text(home.read_text(encoding="utf-8") + f"\n{problem}\n", encoding="utf-8")
    command = [str(find_tool()), "build", "--strict", "--clean"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode != 0
