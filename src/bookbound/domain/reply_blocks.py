"""Arranges the sentences of a reply as paragraphs, lists, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

from bookbound.domain.chunk import Chunk, ChunkLayout, QuotableUnit
from bookbound.domain.judgement import Evidence

if TYPE_CHECKING:
    from bookbound.domain.reply import AnswerSentence, SentenceForm

ReplyBlockKind = Literal["paragraph", "heading", "list", "table", "code", "formula"]
MAX_TITLE_CHARS = 60  # longer lines rather are sentences without a full stop
UNVERIFIED_MARK = "(not verified)"
CUT_MARK = "…"
"""Stands where the book goes on."""
_ITEM_MARKER = re.compile(r"(?:[-*+•‣◦·–]|(?P<number>\(?(?:\d{1,3}|[a-z]|#)[.)]))\s+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_TABLE_RULE = re.compile(r"[\s|+]*(?::?[-=]{2,}:?[\s|+]*)+")
"""A line of hyphens below the names of columns, in a table of plain text."""
_INLINE_MARKUP = re.compile(r"(`{1,2})(?P<code>[^`\n]+)\1|\[(?P<label>[^\[\]\n]+)\]\([^()\s]*\)")
"""Code and links as a language model marks them."""
_BLOCK_KINDS: Mapping[str, ReplyBlockKind] = {
    "heading": "heading",
    "item": "list",
    "row": "table",
    "code": "code",
    "formula": "formula",
}


class ListItem(NamedTuple):
    """An item of a list: its words, its number such as `2.` if it has one, how deep it is nested, and its quote.

    If it is not verified, the quote are the words of the book that are closest.
    """

    text: str
    number: str = ""
    level: int = 0
    quote: Evidence | None = None
    is_verified: bool = True


class UnverifiedRow(NamedTuple):
    """A row of a table that is not verified: its place among all rows, and the words of the book that are closest."""

    at: int
    closest: Evidence | None


@dataclass(frozen=True, slots=True)
class ReplyBlock:
    """A paragraph, heading, list, table, code or formula, and the words of the book that it rests on.

    A list has `items`, a table `rows`, everything else a `text`. Code that is cut goes on in the book. If what it says
    is not verified, the evidence are the closest words. Items and rows say so themselves, and their blocks do not.
    """

    kind: ReplyBlockKind
    text: str = ""
    items: tuple[ListItem, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    has_header: bool = False
    cut_start: bool = False
    cut_end: bool = False
    evidence: tuple[Evidence, ...] = ()
    is_verified: bool = True
    unverified_rows: tuple[UnverifiedRow, ...] = ()

    @property
    def closest(self) -> Evidence | None:
        """The words of the book that are closest if the block is not verified."""
        return next(iter(self.evidence), None)


class _Part(NamedTuple):
    """A unit of a quote with its place in the chunk, or words that are in no chunk, maybe in a form of their own."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    unit: QuotableUnit | None = None
    form: SentenceForm | None = None
    is_verified: bool = True

    @property
    def quote(self) -> Evidence:
        return self.evidence[0]


def build_blocks(pieces: Iterable[AnswerSentence | str]) -> tuple[ReplyBlock, ...]:
    """Returns the blocks of sentences and an interface's own texts, which are paragraphs without evidence."""
    blocks: list[ReplyBlock] = []
    previous: _Part | None = None
    for part in (part for piece in pieces for part in _split_piece(piece)):
        block = _make_block(part)
        if blocks and previous and (joined := _join(blocks[-1], previous, block, part)):
            blocks[-1] = joined
        else:
            blocks.append(block)
        previous = part
    return tuple(_tidy_table(block) if block.kind == "table" else block for block in _name_titles(blocks))


def _split_piece(piece: AnswerSentence | str) -> Iterator[_Part]:
    if isinstance(piece, str):
        yield _Part(piece)
        return
    if piece.form:
        plain = piece.text if piece.form.kind == "code" else _strip_inline_markup(piece.text)
        yield _Part(plain, piece.evidence, form=piece.form, is_verified=piece.is_verified)
        return
    quote = next((each for each in piece.evidence if each.chunk and each.text == piece.text), None)
    if not quote:
        yield _find_cut_code(piece) or _Part(_strip_inline_markup(piece.text), piece.evidence)
        return
    for unit in quote.units:
        moved = unit._replace(start=unit.start + quote.start, end=unit.end + quote.start)
        yield _Part(quote.text[unit.start : unit.end], (quote,), moved)


