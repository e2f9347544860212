"""`python -m evals.hostile`: counts the false and the true sentences of a hostile model that readers would see.

A scripted model sends them over HTTP, several in a reply, and they are parsed and verified like any draft. Each
sentence cites passages of the example book or of a real book, which are found by a few of their words. The sentences
of part `dev` were written to develop the checks, those of part `test` afterwards.

`python -m evals.hostile --claims FILE` counts the claims of a file instead. Each line is a JSON object with `id`,
`book`, `premise`, `claim`, `supported` and `kind`; the premise is the passage that the claim cites. A claim with `near`
instead cites the passage of the training data that begins so, and one with `cites` passages of a real book, as above.
All are about books that no network was trained on. The sentences of `evals/drafts.jsonl` and
`evals/unseen_drafts.jsonl` were written with the product's prompt, by an honest model and by one that lies; those of
`evals/claims.jsonl` and `evals/unseen_claims.jsonl` in other words than the book's. The unseen ones were written after
the weights were trained and are not used to fit anything.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bookbound.answering.grounding.supported_sentences import keep_supported
from bookbound.answering.grounding.verifier import CrossEncoderVerifier
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.answering.writers.language_model import LanguageModelWriter
from bookbound.answering.writers.openai_agents import LanguageModel
from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.ports import AnswerWriter, Verifier
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence
from bookbound.indexing.split import split_page
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder
from bookbound.sources import parse_book
from bookbound.testing.scripted_services import ScriptedServices
from bookbound.text.sentences import split_sentences
from evals.sets import DATA, ROOT, list_question_sets

CASES = ROOT / "evals" / "hostile.jsonl"
OPENING_CHARACTERS = 80
QUESTION, JUDGEMENT = Question("What does the book say of this?"), Judgement(1.0, (), (), "Good")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence that a model may draft, its kind, whether it is true, and the passages that it cites."""

    book: str
    part: str
    kind: str
    true: bool
    text: str
    passages: tuple[Passage, ...]

    @property
    def sentences(self) -> list[str]:
        """The text split into sentences, as the verifier sees them."""
        return [self.text[unit.start : unit.end].casefold() for unit in split_sentences(self.text)]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(Evidence.from_chunk(passage.chunk, 0, len(passage.chunk.text), 1.0) for passage in self.passages)


def load_cases(books: Sequence[str] = ()) -> list[Case]:
    """The sentences about the named books, or about all books that exist."""
    known = [book for book in _list_sources() if not books or book in books]
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["book"] in known]
    chunks = _load_cited_chunks({cited for row in rows for cited in _list_cited_files(row)})
    return [_build_case(row, row["part"], row["text"], row["true"], chunks) for row in rows]


def load_claims(file: Path) -> list[Case]:
    """The claims of a file as sentences of one part, each of which cites its premise or passages of its book."""
    rows, cited = dict[int, dict[str, Any]](), set[tuple[str, str]]()
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            with _name_bad_line(file, number):
                rows[number] = row = dict(json.loads(line))
                cited |= _list_cited_files(row)
    chunks = _load_cited_chunks(cited)
    cases = []
    for number, row in rows.items():
        with _name_bad_line(file, number):
            if "cites" in row:
                cases.append(_build_case(row, file.stem, row["claim"], row["supported"], chunks))
                continue
            if "premise" not in row:
                row["premise"] = _load_passages()[row["book"], row["near"]]
            cases.append(build_claim_case(row, file.stem, row["kind"]))
    return cases


@contextmanager
def _name_bad_line(file: Path, number: int) -> Iterator[None]:
    """Names the line of a file in the error if it is not a claim."""
    try:
        yield
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"Line {number} of {file} is not a claim ({error!r}). See --help.") from error


