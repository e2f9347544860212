"""`python -m lab.train.fit_support_threshold BOOKS`: fits when a claim counts as supported, and when as plausible.

The data are the sentences of natural drafts, which chat models write, and older claims: held-out claims about books,
those of `lab/measure/claims.jsonl` and `lab/measure/drafts.jsonl`, and the development part of
`lab/measure/hostile.jsonl`. A claim is supported from the threshold that a given small share of the false natural
sentences reaches, and plausible from the one that a given large share of the true ones reaches: a marked sentence does
less harm than an answer without a true one.

The shipped network reads them in about two hours. With a GPU it takes minutes: `--list` writes the rows of tokens to
read, `python -m lab.train.claim_readings` reads them, and this module finds what was read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bookbound.answering.grounding.supporting_units import CitedEvidence
from bookbound.answering.grounding.verifier import MAX_CLAIM_CHARACTERS, CrossEncoderVerifier, find_verbatim
from bookbound.domain.judgement import Claim, Evidence
from bookbound.models import CONSTANTS_FILE, STRONG_READER_FILE, load_constants
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.models.onnx import ModelRuntime, Network
from lab.measure.hostile_cases import build_claim_case, load_cases, load_claims
from lab.measure.natural_drafts import NaturalDraft, load_drafts
from lab.measure.question_sets import MEASURE
from lab.train.batches import Array, load_rows
from lab.train.fit_reader_constants import MODELS, fit_logistic, has_both, name_weights
from lab.train.natural_claims import CALIBRATION_BOOKS, NATURAL, TRAINING_DRAFTS
from lab.train.recorded_claims import CLAIM_LOGITS, CLAIM_ROWS, RowCollector, load_claim_network
from lab.train.recorded_readers import RecordedModels

FEATURES = ("whole", "context", "numbers", "names", "quantifiers", "negates", "swaps", "new")
HELD_OUT_SOURCES = ("contrasting", "book_claims", "draft_twins")
CLAIM_FILES = (MEASURE / "claims.jsonl", MEASURE / "drafts.jsonl")
OTHER_WEIGHT = 0.25
"""All older claims together weigh so much of what the natural sentences weigh."""
MIN_FALSE_SHOWN = 2
"""A threshold rests on at least so many of the false sentences."""
FALSE_SHARES = (0.01, 0.02, 0.05)
MAX_FALSE_SUPPORTED, MIN_TRUE_SHOWN = 0.015, 0.94
"""A little stricter than what is published, 2 % and 93 %, because other books differ."""
SEED = 7


class ReadClaim(NamedTuple):
    """A claim with its evidence and whether it is true; with `features` once it is read."""

    source: str
    is_true: bool
    claim: Claim
    evidence: tuple[Evidence, ...]
    features: dict[str, float] | None = None


def load_natural_claims(drafts: Iterable[NaturalDraft]) -> Iterator[ReadClaim]:
    """The sentences of drafts that make a claim, except code, and those of their false versions."""
    for draft in drafts:
        source = f"{NATURAL} {draft.book}"
        for number, part in enumerate(draft.parts):
            true = [each for at, each in draft.sentences if at == number] if part.is_claim else []
            false = draft.falsify(number) if part.false_text else []
            for is_true, sentences in ((True, true), (False, false)):
                for each in sentences:
                    if each.claim and each.kind != "code":
                        yield ReadClaim(source, is_true, each.claim, each.evidence)


def load_other_claims(sample: int) -> Iterator[ReadClaim]:
    """Held-out claims, those of two files and hostile sentences of part `dev`; at most `sample` of each."""
    rng = random.Random(SEED)
    rows = [row for row in load_rows("support") if row["part"] == "test"]
    cases = []
    for source in HELD_OUT_SOURCES:
        found = [row for row in rows if row["source"] == source]
        for number, row in enumerate(rng.sample(found, min(sample, len(found)))):
            cases.append(build_claim_case(row | {"book": source, "id": str(number)}, source, source))
    hostile = [case for case in load_cases() if case.part == "dev" and case.evidence]
    for found_cases in (hostile, *map(load_claims, CLAIM_FILES)):
        cases += rng.sample(found_cases, min(sample, len(found_cases)))
    for case in cases:
        yield ReadClaim(case.part, case.true, Claim(case.text), case.evidence)


async def read_claims(claims: Iterable[ReadClaim], reader: CrossEncoder) -> list[ReadClaim]:
    """The claims that the network reads, each with its features."""
    verifier, found = CrossEncoderVerifier(reader), list[ReadClaim]()
    for each in claims:
        cited = CitedEvidence(" ".join(each.claim), each.evidence)
        is_read = cited.stretches and len(each.claim.words) <= MAX_CLAIM_CHARACTERS
        if is_read and not find_verbatim(each.claim.words, each.evidence):
            found.append(each._replace(features=await verifier.compute_features(each.claim, cited)))
            if len(found) % 500 == 0:
                print(f"{len(found)} claims", flush=True)
    return found


def open_reader(network: Network) -> CrossEncoder:
    """The strong reader with the shipped constants and this network."""
    return CrossEncoder(RecordedModels({STRONG_READER_FILE: network}, load_constants(MODELS / CONSTANTS_FILE)))


class SupportFit(NamedTuple):
    """The weights of the features, and the probability from which a claim is plausible."""

    weights: dict[str, float]
    plausible: float


def fit(claims: Sequence[ReadClaim], max_supported: float, min_shown: float) -> SupportFit:
    """Fits the weights, and thresholds that support this share of the false sentences and show this one of the true."""
    table = np.array([[float(each.features[name]) for name in FEATURES] for each in claims if each.features])
    labels = np.array([each.is_true for each in claims])
    natural = np.array([each.source.startswith(NATURAL) for each in claims])
    false = natural & ~labels
    if false.sum() * max_supported < MIN_FALSE_SHOWN:
        raise SystemExit(f"There are only {false.sum()} false natural sentences. Write more, or allow a larger share.")
    counts = np.where(natural, 1.0, OTHER_WEIGHT * natural.sum() / max((~natural).sum(), 1))
    weights = fit_logistic(table, labels.astype(float), weights=counts)
    scores = table @ weights[:-1]
    supported, shown = (
        np.quantile(scores[false], 1 - max_supported),
        np.quantile(scores[natural & labels], 1 - min_shown),
    )
    weights[-1] = -supported
    return SupportFit(name_weights(FEATURES, weights), round(float(1 / (1 + np.exp(supported - shown))), 4))


def score(claims: Sequence[ReadClaim], weights: dict[str, float]) -> Array:
    """The log-odds that each claim is supported."""
    return (
        np.array([sum(weights[name] * each.features[name] for name in FEATURES) for each in claims if each.features])
        + weights["constant"]
    )


def describe(claims: Sequence[ReadClaim], scores: Array, plausible: float) -> Iterator[str]:
    """How many true and false claims of each source are supported and shown."""
    labels, lowest = np.array([each.is_true for each in claims]), np.log(plausible / (1 - plausible))
    sources = np.array([each.source for each in claims])
    natural = np.char.startswith(sources, NATURAL)
    for name, here in [("all natural", natural), *((source, sources == source) for source in sorted({*sources}))]:
        if has_both(labels[here].astype(float)):
            yield f"{name}: {describe_scores(scores[here & labels], scores[here & ~labels], lowest)}"


def describe_scores(true: Array, false: Array, lowest: float) -> str:
    """How many true and false claims are supported and shown, and how many true ones at shares of the false ones."""
    counts = "; ".join(
        f"{(values > 0).mean():.1%} of {len(values)} {name} ones are supported and {(values > lowest).mean():.1%} shown"
        for name, values in (("true", true), ("false", false))
    )
    kept = ", ".join(f"{(true > np.quantile(false, 1 - share)).mean():.1%} if {share:.0%}" for share in FALSE_SHARES)
    return f"{counts}; of the true ones {kept} of the false ones pass"


def cross_validate(claims: Sequence[ReadClaim], max_supported: float, min_shown: float) -> Iterator[str]:
    """What the thresholds do on each book of the natural drafts if they are fitted without it."""
    for source in sorted({each.source for each in claims if each.source.startswith(NATURAL)}):
        others, held_out = ([e for e in claims if (e.source == source) is chosen] for chosen in (False, True))
        found = fit(others, max_supported, min_shown)
        yield from (f"held out, {line}" for line in describe(held_out, score(held_out, found.weights), found.plausible))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, help="the folder with the sources of the books of the natural drafts")
    parser.add_argument("--drafts", type=Path, nargs="+", default=[TRAINING_DRAFTS])
    parser.add_argument("--fitted-books", nargs="+", default=CALIBRATION_BOOKS, help="fit on the drafts about these")
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="at most so many claims of each older source")
    parser.add_argument("--list", action="store_true", help="only write the rows of tokens to read with a GPU")
    parser.add_argument("--max-false-supported", type=float, default=MAX_FALSE_SUPPORTED)
    parser.add_argument("--min-true-shown", type=float, default=MIN_TRUE_SHOWN)
    parser.add_argument("--out", type=Path, default=MODELS / CONSTANTS_FILE, help="the JSON to update")
    options = parser.parse_args()
    drafts = [draft for file in options.drafts for draft in load_drafts(file, options.books)]
    fitted = [draft for draft in drafts if draft.book in options.fitted_books]
    claims = [*load_natural_claims(fitted), *load_other_claims(options.sample)]
    if options.list:
        collector = RowCollector()
        asyncio.run(read_claims(claims, open_reader(collector)))
        CLAIM_ROWS.save(collector.rows)
        print(f"{CLAIM_ROWS.file} has {len(collector.rows)} rows. Read them: python -m lab.train.claim_readings")
        return
    shipped = ModelRuntime().network(STRONG_READER_FILE)
    reader = open_reader(load_claim_network(shipped) if CLAIM_LOGITS.exists() else shipped)
    read = asyncio.run(read_claims(claims, reader))
    shares = options.max_false_supported, options.min_true_shown
    found = fit(read, *shares)
    print(*describe(read, score(read, found.weights), found.plausible), *cross_validate(read, *shares), sep="\n")
    constants = json.loads(options.out.read_text(encoding="utf-8"))
    constants["strong"] |= {"paraphrase": found.weights, "labels": {"plausible": found.plausible}}
    options.out.write_text(json.dumps(constants, indent=1) + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