def _strip_inline_markup(text: str) -> str:
    return _INLINE_MARKUP.sub(lambda found: found["code"] or found["label"], text)


def _find_cut_code(piece: AnswerSentence) -> _Part | None:
    """Returns the beginning of a quoted code block that an interface has cut, because it stays code."""
    words = piece.text.removesuffix("...").rstrip()
    for quote in piece.evidence:
        if quote.chunk and quote.kind == "code" and words != piece.text and quote.text.startswith(words):
            return _Part(piece.text, (quote,), QuotableUnit("code", quote.start, quote.start + len(words)))
    return None


def _make_block(part: _Part) -> ReplyBlock:
    if part.form:
        return _make_written_block(part, part.form)
    unit = part.unit
    chunk = part.quote.chunk if unit else None
    kind = _BLOCK_KINDS.get(unit.kind, "paragraph") if unit else "paragraph"
    if unit is None or chunk is None:
        if part.evidence and part.quote.kind == "heading":
            return ReplyBlock("list", items=(ListItem(part.text, quote=part.quote),), evidence=part.evidence)
        return ReplyBlock("paragraph", part.text, evidence=part.evidence)
    cut_start = chunk.cut_start and unit == chunk.units[0]
    cut_end = chunk.cut_end and unit == chunk.units[-1]
    match kind:
        case "list":
            return ReplyBlock("list", items=(_make_item(chunk, part, unit),), evidence=part.evidence)
        case "table":
            layout = ChunkLayout(chunk)
            is_header = any(map(layout.names_columns, layout.touched(unit.start, unit.end)))
            return ReplyBlock("table", rows=(chunk.split_row(unit),), has_header=is_header, evidence=part.evidence)
        case "code":
            return ReplyBlock("code", part.text, (), (), False, cut_start, cut_end, part.evidence)
        case "formula":
            return ReplyBlock("formula", part.text, evidence=part.evidence)
        case _:
            words = " ".join([*[CUT_MARK] * cut_start, *part.text.split(), *[CUT_MARK] * cut_end])
            return ReplyBlock(kind, words, evidence=part.evidence)


def _make_written_block(part: _Part, form: SentenceForm) -> ReplyBlock:
    """Returns the block of a language model's own words, in the form that it gave them."""
    block = ReplyBlock(_BLOCK_KINDS.get(form.kind, "paragraph"), evidence=part.evidence)
    match block.kind:
        case "list":
            item = ListItem(part.text, form.number, form.level, block.closest, part.is_verified)
            return replace(block, items=(item,))
        case "table":
            cells = tuple(map(_strip_inline_markup, form.cells))
            unverified = () if part.is_verified else (UnverifiedRow(0, block.closest),)
            return replace(block, rows=(cells,), has_header=form.is_header, unverified_rows=unverified)
        case _:
            return replace(block, text=part.text, is_verified=part.is_verified)


def _join_written(block: ReplyBlock, added: ReplyBlock, joined: ReplyBlock) -> ReplyBlock | None:
    """Returns two blocks of a language model's own words together, or None if they stay two blocks."""
    if block.kind == added.kind == "list":
        return replace(joined, items=block.items + added.items)
    if block.kind == added.kind == "table" and not added.has_header:
        moved = (row._replace(at=row.at + len(block.rows)) for row in added.unverified_rows)
        return replace(joined, rows=block.rows + added.rows, unverified_rows=(*block.unverified_rows, *moved))
    if block.kind == added.kind == "paragraph" and block.is_verified and added.is_verified:
        return replace(joined, text=f"{block.text} {added.text}")
    return None  # each sentence that is not verified has its own closest words


