"""A folder in which the commands of the documents run: example files under their names, and stand-ins for programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.docs.blocks import REPOSITORY, STAND_INS
from tests.sources import docx_files, epub_files, pdf_files

from bookbound.settings import ENVIRONMENT_PREFIX

PROGRAM = Path(__file__).with_name("stand_in.py")
SENTENCE = "A pump needs four drops of oil a year, and an ant has six legs."


@dataclass(frozen=True, slots=True)
class Sandbox:
    folder: Path

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        clean |= {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "BOOKBOUND_READER": "fast"}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=clean | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


def make_sandbox(folder: Path, example_book: Path, example_index: Path) -> Sandbox:
    """Makes a folder with everything that the commands of the documents name."""
    for name in ("bookbound", *STAND_INS):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" {name} "$@"\n')
        program.chmod(0o755)
    for name in ("my-book", "examples/book"):
        shutil.copytree(example_book, folder / name)
    for name in ("my-index", ".bookbound"):
        shutil.copytree(example_index, folder / name)
    shutil.copytree(REPOSITORY / "deploy", folder / "deploy")
    for name in ("my-folder", "robots-book", "robots-1.x", "ants-book"):
        (folder / name).mkdir()
        (folder / name / "chapter.md").write_text(f"# {name}\n\n{SENTENCE}\n")
    lines = (REPOSITORY / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "questions.jsonl").write_text("".join(lines[::16]), encoding="utf-8")
    write_files(folder)
    return Sandbox(folder)


def write_files(folder: Path) -> None:
    """Writes a book as PDF, EPUB and DOCX."""
    page = pdf_files.text_column(72, 700, [SENTENCE])
    (folder / "book.pdf").write_bytes(pdf_files.make_pdf([page]))
    (folder / "book.docx").write_bytes(docx_files.make_docx(docx_files.paragraph(SENTENCE)))
    chapter = epub_files.make_document(f"<p>{SENTENCE}</p>", "Pumps")
    files = {"c.xhtml": chapter, "book.opf": epub_files.make_package(["c.xhtml"])}
    contents = epub_files.make_nav([(0, "Pumps", "c.xhtml")])
    (folder / "book.epub").write_bytes(epub_files.make_epub({**files, "nav.xhtml": contents}))
