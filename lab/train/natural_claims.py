"""`python -m lab.train.natural_claims BOOKS`: writes the sentences of natural drafts as claims with their evidence.

The drafts of `natural_drafts.jsonl` are answers as chat models write them, about books whose sources are in `BOOKS`. A
claim is what the product's verifier reads of a sentence; the false version of a sentence is its twin.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from bookbound.answering.grounding.supporting_units import CitedEvidence
from bookbound.answering.grounding.verifier import find_verbatim
from bookbound.domain.reply import AnswerSentence
from lab.measure.natural_drafts import NaturalDraft, load_drafts
from lab.train.batches import Row
from lab.train.constants import OUT
from lab.train.data import write_rows

TRAINING_DRAFTS = Path(__file__).parent / "natural_drafts.jsonl"
NATURAL = "natural"
CALIBRATION_BOOKS = ("nushell", "traefik", "wagtail")
"""The thresholds are fitted on the drafts about these books, which are never trained on."""


def build_claims(drafts: Iterable[NaturalDraft]) -> Iterator[Row]:
    """The claims of drafts that are not the book's own words, each before its false twin if it has one."""
    pairs = count(1)
    for draft in drafts:
        for number, part in enumerate(draft.parts):
            if not part.is_claim:
                continue
            true = [sentence for at, sentence in draft.sentences if at == number]
            false = draft.falsify(number) if part.false_text else []
            same_form = len(true) == len(false) == 1
            pair = {"pair": next(pairs)} if same_form else {}
            for is_true, sentences in ((True, true), (False, false if same_form else [])):
                rows = [build_row(sentence, is_true) for sentence in sentences]
                part_name = "test" if draft.book in CALIBRATION_BOOKS else "train"
                yield from (row | pair | {"part": part_name} for row in rows if row)


def build_row(sentence: AnswerSentence, is_true: bool) -> Row | None:
    """A claim with the two texts that the verifier reads, or None if the verifier needs no network."""
    claim, is_code = sentence.claim, sentence.form is not None and sentence.form.kind == "code"
    if not claim or is_code or not sentence.evidence or find_verbatim(claim.words, sentence.evidence):
        return None
    cited = CitedEvidence(" ".join(claim), sentence.evidence)
    texts = {"premise": cited.supporting_text, "whole": cited.supporting_text, "context": cited.context}
    words = f"{claim.context} {claim.words}".strip()
    return {"source": NATURAL, "claim": words, "supported": is_true, **texts} if cited.stretches else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, help="the folder with the sources of the books")
    parser.add_argument("--drafts", type=Path, default=TRAINING_DRAFTS)
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    write_rows(NATURAL, build_claims(load_drafts(options.drafts, options.books)))


if __name__ == "__main__":
    main()