def _make_item(chunk: Chunk, part: _Part, unit: QuotableUnit) -> ListItem:
    found = _ITEM_MARKER.match(part.text)
    words = " ".join(part.text[found.end() if found else 0 :].split())
    number = (found and found["number"]) or ""
    if "#" in number:
        number = number.replace("#", str(_count_numbered_items(chunk, unit)))
    return ListItem(words, number, _indentation(chunk, unit) // 2, part.quote)


def _count_numbered_items(chunk: Chunk, unit: QuotableUnit) -> int:
    """Returns the number of an item that the source leaves to be numbered: its place in its list."""
    level, count = _indentation(chunk, unit), 1
    for before in reversed([other for other in chunk.units if other.start < unit.start]):
        indentation = _indentation(chunk, before)
        if indentation < level or (indentation == level and before.kind != "item"):
            break
        count += indentation == level
    return count


def _indentation(chunk: Chunk, unit: QuotableUnit) -> int:
    """Returns the number of spaces before a unit on its line."""
    line = chunk.text[: unit.start].rpartition("\n")[2]
    return len(line) if not line.strip() else 0


def _join(block: ReplyBlock, previous: _Part, added: ReplyBlock, part: _Part) -> ReplyBlock | None:
    """Returns a block together with the next one, or None if they stay two blocks."""
    evidence = tuple(dict.fromkeys((*block.evidence, *added.evidence)))
    joined = replace(block, evidence=evidence, cut_end=added.cut_end)
    if previous.form and part.form:
        return None if part.form.starts_paragraph else _join_written(block, added, joined)
    gap = _gap(previous, part)
    if block.kind == added.kind == "paragraph":
        is_written = bool(block.evidence and added.evidence) and not (previous.unit or part.unit)
        is_adjacent = gap is not None and not gap.strip() and not _BLANK_LINE.search(gap)
        return replace(joined, text=f"{block.text} {added.text}") if is_written or is_adjacent else None
    if block.kind == added.kind == "list" and (gap is not None or not (previous.unit or part.unit)):
        return replace(joined, items=block.items + added.items)
    if gap is None:
        return None
    if block.kind == added.kind == "table" and not _BLANK_LINE.search(gap) and not added.has_header:
        return replace(joined, rows=block.rows + added.rows)
    if block.kind == "list" and added.kind == "paragraph" and _continues_item(gap, part):
        last = block.items[-1]
        return replace(joined, items=(*block.items[:-1], last._replace(text=f"{last.text} {added.text}")))
    return None


def _gap(previous: _Part, part: _Part) -> str | None:
    """Returns the words of the book between two units of one chunk, or None."""
    if not previous.unit or not part.unit or not part.quote.chunk:
        return None
    if previous.quote.chunk_id != part.quote.chunk_id or part.unit.start < previous.unit.end:
        return None
    return part.quote.chunk.text[previous.unit.end : part.unit.start]


def _continues_item(gap: str, part: _Part) -> bool:
    is_indented = part.unit and part.quote.chunk and _indentation(part.quote.chunk, part.unit) > 1
    return not gap.strip() and bool(is_indented or not _BLANK_LINE.search(gap))


def _name_titles(blocks: list[ReplyBlock]) -> Iterator[ReplyBlock]:
    """Turns short lines that head the block after them, such as the title of a note, into headings."""
    for at, block in enumerate(blocks):
        heads = block.kind == "paragraph" and bool(block.evidence) and at + 1 < len(blocks)
        heads = heads and blocks[at + 1].kind != "formula"
        is_title = heads and len(block.text) <= MAX_TITLE_CHARS and block.text[-1:].isalnum()
        is_quoted = any(block.text in " ".join(each.text.split()) for each in block.evidence)
        yield replace(block, kind="heading") if is_title and is_quoted else block


def _tidy_table(block: ReplyBlock) -> ReplyBlock:
    """Returns a table without the rules between its rows and the columns in which nothing is said."""
    places = [at for at, row in enumerate(block.rows) if not _TABLE_RULE.fullmatch(" ".join(row))]
    rows = [block.rows[at] for at in places]
    filled = [any(column) for column in zip_longest(*rows, fillvalue="")]
    kept = tuple(tuple(cell for cell, keep in zip(row, filled, strict=False) if keep) for row in rows)
    unverified = tuple(row._replace(at=places.index(row.at)) for row in block.unverified_rows if row.at in places)
    return replace(block, rows=kept, unverified_rows=unverified)
