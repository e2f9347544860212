"""The files of a folder that no generator puts together: Markdown, reStructuredText and plain text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import endings, text
from bookbound.read.dialect import MARKDOWN, MDX
from bookbound.read.doc import Doc, load_doc, set_doc
from bookbound.read.frontmatter import FrontMatter
from bookbound.read.galley import Setting
from bookbound.read.included import included
from bookbound.read.sphinx.draft import Desk, rst_draft
from bookbound.read.woven import Shelf, Woven, weave


@dataclass(frozen=True, slots=True)
class Loose:
    """Sets the files below `root`, all with one shelf to take words from; Markdown takes some only if it `includes`."""

    root: Path
    shelf: Shelf
    includes: bool = False

    def doc(self, path: Path) -> tuple[Doc | None, list[Notice]]:
        """The file at `path` by what it ends in, and what is odd about it."""
        file = path.relative_to(self.root).as_posix()
        kind = path.suffix.lower()
        if kind in endings.MARKDOWN:
            return load_doc(path, file, MDX if kind == ".mdx" else MARKDOWN, weave=self._woven)

        def words(source: str, front: FrontMatter) -> tuple[Setting, list[Notice]]:
            if kind != ".rst":
                return text.typeset(source), []
            draft = rst_draft(source, path, file, Desk(self.shelf, self.root))
            return draft.set(lambda kind, target: None), list(draft.notices)

        return set_doc(path, file, words)

    def _woven(self, source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
        woven = weave(source, included(source, path, self.shelf, start) if self.includes else ())
        return woven, self.shelf.notices(path.relative_to(self.root).as_posix())
