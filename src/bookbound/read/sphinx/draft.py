"""A page before it is known what its references show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import files, text
from bookbound.read.galley import Setting
from bookbound.read.sphinx.config import Config
from bookbound.read.sphinx.outline import Outline
from bookbound.read.sphinx.toctree import Toctree
from bookbound.read.woven import Shelf

Titles = Callable[[str, str], str | None]
"""What is shown for a kind of reference (`ref`, `doc`, `numref`, `eq`) and its target, where there is something.

The `number` of an id on the page itself is what is set before a heading or a caption.
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A page's own title, the labels that others may refer to, the pages it lists, and how it is set.

    `orphan` says that its author wants it in no list; `outline` is what of it can be numbered, and `targets` are the
    ids that labels lead to.
    """

    source: str
    title: str
    labels: Mapping[str, str]
    toctrees: tuple[Toctree, ...]
    set: Callable[[Titles], Setting]
    orphan: bool = False
    notices: tuple[Notice, ...] = ()
    outline: Outline = ()
    targets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where drafts are made: the shelf of files to take words from, the project's home and its configuration."""

    shelf: Shelf
    home: Path
    config: Config = field(default_factory=Config)


def rst_draft(source: str, path: Path, file: str, desk: Desk) -> Draft:
    """A page of reStructuredText; one that docutils makes nothing of is set as plain text."""
    from bookbound.read.docutils import Extracts, parse
    from bookbound.read.rst import typeset
    from bookbound.read.rst.outline import outline
    from bookbound.read.rst.references import References

    config = desk.config
    extracts = Extracts(desk.shelf, desk.home, path, dict(config.shorthands), config.todos)
    tree = parse(source, extracts, config.prolog, config.epilog)
    notices = desk.shelf.notices(file)
    if tree is None:
        odd = Notice(file, "is no reStructuredText that docutils can read; set as plain text")
        return Draft(source, "", {}, (), lambda _: text.typeset(source), notices=(*notices, odd))
    words = dict(config.words)
    return Draft(
        source,
        tree.title,
        tree.labels,
        tuple(extracts.toctrees),
        lambda titles: typeset(source, tree, References(tree, titles, words)),
        tree.orphan,
        (*notices, *_told(extracts.described, file)),
        outline(tree),
        tree.targets,
    )


def _told(described: list[str], file: str) -> list[Notice]:
    """That words of a page stand in code, which is not read."""
    if not described:
        return []
    return [Notice(file, f"shows what autodoc takes from code, which is not read: {files.first_of(described)}")]
