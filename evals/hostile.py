"""`python -m evals.hostile`: how many false sentences of a hostile model are shown, and how many true ones.

A scripted model says them on a port of this machine, several in a reply. They take the way of every draft: over HTTP,
as structured replies that are read while they come in, by the numbers of passages, to the check of each sentence.

The sentences were written by reading the passages that they cite, which are found again by a few of their words: those
of the example book, and those of real books where these are at hand. One part was written to develop the checks with,
the other afterwards, to see what they are worth.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bookbound.answering.grounding import keep_supported
from bookbound.answering.grounding.verifier import CrossEncoderVerifier
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.answering.writers.language_model import LanguageModel, LanguageModelWriter
from bookbound.domain.chunk import Chunk, Passage, QuotableUnit
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.ports import AnswerWriter, Verifier
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.indexing.split import split_page
from bookbound.models.onnx import ModelRuntime
from bookbound.sources import parse_book
from bookbound.testing.scripted_services import ScriptedServices
from bookbound.text.sentences import split_sentences
from evals.sets import BOOK, ROOT, sets

CASES = ROOT / "evals" / "hostile.jsonl"
PARTS = ("dev", "test")
ASKED, JUDGED = Question("What does the book say of this?"), Judgement(1.0, (), (), "Good")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence as a model may draft it, of which kind it is, whether it is true, and the passages it cites."""

    book: str
    part: str
    kind: str
    true: bool
    text: str
    passages: tuple[Passage, ...]

    @property
    def sentences(self) -> list[str]:
        """What it says, sentence by sentence, as it is checked."""
        return [self.text[unit.start : unit.end].casefold() for unit in split_sentences(self.text)]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(Evidence.of(passage, 0, len(passage.chunk.text), 1.0) for passage in self.passages)


def cases(books: Sequence[str] = ()) -> list[Case]:
    """The sentences over the books that are at hand, or over those named."""
    sources = {"example": BOOK} | {each.name: each.source for each in sets() if each.source.is_dir()}
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["book"] in sources and (not books or row["book"] in books)]
    with closing(ModelRuntime()) as models:
        shelf = {book: _chunks(sources[book], {*_files(rows, book)}, models) for book in {row["book"] for row in rows}}
    return [_case(row, shelf[row["book"]]) for row in rows]


def _files(rows: Sequence[dict[str, Any]], book: str) -> list[str]:
    return [cited["file"] for row in rows if row["book"] == book for cited in row["cites"]]


def _chunks(source: Path, files: set[str], models: ModelRuntime) -> list[Chunk]:
    embedder = OnnxEmbedder(models)
    tokens = cache(embedder.tokens)
    pages = [page for page in parse_book(source).pages if page.file in files]
    return [chunk for page in pages for chunk in split_page(page, tokens, embedder.budget)]


def _case(row: dict[str, Any], chunks: Sequence[Chunk]) -> Case:
    cited = tuple(Passage(_cited(each, chunks), 1.0) for each in row["cites"])
    return Case(row["book"], row["part"], row["kind"], row["true"], row["text"], cited)


def _cited(cited: dict[str, str], chunks: Sequence[Chunk]) -> Chunk:
    """The passage that holds the words, with what somebody planted at its end."""
    words = " ".join(cited["words"].split())
    found = next(each for each in chunks if each.place.file == cited["file"] and words in " ".join(each.text.split()))
    if "planted" not in cited:
        return found
    start = len(found.text) + 2
    unit = QuotableUnit("sentence", start, start + len(cited["planted"]))
    text = f"{found.text}\n\n{cited['planted']}"
    return replace(found, id=f"{found.id} {cited['planted']}", text=text, units=(*found.units, unit))


def shown(given: Sequence[Case]) -> list[bool]:
    """Which of the sentences come out where a model says them."""

    async def main() -> list[bool]:
        with closing(ModelRuntime()) as models, ScriptedServices() as services:
            verifier = CrossEncoderVerifier(CrossEncoder(models))
            model = LanguageModel("scripted", url=services.openai_url, key="none")
            try:
                found = [
                    await _come_out(said, services, LanguageModelWriter(model), verifier) for said in _replies(given)
                ]
            finally:
                await model.close()
        return [seen for each in found for seen in each]

    return asyncio.run(main())


def _replies(given: Sequence[Case]) -> Iterator[list[Case]]:
    """The sentences, reply by reply: as many as are read of one, each said once."""
    said: list[Case] = []
    for case in given:
        known = [sentence for other in said for sentence in other.sentences]
        if len(known) + len(case.sentences) > MAX_ANSWER_SENTENCES or not {*case.sentences}.isdisjoint(known):
            yield said
            said = []
        said.append(case)
    yield said


async def _come_out(
    said: Sequence[Case], services: ScriptedServices, writer: AnswerWriter, verifier: Verifier
) -> list[bool]:
    """Which sentences of one reply are left after the check; one that cites nothing gives the number of no passage."""
    passages = {passage.chunk.id: passage for case in said for passage in case.passages}
    numbers = {name: number for number, name in enumerate(passages, start=1)}
    told = [(case.text, [numbers[each.chunk.id] for each in case.passages] or [len(passages) + 1]) for case in said]
    services.says({"sentences": [{"text": text, "passages": cited} for text, cited in told], "missing": ""})
    draft = writer.write(ASKED, list(passages.values()), JUDGED)
    async with aclosing(draft), aclosing(keep_supported(draft, verifier)) as grounded:
        left = {piece.text.casefold() async for piece in grounded if isinstance(piece, AnswerSentence)}
    assert left <= {sentence for case in said for sentence in case.sentences}, "what comes out was said"
    return [left.issuperset(case.sentences) for case in said]


def hostile() -> Table:
    """How many sentences are shown, of each kind and part."""
    given = cases()
    found = list(zip(given, shown(given), strict=True))
    table = Table("sentences that are shown", *PARTS, title="Held to the book: a hostile model and an honest one")
    for true, name in ((False, "false"), (True, "true")):
        table.add_row(name, *(_share([s for c, s in found if (c.true, c.part) == (true, part)]) for part in PARTS))
        for kind in dict.fromkeys(case.kind for case in given if case.true is true):
            of = [(case.part, seen) for case, seen in found if case.true is true and case.kind == kind]
            table.add_row(f"  {kind}", *(_share([seen for at, seen in of if at == part]) for part in PARTS))
    return table


def _share(seen: Sequence[bool]) -> str:
    return f"{sum(seen)} of {len(seen)}" if seen else ""


if __name__ == "__main__":
    Console().print(hostile())
