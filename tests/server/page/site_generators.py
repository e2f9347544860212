"""Builds the sites of a small book as its author does, with the lines of the guide that put the widget on them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from tests.server.page.book_site import render_markdown

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "site-generators.md"
BOOK = Path(__file__).resolve().parent / "pump_book"
TITLE = "The Harbour Pump"
NAMES = ("index", "care", "faults")
LINKS = "".join(f'<li><a href="{name}.html">{name.title()}</a></li>' for name in NAMES)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the site and the server of a test are, and the key of the site."""

    site: str
    server: str = "https://ask.book.example"
    key: str = "YOUR-PUBLISHABLE-KEY"

    def fill(self, snippet: str) -> str:
        pairs = (("https://ask.book.example", self.server), ("https://book.example", self.site))
        for example, own in (*pairs, ("YOUR-PUBLISHABLE-KEY", self.key)):
            snippet = snippet.replace(example, own)
        return snippet


def read_snippets() -> dict[str, str]:
    """The first block of code below each heading of the guide."""
    sections = re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {section.partition("\n")[0]: re.search(r"```\w*\n(.*?)```", section, re.DOTALL) for section in sections}
    return {heading: block[1] for heading, block in found.items() if block}


def write_docusaurus(folder: Path, addresses: Addresses) -> None:
    copy_pages(folder / "docs", "md")
    (folder / "docs" / "index.md").write_text(f"---\nslug: /\n---\n\n{(BOOK / 'index.md').read_text()}")
    (folder / "docusaurus.config.js").write_text(
        f"export default {{\ntitle: '{TITLE}',\nurl: '{addresses.site}',\nbaseUrl: '/',\n"
        "presets: [['classic', { docs: { routeBasePath: '/' }, blog: false }]],\n"
        f"{addresses.fill(read_snippets()['Docusaurus'])}}};\n"
    )


def build_docusaurus(folder: Path, out: Path) -> None:
    program = Path(shutil.which("docusaurus") or "").resolve()
    packages = next(each for each in program.parents if each.name == "node_modules")
    (folder / "node_modules").symlink_to(packages)
    run_program(folder, "docusaurus", "build", "--out-dir", str(out))


def write_mkdocs(folder: Path, addresses: Addresses) -> None:
    copy_pages(folder / "docs", "md")
    (folder / "mkdocs.yml").write_text(
        f"site_name: {TITLE}\nsite_url: {addresses.site}/\n"
        "theme:\n  name: material\n  font: false\n  features: [navigation.instant]\n  palette: {primary: teal}\n"
        + addresses.fill(read_snippets()["MkDocs and Material for MkDocs"])
    )


def build_mkdocs(folder: Path, out: Path) -> None:
    run_program(folder, "mkdocs", "build", "--quiet", "--site-dir", str(out))


def write_sphinx(folder: Path, addresses: Addresses) -> None:
    copy_pages(folder, "rst")
    snippet = addresses.fill(read_snippets()["Sphinx"])
    (folder / "conf.py").write_text(f"project = '{TITLE}'\nhtml_baseurl = '{addresses.site}/'\n{snippet}")


def build_sphinx(folder: Path, out: Path) -> None:
    run_program(folder, "sphinx-build", "-q", str(folder), str(out))


def build_furo(folder: Path, out: Path) -> None:
    run_program(folder, "sphinx-build", "-q", "-D", "html_theme=furo", str(folder), str(out))


def write_jupyter_book(folder: Path, addresses: Addresses) -> None:
    copy_pages(folder, "md")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: care\n- file: faults\n")
    snippet = addresses.fill(read_snippets()["Jupyter Book"])
    (folder / "_config.yml").write_text(f"title: {TITLE}\nhtml:\n  baseurl: {addresses.site}/\n{snippet}")


def build_jupyter_book(folder: Path, out: Path) -> None:
    run_program(folder, "jupyter-book", "build", str(folder))
    shutil.copytree(folder / "_build" / "html", out, dirs_exist_ok=True)


def write_mdbook(folder: Path, addresses: Addresses) -> None:
    copy_pages(folder / "src", "md")
    chapters = "- [Care](care.md)\n- [Faults](faults.md)\n"
    (folder / "src" / "SUMMARY.md").write_text(f"# Summary\n\n[{TITLE}](index.md)\n{chapters}")
    (folder / "book.toml").write_text(f'[book]\ntitle = "{TITLE}"\n[output.html]\nsite-url = "/"\n')
    (folder / "theme").mkdir()
    (folder / "theme" / "head.hbs").write_text(addresses.fill(read_snippets()["mdBook"]))


def build_mdbook(folder: Path, out: Path) -> None:
    run_program(folder, "mdbook", "build", "--dest-dir", str(out), str(folder))


def build_mdbook_format(folder: Path, out: Path) -> None:
    """Write the pages in the output format of mdBook, as far as the widget sees, for machines without mdBook."""
    template = Template((BOOK / "mdbook_page.html").read_text())
    for name in NAMES:
        html = render_markdown(BOOK / f"{name}.md")
        content = re.sub(r'(<h\d id="(.*?)">)(.*?)(</h)', r'\1<a class="header" href="#\2">\3</a>\4', html)
        page = {"head": (folder / "theme" / "head.hbs").read_text(), "links": LINKS, "content": content}
        (out / f"{name}.html").write_text(template.substitute(title=f"{name.title()} - {TITLE}", **page))


def write_html(folder: Path, addresses: Addresses) -> None:
    snippet = addresses.fill(read_snippets()["Plain HTML"])
    for name in NAMES:
        (folder / f"{name}.html").write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
            f'<link rel="canonical" href="{addresses.site}/{name}.html"></head><body><nav><ul>{LINKS}</ul></nav>'
            f"<main>{render_markdown(BOOK / f'{name}.md')}</main>\n{snippet}</body></html>"
        )


def build_html(folder: Path, out: Path) -> None:
    shutil.copytree(folder, out, dirs_exist_ok=True)


def copy_pages(folder: Path, ending: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        shutil.copy(BOOK / f"{name}.{ending}", folder)


def run_program(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": ""})
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True, slots=True)
class Generator:
    """How an author writes the book for a generator and builds its site; `program` is None if tests build it alone."""

    program: str | None
    write: Callable[[Path, Addresses], None]
    build: Callable[[Path, Path], None]
    accent: str
    """The custom property of the site's accent colour, if it has one."""
    page: str = "/{}.html"
    loads_pages_itself: bool = False


GENERATORS: Mapping[str, Generator] = {
    "docusaurus": Generator("docusaurus", write_docusaurus, build_docusaurus, "--ifm-color-primary", "/{}", True),
    "mkdocs-material": Generator("mkdocs", write_mkdocs, build_mkdocs, "--md-primary-fg-color", "/{}/", True),
    "sphinx-alabaster": Generator("sphinx-build", write_sphinx, build_sphinx, ""),
    "sphinx-furo": Generator("sphinx-build", write_sphinx, build_furo, "--color-brand-primary"),
    "jupyter-book": Generator("jupyter-book", write_jupyter_book, build_jupyter_book, "--pst-color-primary"),
    "mdbook": Generator("mdbook", write_mdbook, build_mdbook, "--links"),
    "mdbook-format": Generator(None, write_mdbook, build_mdbook_format, "--links"),
    "html": Generator(None, write_html, build_html, ""),
}
