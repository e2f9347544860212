"""Formats the blocks of a reply, and the question that it answers, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bookbound.cli.terminal import BLANK_LINE, COLUMN_GAP, StyledLine, StyledText, styled
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply_blocks import CUT_MARK, UNVERIFIED_MARK, ReplyBlock

MAX_GRID_CHARS = 96
"""A wider table is shown row by row."""
MARK_STYLE, CODE_STYLE = "bold", "green"
CLOSEST_WORDS = " The closest words of the book: "
CharSpans = Sequence[tuple[int, int]]


def format_completed_question(question: str) -> list[StyledLine]:
    """How a question was understood, if that is not how it was asked."""
    return [styled(("Understood as: ", "dim"), (question, "italic")), BLANK_LINE] if question else []


def format_block(
    block: ReplyBlock, citations: str = "", marks: CharSpans = (), item_citations: Sequence[str] = ()
) -> Iterator[StyledLine]:
    """The lines of a block; the citations follow its last words or each item, and the words at `marks` stand out.

    Those of a block that is not verified follow the closest words, because only these are the book's.
    """
    citations, of_closest = (citations, "") if block.is_verified else ("", citations)
    cited = ((f" {citations}", "cyan"),) if citations else ()
    match block.kind:
        case "list":
            ends = item_citations or [*[""] * (len(block.items) - 1), citations]
            yield from _format_list(block, ends)
        case "table":
            yield from _format_cells(block)
            yield from _format_own_line(citations)
        case "code" | "formula":
            lines = [CUT_MARK] * block.cut_start + [block.text] + [CUT_MARK] * block.cut_end
            yield styled(("\n".join(lines), CODE_STYLE), indent=4, no_wrap=True)
            yield from _format_own_line(citations)
        case "heading":
            yield styled((block.text, "bold"), *cited)
        case _:
            yield styled(*_mark_words(block.text, marks), *cited)
    if not block.is_verified:
        yield _format_unverified(block.closest, citations=of_closest)
    for at, closest in block.unverified_rows:
        yield _format_unverified(closest, block.rows[at][0])


def _format_unverified(closest: Evidence | None, name: str = "", indent: int = 0, citations: str = "") -> StyledLine:
    """The mark of what a language model says and the book does not prove, with the words that are closest.

    A row of a table is named by its first cell.
    """
    mark = f"{name}: {UNVERIFIED_MARK}" if name else UNVERIFIED_MARK
    words = f"“{' '.join(closest.text.split())}”" if closest else ""
    cited = (f" {citations}" if words and citations else "", "cyan")
    return styled((mark, "yellow"), CLOSEST_WORDS * bool(words), (words, "italic"), cited, indent=indent)


def _format_own_line(citations: str) -> Iterator[StyledLine]:
    if citations:
        yield styled((citations, "cyan"))


def _format_list(block: ReplyBlock, citations: Sequence[str]) -> Iterator[StyledLine]:
    for item, cited in zip(block.items, citations, strict=True):
        marker = f"{item.number or '•'} "
        end = (f" {cited}", "cyan") if cited else ""
        yield styled(marker, item.text, end, indent=2 * item.level, hanging_indent=len(marker))
        if not item.is_verified:
            yield _format_unverified(item.quote, indent=2 * item.level + len(marker))


def _format_cells(block: ReplyBlock) -> Iterator[StyledLine]:
    """A grid, or one row after the other with the names of the columns if the grid would be too wide."""
    columns = max(map(len, block.rows))
    rows = [(*row, *[""] * (columns - len(row))) for row in block.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    has_header = block.has_header and len(rows) > 1
    if sum(widths) + len(COLUMN_GAP) * (columns - 1) <= MAX_GRID_CHARS:
        for at, row in enumerate(rows):
            padded = COLUMN_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            yield styled((padded, "bold" if has_header and at == 0 else ""), no_wrap=True)
        return
    names = rows[0] if has_header else ("",) * columns
    for row in rows[has_header:]:
        yield styled("• ", (row[0], "bold"), hanging_indent=2)
        for name, cell in zip(names[1:], row[1:], strict=True):
            if cell:
                yield styled((f"{name}: " if name else "", "dim"), cell, indent=2, hanging_indent=2)


def _mark_words(text: str, marks: CharSpans) -> Iterator[StyledText]:
    at = 0
    for start, end in marks:
        if start >= at:
            yield text[at:start], ""
            yield text[start:end], MARK_STYLE
            at = end
    yield text[at:], ""
