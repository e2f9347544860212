"""Joins a chunk with the neighbours in which its list, table, code or lead sentence goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookbound.answering.writers.quotes.quote_context import ANNOUNCES_TABLE
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import PageBreak, SourceSpan
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.ports import Index
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, Deadline, Retrieval

MAX_JOINED_CHARS = 6_000
MAX_JOINED_PASSAGES = 4


async def join_neighbours(
    retrieval: Retrieval, judgement: Judgement, index: Index, deadline: Deadline = NO_DEADLINE
) -> tuple[Retrieval, Judgement]:
    """Returns the passages and the evidence, in which the chunks with evidence contain what goes on next to them."""
    wanted = list(dict.fromkeys(piece.chunk_id for piece in judgement.evidence))[:MAX_JOINED_PASSAGES]
    joined: dict[str, tuple[Chunk, int]] = {}
    pages: dict[str, Sequence[Chunk]] = {}
    for chunk in (passage.chunk for passage in retrieval.passages if passage.chunk.id in wanted):
        if chunk.id != SELECTION_CHUNK_ID and _may_go_on(chunk):
            file = chunk.place.file
            if file not in pages:
                pages[file] = await index.chunks(file, deadline)
            joined[chunk.id] = join_chunk(chunk, pages[file])
    passages = (replace(each, chunk=joined.get(each.chunk.id, (each.chunk,))[0]) for each in retrieval.passages)
    evidence = (_move(each, *joined.get(each.chunk_id, (None, 0))) for each in judgement.evidence)
    return replace(retrieval, passages=tuple(passages)), replace(judgement, evidence=tuple(evidence))


def _move(piece: Evidence, chunk: Chunk | None, shift: int) -> Evidence:
    if not chunk:
        return piece
    return Evidence.from_chunk(chunk, piece.start + shift, piece.end + shift, piece.probability, piece.part)


def _may_go_on(chunk: Chunk) -> bool:
    ends = (chunk.units[0], chunk.units[-1]) if chunk.units else ()
    is_open = chunk.cut_start or _leads_on(chunk) or bool(ANNOUNCES_TABLE.search(chunk.text))
    return is_open or any(unit.kind in ("row", "item", "code") for unit in ends)


def _leads_on(chunk: Chunk) -> bool:
    return chunk.cut_end or chunk.text.rstrip().endswith((":", "："))


def join_chunk(chunk: Chunk, page: Sequence[Chunk]) -> tuple[Chunk, int]:
    """Returns a chunk with the neighbours on its page in which it goes on, and by how much its words have moved."""
    at = next((at for at, each in enumerate(page) if each.id == chunk.id), None)
    if at is None:
        return chunk, 0
    joined, first, last = chunk, at, at
    while first > 0 and _goes_on(page[first - 1], page[first]) and _fits(joined, page[first - 1]):
        first -= 1
        joined = _append(page[first], joined)
    shift = len(joined.text) - len(chunk.text)
    while last + 1 < len(page) and _goes_on(page[last], page[last + 1]) and _fits(joined, page[last + 1]):
        last += 1
        joined = _append(joined, page[last])
    breaks = (*_page_at(page[first], 0), *joined.page_breaks)
    return replace(joined, id=chunk.id, place=chunk.place, position=chunk.position, page_breaks=breaks), shift


def _fits(chunk: Chunk, other: Chunk) -> bool:
    return len(chunk.text) + len(other.text) <= MAX_JOINED_CHARS


def _goes_on(chunk: Chunk, after: Chunk) -> bool:
    """Returns whether a unit, list or table of a chunk goes on in the next one, or its last words announce that one."""
    if chunk.place.heading_path != after.place.heading_path or not chunk.units or not after.units:
        return False
    kind, next_kind = chunk.units[-1].kind, after.units[0].kind
    prose_start = max((unit.end for unit in chunk.units if unit.kind != "sentence"), default=0)
    is_announced = kind == "sentence" and bool(ANNOUNCES_TABLE.search(chunk.text, prose_start))
    return _leads_on(chunk) or (next_kind in ("row", "item") and (kind == next_kind or is_announced))


def _append(chunk: Chunk, after: Chunk) -> Chunk:
    """Returns two neighbouring chunks as one; a unit that was cut is whole again."""
    is_cut = chunk.cut_end and after.cut_start
    together = chunk.units[-1].kind == after.units[0].kind and chunk.units[-1].kind in ("row", "item")
    gap = _find_gap(chunk, after) if is_cut else "\n" if together else "\n\n"
    shift = len(chunk.text) + len(gap)
    units = [unit._replace(start=unit.start + shift, end=unit.end + shift) for unit in after.units]
    spans = tuple(SourceSpan(span.at + shift, *span[1:]) for span in after.spans)
    moved = chunk.offset + shift - after.offset
    markup = (span._replace(start=span.start + moved, end=span.end + moved) for span in after.markup)
    if is_cut:
        units[0] = units[0]._replace(kind=chunk.units[-1].kind, start=chunk.units[-1].start)
    units = [*chunk.units[: -1 if is_cut else None], *units]
    breaks = (*chunk.page_breaks, *_page_at(after, shift))
    breaks += tuple(each._replace(at=each.at + shift) for each in after.page_breaks)
    return replace(
        chunk,
        text=f"{chunk.text}{gap}{after.text}",
        place=replace(chunk.place, end=after.place.end),
        units=tuple(units),
        spans=chunk.spans + spans,
        cut_end=after.cut_end,
        page_breaks=breaks,
        markup=tuple(dict.fromkeys((*chunk.markup, *markup))),
    )


def _page_at(chunk: Chunk, at: int) -> tuple[PageBreak, ...]:
    """Returns the printed page on which a chunk begins, as a break at a position, if it has one."""
    place = chunk.place
    return (PageBreak(at, place.page, place.page_label, place.anchor),) if place.page is not None else ()


def _find_gap(chunk: Chunk, after: Chunk) -> str:
    """Returns what stands between the halves of a unit: a space, a line break or a blank line."""
    if chunk.units[-1].kind not in ("code", "formula"):
        return " "
    return "\n" if after.place.start - chunk.place.end <= 1 else "\n\n"