@cache
def _load_passages() -> dict[tuple[str, str], str]:
    """The passages of the training data by their book and first characters."""
    with gzip.open(DATA / "reading" / "book_reading.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = map(json.loads, file)
        return {(row["book"], row["context"][:OPENING_CHARACTERS]): row["context"] for row in rows}


def build_claim_case(row: dict[str, Any], part: str, kind: str) -> Case:
    """A claim with its own premise as a sentence that cites it."""
    passage = Passage(_build_premise(row["book"], row["id"], row["premise"]), 1.0)
    return Case(row["book"], part, kind, row["supported"], " ".join(row["claim"].split()), (passage,))


def _build_premise(book: str, name: str, text: str) -> Chunk:
    place = Place(book, "", "", book, (), "", 0, len(text))
    spans = (SourceSpan(0, len(text), 0, len(text)),)
    return Chunk(f"{book} {name}", text, place, 0, spans, tuple(split_sentences(text)))


def _list_sources() -> dict[str, Path]:
    """The sources of all books that exist."""
    return {each.name: each.source for each in list_question_sets() if each.source.is_dir()}


def _list_cited_files(row: dict[str, Any]) -> set[tuple[str, str]]:
    """The book of a sentence and each of the files that it cites."""
    return {(row["book"], cited["file"]) for cited in row.get("cites", ())}


def _load_cited_chunks(cited: set[tuple[str, str]]) -> dict[str, list[Chunk]]:
    """The chunks of these files by their book, for all books that exist."""
    sources = _list_sources()
    with closing(ModelRuntime()) as models:
        return {
            name: _load_chunks(sources[name], {file for book, file in cited if book == name}, models)
            for name in {book for book, _ in cited} & {*sources}
        }


def _load_chunks(source: Path, files: set[str], models: ModelRuntime) -> list[Chunk]:
    embedder = OnnxEmbedder(models)
    count_tokens = cache(embedder.count_tokens)
    pages = [page for page in parse_book(source).pages if page.file in files]
    return [chunk for page in pages for chunk in split_page(page, count_tokens, embedder.max_tokens)]


def _build_case(row: dict[str, Any], part: str, text: str, true: bool, chunks: dict[str, list[Chunk]]) -> Case:
    cited = tuple(Passage(_find_cited_chunk(each, chunks[row["book"]]), 1.0) for each in row["cites"])
    return Case(row["book"], part, row["kind"], true, text, cited)


def _find_cited_chunk(cited: dict[str, str], chunks: Sequence[Chunk]) -> Chunk:
    """The chunk with the given words, and with a planted instruction at its end if there is one."""
    words = " ".join(cited["words"].split())
    of_file = (each for each in chunks if each.place.file == cited["file"])
    found = next((each for each in of_file if words in " ".join(each.text.split())), None)
    if found is None:
        raise LookupError(f"no chunk of {cited['file']} has the words {words!r}")
    if "planted" not in cited:
        return found
    start = len(found.text) + 2
    unit = QuotableUnit("sentence", start, start + len(cited["planted"]))
    text = f"{found.text}\n\n{cited['planted']}"
    return replace(found, id=f"{found.id} {cited['planted']}", text=text, units=(*found.units, unit))


def find_shown(cases: Sequence[Case]) -> list[bool]:
    """Which of the sentences readers would see."""

    async def main() -> list[bool]:
        with closing(ModelRuntime()) as models, ScriptedServices() as services:
            verifier = CrossEncoderVerifier(CrossEncoder(models))
            model = LanguageModel("scripted", url=services.openai_url, key="none")
            try:
                shown = [
                    await _verify_reply(reply, services, LanguageModelWriter(model), verifier)
                    for reply in _group_into_replies(cases)
                ]
            finally:
                await model.close()
        return [is_shown for reply in shown for is_shown in reply]

    return asyncio.run(main())


def _group_into_replies(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Groups as many sentences as a reply may have, without repeating one."""
    reply: list[Case] = []
    for case in cases:
        known = [sentence for other in reply for sentence in other.sentences]
        is_full = len(known) + len(case.sentences) > MAX_ANSWER_SENTENCES
        if reply and (is_full or not {*case.sentences}.isdisjoint(known)):
            yield reply
            reply = []
        reply.append(case)
    if reply:
        yield reply


async def _verify_reply(
    reply: Sequence[Case], services: ScriptedServices, writer: AnswerWriter, verifier: Verifier
) -> list[bool]:
    """Which sentences of one reply survive; one without citations cites a number that no passage has."""
    passages = {passage.chunk.id: passage for case in reply for passage in case.passages}
    numbers = {name: number for number, name in enumerate(passages, start=1)}
    drafts = [(case.text, [numbers[each.chunk.id] for each in case.passages] or [len(passages) + 1]) for case in reply]
    services.reply_with({"sentences": [{"text": text, "passages": cited} for text, cited in drafts], "missing": ""})
    draft = writer.write(QUESTION, list(passages.values()), JUDGEMENT)
    async with aclosing(draft), aclosing(keep_supported(draft, verifier)) as grounded:
        shown = {piece.text.casefold() async for piece in grounded if isinstance(piece, AnswerSentence)}
    assert shown <= {sentence for case in reply for sentence in case.sentences}, "only drafted sentences survive"
    return [shown.issuperset(case.sentences) for case in reply]


def build_hostile_table(cases: Sequence[Case]) -> Table:
    """The number of sentences that are shown, by kind and part."""
    results = list(zip(cases, find_shown(cases), strict=True))
    parts = list(dict.fromkeys(case.part for case in cases))
    table = Table("sentences that are shown", *parts, title="Sentences of a hostile and of an honest model")
    for true, name in ((False, "false"), (True, "true")):
        table.add_row(
            name, *(_format_count([s for c, s in results if (c.true, c.part) == (true, part)]) for part in parts)
        )
        for kind in dict.fromkeys(case.kind for case in cases if case.true is true):
            of_kind = [(case.part, seen) for case, seen in results if case.true is true and case.kind == kind]
            table.add_row(
                f"  {kind}", *(_format_count([seen for each, seen in of_kind if each == part]) for part in parts)
            )
    return table


def _format_count(seen: Sequence[bool]) -> str:
    return f"{sum(seen)} of {len(seen)}" if seen else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=Path, metavar="FILE", help="count the claims of this file instead")
    options = parser.parse_args(arguments)
    try:
        cases = load_claims(options.claims) if options.claims else load_cases()
    except (OSError, ValueError) as error:
        parser.error(str(error))
    Console().print(build_hostile_table(cases))


if __name__ == "__main__":
    main()
