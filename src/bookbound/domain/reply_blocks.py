"""Arranges the sentences of a reply as paragraphs, lists, tables and code, and writes these as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

from bookbound.domain.chunk import Chunk, ChunkLayout, QuotableUnit
from bookbound.domain.judgement import Evidence

if TYPE_CHECKING:
    from bookbound.domain.reply import AnswerSentence

ReplyBlockKind = Literal["paragraph", "heading", "list", "table", "code", "formula"]
MAX_TITLE_CHARS = 60  # longer lines rather are sentences without a full stop
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
    """An item of a list: its words, its number such as `2.` if it has one, how deep it is nested, and its quote."""

    text: str
    number: str = ""
    level: int = 0
    quote: Evidence | None = None


@dataclass(frozen=True, slots=True)
class ReplyBlock:
    """A paragraph, heading, list, table, code or formula, and the words of the book that it rests on.

    A list has `items`, a table `rows`, everything else a `text`. Code that is cut goes on in the book.
    """

    kind: ReplyBlockKind
    text: str = ""
    items: tuple[ListItem, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    has_header: bool = False
    cut_start: bool = False
    cut_end: bool = False
    evidence: tuple[Evidence, ...] = ()


class _Part(NamedTuple):
    """A unit of a quote with its place in the chunk, or words that are in no chunk."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    unit: QuotableUnit | None = None

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
    quote = next((each for each in piece.evidence if each.chunk and each.text == piece.text), None)
    if not quote:
        plain = _INLINE_MARKUP.sub(lambda found: found["code"] or found["label"], piece.text)
        yield _find_cut_code(piece) or _Part(plain, piece.evidence)
        return
    for unit in quote.units:
        moved = unit._replace(start=unit.start + quote.start, end=unit.end + quote.start)
        yield _Part(quote.text[unit.start : unit.end], (quote,), moved)


def _find_cut_code(piece: AnswerSentence) -> _Part | None:
    """Returns the beginning of a quoted code block that an interface has cut, because it stays code."""
    words = piece.text.removesuffix("...").rstrip()
    for quote in piece.evidence:
        if quote.chunk and quote.kind == "code" and words != piece.text and quote.text.startswith(words):
            return _Part(piece.text, (quote,), QuotableUnit("code", quote.start, quote.start + len(words)))
    return None


def _make_block(part: _Part) -> ReplyBlock:
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
    rows = [row for row in block.rows if not _TABLE_RULE.fullmatch(" ".join(row))]
    filled = [any(column) for column in zip_longest(*rows, fillvalue="")]
    kept = tuple(tuple(cell for cell, keep in zip(row, filled, strict=False) if keep) for row in rows)
    return replace(block, rows=kept)


def render_markdown(blocks: Iterable[ReplyBlock]) -> str:
    """Returns the blocks as Markdown that shows the words of the book as they are.

    A paragraph without evidence is an interface's own text: it is Markdown already and continues the paragraph before.
    """
    text, previous = "", ""
    for block in blocks:
        continues = previous == block.kind == "paragraph" and not block.evidence
        text += (" " if continues else "\n\n") * bool(text) + _RENDERERS[block.kind](block)
        previous = block.kind
    return text


def _render_list(block: ReplyBlock) -> str:
    """Each level is indented by the width of the marker above it; numbers that Markdown would change become words."""
    lines: list[str] = []
    parents: list[tuple[ListItem, int]] = []
    previous: dict[int, ListItem] = {}
    for item in block.items:
        while parents and parents[-1][0].level >= item.level:
            parents.pop()
        indent = parents[-1][1] if parents else 0
        marker = item.number if _continues_numbers(previous.get(item.level), item) else "-"
        words = escape_markdown(item.text)
        words = words if marker == item.number or not item.number else f"{escape_markdown(item.number)} {words}"
        if parents and item.level not in previous and marker != "-" and int(marker[:-1]) != 1:
            lines.append("")  # only a list that starts at 1 may follow the words above it directly
        lines.append(f"{' ' * indent}{marker} {words}")
        parents.append((item, indent + len(marker) + 1))
        previous = {level: each for level, each in previous.items() if level < item.level} | {item.level: item}
    return "\n".join(lines)


def _continues_numbers(before: ListItem | None, item: ListItem) -> bool:
    """Returns whether Markdown shows the number of an item as it is."""
    if not re.fullmatch(r"\d+[.)]", item.number):
        return False
    return not before or not before.number or before.number == f"{int(item.number[:-1]) - 1}{item.number[-1]}"


def _render_table(block: ReplyBlock) -> str:
    width = max(map(len, block.rows))
    rows = [[*row, *[""] * (width - len(row))] for row in block.rows]
    header = rows.pop(0) if block.has_header and len(rows) > 1 else [""] * width
    cells = [[escape_markdown(cell).replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines = [cells[0], ["---"] * width, *cells[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _render_code(block: ReplyBlock) -> str:
    longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [fence, *([CUT_MARK] * block.cut_start), block.text, *([CUT_MARK] * block.cut_end), fence]
    return "\n".join(lines)


# A space between them changes no formula, but would otherwise be a link for a program without formulas.
_BETWEEN_BRACKETS = re.compile(r"(?<=\])(?=[(\[:])")
_RENDERERS: Mapping[ReplyBlockKind, Callable[[ReplyBlock], str]] = {
    "paragraph": lambda block: escape_markdown(block.text) if block.evidence else block.text,
    "heading": lambda block: f"**{escape_markdown(block.text)}**",
    "list": _render_list,
    "table": _render_table,
    "code": _render_code,
    "formula": lambda block: f"$$\n{_BETWEEN_BRACKETS.sub(' ', block.text)}\n$$",
}
# Only what would be taken for markup is escaped, so that ordinary prose stays as it is.
_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*(?=\S)|(?<=\S)\*|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])|~(?=~)|<(?=[A-Za-z/!?])"
    r"|\](?=[(\[:])|&(?=#?\w+;)|^(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|-(?=-))"
)
_NUMBER = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")


def escape_markdown(text: str) -> str:
    """Returns a text that Markdown shows as it is."""
    return _NUMBER.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", text))
