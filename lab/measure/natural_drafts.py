"""`python -m lab.measure.natural_drafts BOOKS`: labels the sentences of natural drafts, and counts how many are shown.

A draft is an answer as a chat model writes it from eight passages that the product found. Each of its sentences, items,
rows and blocks of code is true; many have a false version, which is read in its place. `BOOKS` is the folder with the
sources of the books, one folder each. The drafts of `natural_drafts.jsonl` were never used to choose anything; those of
`lab/train/natural_drafts.jsonl` are about other books, and are what the labels are fitted on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bookbound.answering.draft import Draft
from bookbound.answering.grounding.verifier import CrossEncoderVerifier
from bookbound.answering.writers.llm.draft_sentences import split_draft
from bookbound.answering.writers.llm.inline_markup import strip_markdown
from bookbound.answering.writers.llm.numbered_passages import NumberedPassages
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import SentenceSupport, SupportLabel
from bookbound.domain.ports import Verifier
from bookbound.domain.reply import AnswerSentence
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.models.onnx import ModelRuntime
from lab.measure.hostile_cases import find_cited_chunk, load_chunks
from lab.measure.question_sets import MEASURE

UNSEEN_DRAFTS = MEASURE / "natural_drafts.jsonl"
SUPPORTED, UNVERIFIED = SupportLabel.SUPPORTED, SupportLabel.UNVERIFIED
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_NO_WORD = re.compile(r"[\W_]+")
_ENDING_CHARACTERS = 40
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DraftPart:
    """A sentence, item, row or block of a draft, whether it claims something, and its false version if it has one."""

    before: str
    text: str
    is_claim: bool
    is_key: bool
    false_text: str = ""
    fault: str = ""


@dataclass(frozen=True)
class NaturalDraft:
    """An answer to a question, and the passages that its writer was given."""

    name: str
    book: str
    question: str
    style: str
    parts: tuple[DraftPart, ...]
    passages: tuple[Passage, ...]

    @cached_property
    def sentences(self) -> list[tuple[int, AnswerSentence]]:
        """The sentences as the product splits the draft, each with the number of its part."""
        return self._split([part.text for part in self.parts])

    def falsify(self, number: int) -> list[AnswerSentence]:
        """The sentences of a part in its false version, within the true draft."""
        texts = [part.false_text if at == number else part.text for at, part in enumerate(self.parts)]
        return [sentence for at, sentence in self._split(texts) if at == number]

    def _split(self, texts: Sequence[str]) -> list[tuple[int, AnswerSentence]]:
        numbered = NumberedPassages(self.passages)
        whole = "".join(part.before + text for part, text in zip(self.parts, texts, strict=True))
        letters, found, at = [_reduce(text) for text in texts], list[tuple[int, AnswerSentence]](), 0
        for drafted in split_draft(whole, self.question, numbered.text):
            words = _reduce(drafted.text)
            # A sentence with the verdict before it has letters of two places of its part.
            near = (*range(at, len(texts)), *range(at))
            at = next((n for n in near if words in letters[n] or words[-_ENDING_CHARACTERS:] in letters[n]), at)
            found += [(at, sentence) for sentence in numbered.build_sentences([drafted])]
        return found


def _reduce(text: str) -> str:
    """The letters and digits of a text without its Markdown."""
    return _NO_WORD.sub("", strip_markdown(_MARK.sub("", text))).casefold()


def load_drafts(file: Path, books: Path) -> list[NaturalDraft]:
    """The drafts of a file with their passages; each passage is found by the first words of its chunk."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    chunks = {}
    for book in dict.fromkeys(row["book"] for row in rows):
        files = {cited["file"] for row in rows if row["book"] == book for cited in row["cites"]}
        chunks[book] = load_chunks(books / book, files)
    return [_build_draft(row, [find_cited_chunk(cited, chunks[row["book"]]) for cited in row["cites"]]) for row in rows]


