"""Describes the structure of a rendered page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bookbound.domain.document import Block
from bookbound.sources.page_builder import RenderedPage

Shape = list[Any]


def shape_of(rendered: RenderedPage, blocks: Sequence[Block] | None = None) -> Shape:
    """Return each block as its kind and its text or the blocks inside it."""
    return [
        (block.kind, shape_of(rendered, block.children) if block.children else rendered.text[block.start : block.end])
        for block in (rendered.blocks if blocks is None else blocks)
    ]
