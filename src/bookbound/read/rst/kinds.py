"""Which elements of a tree show words, which show code, and which show nothing."""

from __future__ import annotations

from bookbound.book import BlockKind

ADMONITIONS = frozenset(
    "admonition note tip warning attention caution danger error hint important topic sidebar".split()
)
UNSEEN = frozenset(
    "comment target substitution_definition pending system_message raw meta label transition footnote_reference"
    " colspec decoration docinfo image".split()
)
WORDS = frozenset("paragraph rubric caption term classifier attribution field_name title subtitle".split())
CODE: dict[str, BlockKind] = {"literal_block": "code", "doctest_block": "code", "math_block": "formula"}