def _build_draft(row: Row, chunks: Sequence[Any]) -> NaturalDraft:
    parts = []
    for part in row["parts"]:
        false = next(iter(part.get("false", ())), {"text": "", "fault": ""})
        is_claim = part["label"] == "true"
        parts.append(
            DraftPart(part["before"], part["text"], is_claim, part.get("key", False), false["text"], false["fault"])
        )
    passages = tuple(Passage(chunk, 1.0) for chunk in chunks)
    return NaturalDraft(row["id"], row["book"], row["question"], row["style"], tuple(parts), passages)


@dataclass(frozen=True, slots=True)
class PartLabel:
    """The label of the least supported sentence of a part; a part of which no sentence claims anything has none."""

    draft: NaturalDraft
    part: DraftPart
    is_true: bool
    label: SupportLabel | None


async def label_parts(draft: NaturalDraft, verifier: Verifier) -> tuple[list[PartLabel], bool]:
    """The label of each part and of its false version, and whether a reader sees every key part."""

    async def verify(sentence: AnswerSentence) -> AnswerSentence:
        support = await verifier.verify(sentence) if sentence.makes_claim else SentenceSupport(SUPPORTED)
        return replace(sentence, evidence=support.evidence, support=support.probability, label=support.label)

    verified = [(number, await verify(sentence)) for number, sentence in draft.sentences]
    found, kept = list[PartLabel](), Draft(sentences=[sentence for _, sentence in verified])
    kept.settle(may_open_unverified=True)
    shown = {id(sentence) for sentence in kept.shown}
    keeps_key = not kept.is_withheld
    for number, part in enumerate(draft.parts):
        sentences = [sentence for at, sentence in verified if at == number]
        if part.is_claim:
            found.append(PartLabel(draft, part, True, _find_worst_label(sentences)))
            keeps_key &= not part.is_key or all(id(each) in shown for each in sentences if each.makes_claim)
        if part.false_text:
            false = [await verify(sentence) for sentence in draft.falsify(number)]
            found.append(PartLabel(draft, part, False, _find_worst_label(false)))
    return found, keeps_key


def _find_worst_label(sentences: Sequence[AnswerSentence]) -> SupportLabel | None:
    labels = [sentence.label for sentence in sentences if sentence.makes_claim]
    return max(labels, key=[*SupportLabel].index, default=None)


def build_tables(labels: Sequence[PartLabel], keeps_key: Sequence[bool]) -> Iterator[Table]:
    """How many true and false parts are supported and shown, and how many answers keep every key part."""
    table = Table("parts", "count", "supported", "shown", title="Natural drafts of a language model")
    for is_true in (True, False):
        chosen = [each for each in labels if each.is_true is is_true]
        table.add_row("true" if is_true else "false", *_count(chosen))
        names = sorted({each.draft.style if is_true else each.part.fault for each in chosen})
        for name in names:
            of_kind = [each for each in chosen if name == (each.draft.style if is_true else each.part.fault)]
            table.add_row(f"  {name}", *_count(of_kind))
    yield table
    answers = Table("answers", "count", "keep every key part")
    answers.add_row("honest", str(len(keeps_key)), f"{sum(keeps_key)} ({sum(keeps_key) / len(keeps_key):.1%})")
    yield answers


def _count(chosen: Sequence[PartLabel]) -> tuple[str, str, str]:
    labelled = [each.label for each in chosen if each.label]
    supported = labelled.count(SUPPORTED)
    shown = supported + labelled.count(UNVERIFIED)
    total = max(len(labelled), 1)
    return str(len(labelled)), f"{supported} ({supported / total:.1%})", f"{shown} ({shown / total:.1%})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, help="the folder with the sources of the books")
    parser.add_argument("--drafts", type=Path, default=UNSEEN_DRAFTS)
    options = parser.parse_args(arguments)

    async def label_all() -> list[tuple[list[PartLabel], bool]]:
        with closing(ModelRuntime()) as models:
            verifier = CrossEncoderVerifier(CrossEncoder(models))
            return [await label_parts(draft, verifier) for draft in load_drafts(options.drafts, options.books)]

    labelled = asyncio.run(label_all())
    labels = [label for found, _ in labelled for label in found]
    for table in build_tables(labels, [keeps_key for _, keeps_key in labelled]):
        Console().print(table)


if __name__ == "__main__":
    main()
