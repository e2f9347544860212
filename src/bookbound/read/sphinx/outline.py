"""What of a page can be numbered, in the order of the page."""

from __future__ import annotations

from typing import Literal, NamedTuple

Counted = Literal["section", "toctree", "figure", "table", "code-block", "displaymath"]
"""The kinds of things that numbers lead to, and the lists of pages, which hand theirs on."""


class Mark(NamedTuple):
    """A thing that may get a number: how many sections hold it, itself included, its ids, and what it is called.

    The id of a list of pages is its place among those of the page.
    """

    kind: Counted
    level: int
    ids: tuple[str, ...]
    title: str = ""


Outline = tuple[Mark, ...]
