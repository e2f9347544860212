"""What is set, as its structure is read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bookbound.domain.document import Block
from bookbound.sources.page_builder import RenderedPage

Shape = list[Any]


def shape_of(setting: RenderedPage, blocks: Sequence[Block] | None = None) -> Shape:
    """Blocks as kind and words, or as kind and the blocks inside."""
    return [
        (block.kind, shape_of(setting, block.children) if block.children else setting.text[block.start : block.end])
        for block in (setting.blocks if blocks is None else blocks)
    ]
