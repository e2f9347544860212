"""Code, lists and tables that the splitter cut are whole again when they are quoted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

from tests.answering.writers.conftest import Pages

from bookbound.answering.writers.quotes.neighbour_chunks import join_neighbours
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.ports import Index
from bookbound.domain.question import NO_DEADLINE, Deadline, Retrieval
from bookbound.domain.reply import AnswerSentence
from bookbound.domain.reply_blocks import ReplyBlock, build_blocks
from bookbound.evaluation.quote_locations import QuoteLocator

CODE = "\n".join(f"step_{number} = {number}" for number in range(30))
ROWS = "\n".join(f"| row{number} | {number} |" for number in range(20))


class PageIndex:
    """An index of one page."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._chunks = chunks

    async def chunks(self, file: str, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        return [chunk for chunk in self._chunks if chunk.place.file == file]


def join(folder: Path, text: str, words: str, budget: int = 40) -> tuple[Passage, Evidence, Chunk]:
    """Returns the passage and the evidence after joining, and the chunk with the words before it."""
    (folder / "a.md").write_text(text, encoding="utf-8")
    pages = Pages(folder, budget)
    evidence = pages.evidence(words)
    retrieval = Retrieval(tuple(pages.passages))
    judgement = Judgement(0.9, (), (evidence,), "Good")
    index = cast(Index, PageIndex(pages.chunks))
    joined, judged = asyncio.run(join_neighbours(retrieval, judgement, index))
    passage = next(each for each in joined.passages if each.chunk.id == evidence.chunk_id)
    assert evidence.chunk is not None
    return passage, judged.evidence[0], evidence.chunk


def blocks_of(passage: Passage) -> tuple[ReplyBlock, ...]:
    chunk = passage.chunk
    whole = Evidence.from_chunk(chunk, 0, len(chunk.text), 1.0)
    return build_blocks([AnswerSentence(chunk.text, (whole,))])


def test_code_that_was_cut_is_whole_again(tmp_path: Path) -> None:
    passage, evidence, before = join(tmp_path, f"# A\n\nRun this:\n\n```\n{CODE}\n```\n\nDone.", "step_20")
    assert before.cut_start
    code = next(block for block in blocks_of(passage) if block.kind == "code")
    assert (code.text, code.cut_start, code.cut_end) == (CODE, False, False)
    assert evidence.text == "step_20"


def test_a_table_that_was_cut_has_all_rows_and_its_header(tmp_path: Path) -> None:
    passage, _, before = join(tmp_path, f"# A\n\nThe rows:\n\n| name | number |\n|---|---|\n{ROWS}\n", "row17 | 17")
    assert "name | number" not in before.text
    table = next(block for block in blocks_of(passage) if block.kind == "table")
    assert table.has_header
    assert [row[0] for row in table.rows] == ["name", *(f"row{number}" for number in range(20))]


def test_a_bar_in_code_ends_no_cell_in_any_part_of_a_table_that_was_cut(tmp_path: Path) -> None:
    rows = "\n".join(f"| row{number} | `int \\| None` | {number} |" for number in range(20))
    for words in ("row1 ", "row17 "):
        source = f"# A\n\nThe rows:\n\n| name | type | number |\n|---|---|---|\n{rows}\n"
        passage, *_ = join(tmp_path, source, words)
        table = next(block for block in blocks_of(passage) if block.kind == "table")
        assert table.rows[1:] == tuple((f"row{number}", "int | None", f"{number}") for number in range(20))


def test_a_lead_sentence_brings_what_it_announces_in_the_next_chunk(tmp_path: Path) -> None:
    lead = "word " * 30 + "and these are the hens:"
    passage, _, before = join(tmp_path, f"# A\n\n{lead}\n\n" + "- hen\n" * 20, "these are the hens", budget=36)
    assert "- hen" not in before.text
    assert [block.kind for block in blocks_of(passage)] == ["paragraph", "list"]


def test_a_table_that_was_announced_some_sentences_before_is_joined(tmp_path: Path) -> None:
    prose = "word " * 30 + "and the following table has the hens. Hens are listed by their age."
    passage, _, before = join(tmp_path, f"# A\n\n{prose}\n\n" + "- hen\n" * 20, "the following table", budget=46)
    assert "- hen" not in before.text
    assert [block.kind for block in blocks_of(passage)] == ["paragraph", "list"]


def test_prose_is_not_joined(tmp_path: Path) -> None:
    passage, _, before = join(tmp_path, "# A\n\n" + "Hens walk slowly. " * 15 + "\n\n" + "Cats run fast. " * 15, "Hens")
    assert passage.chunk == before


def test_another_section_is_not_joined(tmp_path: Path) -> None:
    passage, _, _ = join(tmp_path, "# A\n\n## One\n\n- corn\n- 42 worms\n\n## Two\n\n- grass\n", "42 worms")
    assert "grass" not in passage.chunk.text


def test_a_joined_chunk_keeps_its_id_and_place(tmp_path: Path) -> None:
    passage, evidence, before = join(tmp_path, f"# A\n\n```\n{CODE}\n```\n", "step_20")
    assert (passage.chunk.id, passage.chunk.place) == (before.id, before.place)
    assert evidence.chunk_id == before.id


def test_a_citation_that_goes_on_in_the_next_chunk_is_verbatim(tmp_path: Path) -> None:
    passage, _, before = join(tmp_path, f"# A\n\n```\n{CODE}\n```\n", "step_20")
    whole = Evidence.from_chunk(passage.chunk, 0, len(passage.chunk.text), 1.0)
    assert len(whole.text) > len(before.text)
    locator = QuoteLocator(cast(Index, PageIndex(Pages(tmp_path, 40).chunks)))
    assert asyncio.run(locator.is_verbatim(whole))
    assert not asyncio.run(locator.is_verbatim(replace(whole, text=f"{whole.text}!")))


def test_nested_items_that_were_cut_apart_keep_their_levels(tmp_path: Path) -> None:
    nested = "".join(f"  - part {number} of the leg\n" for number in range(20))
    passage, _, before = join(tmp_path, f"# A\n\nParts:\n\n- a leg\n{nested}- an arm\n", "part 12")
    assert before.text.lstrip().startswith("- part")
    (items,) = (block.items for block in blocks_of(passage) if block.kind == "list")
    assert [item.level for item in items] == [0, *[1] * 20, 0]


def test_a_chunk_that_begins_with_a_nested_item_has_one_level(tmp_path: Path) -> None:
    nested = "".join(f"  - part {number} of the leg\n" for number in range(20))
    _, _, chunk = join(tmp_path, f"# A\n\nParts:\n\n- a leg\n{nested}- an arm\n", "part 12")
    (block,) = blocks_of(Passage(chunk, 0.5))
    assert len({item.level for item in block.items if item.text.startswith("part")}) == 1
