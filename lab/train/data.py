"""`python -m lab.train.data SHARED`: writes all sources as one set of examples to lab/train/out.

Examples refer to `passages`: `reading` (question and passage), `support` (claim and premise) and `pairs` (question and
text, for the embedder). Whole books, half B of SQuAD and one premise in ten are held out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bookbound.answering.grounding.supporting_units import CitedEvidence
from bookbound.indexing.split import split_page
from bookbound.models.onnx import OnnxEmbedder
from bookbound.sources import parse_book
from lab.measure.hostile_cases import OPENING_CHARACTERS, build_claim_case
from lab.train.constants import OUT, TWIN_SOURCES
from lab.train.edited_claims import edit_claim

HELD_OUT = ("moveit2_tutorials", "openstax_philosophy", "raspberrypi_docs", "typescript_handbook")
DEV_BOOKS = ("byte_of_python", "hf_deep_rl_course", "ros2_docs")
TEST_ONLY = ("squad2_dev_B", "fever_symmetric", "clapnq_dev")
CONTEXT_SOURCES = ("book_claims", "contrasting", "written", *TWIN_SOURCES)
"""The claims that are also read with their context, as the verifier does."""
SEED = 7
EDITS_PER_CLAIM = 2
WRITTEN, CLAIMS, CONTRASTING_CLAIMS, TWIN_CLAIMS, DRAFT_TWINS = (
    Path(__file__).parent / f"{name}.jsonl"
    for name in ("written", "claims", "contrasting_claims", "twin_claims", "draft_twins")
)
Row = dict[str, Any]

_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?![\w])")
_CODE = re.compile(r"`[^`\s]{2,40}`|\b\w+(?:_\w+)+\b|\b[a-z]+(?:[A-Z][a-z]+)+\b|\b\w+\.\w+\(\)?")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]{2,}(?: [A-Z][a-z]{2,})*")
TERM_PATTERNS = (_NUMBER, _CODE, _NAME)


class PassageTable:
    """Collects each passage once, with the group that its hard negatives come from."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._seen: dict[tuple[str, str, str], int] = {}

    def add(self, text: str, group: str, path: str = "") -> int:
        key = (group, path, text)
        if key not in self._seen:
            self._seen[key] = len(self.rows)
            self.rows.append({"text": text, "group": group, "path": path})
        return self._seen[key]

    def rows_by_opening(self) -> dict[tuple[str, str], Row]:
        """The passages by their group and first characters, as our own claims name them."""
        return {(row["group"], row["text"][:OPENING_CHARACTERS]): row for row in self.rows}


def read_gzipped_rows(file: Path) -> Iterator[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def load_reading(folder: Path, table: PassageTable) -> Iterator[Row]:
    """Questions with their passage and the character spans of all their answers."""
    for file in sorted(folder.glob("*.jsonl.gz")):
        name = file.name.removesuffix(".jsonl.gz")
        if name.startswith("pairs_"):
            continue
        for row in read_gzipped_rows(file):
            group = row.get("book") or f"{name}/{row.get('title') or row.get('doc') or ''}"
            found = {(a["start"], a["start"] + len(a["text"])) for a in row["answers"] if a["start"] >= 0}
            if row["answerable"] and not found:
                continue  # yes and no, or words that are not in the passage
            yield {
                "source": name,
                "group": group,
                "question": row["question"],
                "passage": table.add(row["context"], group),
                "answerable": row["answerable"],
                "spans": sorted(found),
                "sentence": _sentence_span(row),
                "part": "test" if name in TEST_ONLY or row.get("book") in HELD_OUT else "train",
            }


def _sentence_span(row: Row) -> list[int] | None:
    sentence = row.get("sentence")
    return (
        [sentence["start"], sentence["start"] + len(sentence["text"])]
        if sentence and sentence.get("start", -1) >= 0
        else None
    )


def load_written(books: Path, table: PassageTable) -> Iterator[Row]:
    """Our own questions about the chunks that Bookbound makes of the licensed books."""
    items: dict[str, list[Row]] = defaultdict(list)
    for line in WRITTEN.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        items[row["book"]].append(row)
    embedder = OnnxEmbedder()
    for book, rows in sorted(items.items()):
        assert book not in DEV_BOOKS
        chunks = [
            c
            for page in parse_book(books / book).pages
            for c in split_page(page, embedder.count_tokens, embedder.max_tokens)
        ]
        placed = {chunk.id: table.add(chunk.text, book, " > ".join(chunk.place.heading_path)) for chunk in chunks}
        for row in rows:
            home = next((c for c in chunks if c.place.file == row["file"] and row["near"] in c.text), None)
            quotes = [(home.text.find(q), q) for q in row["quotes"]] if home else []
            if home is None or any(at < 0 for at, _ in quotes):
                continue
            span, sentence = [], None
            if row["answerable"]:
                at, quote = next((at, q) for at, q in quotes if row["answer"] in q)
                start = at + quote.index(row["answer"])
                span, sentence = [(start, start + len(row["answer"]))], [at, at + len(quote)]
            yield {
                "source": "written",
                "group": book,
                "question": row["question"],
                "passage": placed[home.id],
                "answerable": row["answerable"],
                "spans": span,
                "sentence": sentence,
                "part": "train",
            }


def alter_questions(rows: Iterable[Row], table: PassageTable, rng: random.Random) -> Iterator[Row]:
    """Questions with one number, identifier or name replaced by another one of the same book."""
    rows = [row for row in rows if row["source"] in ("book_reading", "written") and row["part"] == "train"]
    pools: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        for i, kind in enumerate(TERM_PATTERNS):
            pools[row["group"], i] += kind.findall(row["question"])
    for row in rows:
        text = table.rows[row["passage"]]["text"]
        if row["answerable"] and (question := _swap_term(row["question"], text, row["group"], pools, rng)):
            yield row | {"source": "altered", "question": question, "answerable": False, "spans": [], "sentence": None}


def _swap_term(
    words: str, text: str, group: str, pools: dict[tuple[str, int], list[str]], rng: random.Random
) -> str | None:
    """Replaces the first number, identifier or name by one of the group that the text does not contain."""
    for i, kind in enumerate(TERM_PATTERNS):
        found = kind.search(words)
        others = [other for other in pools[group, i] if other.lower() not in text.lower() and other not in words]
        if found and others:
            return words[: found.start()] + rng.choice(others) + words[found.end() :]
    return None


def load_support(folder: Path) -> Iterator[Row]:
    """Claims with their premise; one premise in ten is held out."""
    tested = {row["premise"] for row in read_gzipped_rows(folder / "fever_symmetric.jsonl.gz")}
    for file in sorted(folder.glob("*.jsonl.gz")):
        name = file.name.removesuffix(".jsonl.gz")
        for row in read_gzipped_rows(file):
            book = row.get("book")
            is_test = book in HELD_OUT if book else is_held_out(row["premise"])
            if name == "fever_symmetric" or (name == "fever_dev" and row["premise"] in tested):
                is_test = True
            yield {
                "source": name,
                "claim": row["claim"],
                "premise": row["premise"],
                "supported": row["label"] == "supported",
                "part": "test" if is_test else "train",
            }


def is_held_out(premise: str) -> bool:
    """Whether a premise is the one in ten that is never trained on."""
    return zlib.crc32(premise.encode()) % 10 == 0


def load_claims(table: PassageTable) -> Iterator[Row]:
    """Our own claims about passages of the training books; contrasting ones are partly held out."""
    passages = table.rows_by_opening()
    for file, source in ((CLAIMS, "written"), (CONTRASTING_CLAIMS, "contrasting")):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            assert row["book"] not in HELD_OUT
            premise = passages[row["book"], row["near"]]["text"]
            yield {
                "source": source,
                "claim": row["claim"],
                "premise": premise,
                "supported": row["supported"],
                "part": "test" if file == CONTRASTING_CLAIMS and is_held_out(premise) else "train",
            }


def load_twins(table: PassageTable) -> Iterator[Row]:
    """Pairs of a true and a false claim in nearly the same words; one premise in ten is held out."""
    passages = table.rows_by_opening()
    numbers = count(1)
    for file, source in zip((TWIN_CLAIMS, DRAFT_TWINS), TWIN_SOURCES, strict=True):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            assert row["book"] not in (*HELD_OUT, *DEV_BOOKS)
            passage = passages[row["book"], row["near"]]
            part = "test" if is_held_out(passage["text"]) else "train"
            same = {"source": source, "premise": passage["text"], "path": passage["path"], "part": part}
            for (true, false), pair in zip(row["twins"], numbers, strict=False):
                yield same | {"pair": pair, "claim": true, "supported": True}
                yield same | {"pair": pair, "claim": false, "supported": False}


def alter_claims(rows: Iterable[Row], table: PassageTable, rng: random.Random) -> Iterator[Row]:
    """Sentences of the book, and the same with a number, identifier or name replaced, or edited in another way."""
    rows = [r for r in rows if r["source"] in ("book_reading", "written") and r["part"] == "train" and r["sentence"]]
    pools: dict[tuple[str, int], list[str]] = defaultdict(list)
    sentences = {(r["passage"], *r["sentence"]): r for r in rows}
    for row in sentences.values():
        for i, kind in enumerate(TERM_PATTERNS):
            pools[row["group"], i] += kind.findall(table.rows[row["passage"]]["text"])
    for row in sentences.values():
        text = table.rows[row["passage"]]["text"]
        claim = text[slice(*row["sentence"])]
        if len(claim) > 400:
            continue
        same = {"source": "altered", "premise": text, "part": "train"}
        if rng.random() < 0.5:
            yield same | {"claim": claim, "supported": True}
        if other := _swap_term(claim, text, row["group"], pools, rng):
            yield same | {"claim": other, "supported": False}
        for edited in edit_claim(claim, text, rng, 1):
            yield same | {"source": "edited", "claim": edited, "supported": False}


def edit_claims(rows: Iterable[Row], rng: random.Random) -> Iterator[Row]:
    """Small edits of the supported claims about books, which make them unsupported."""
    for row in rows:
        if row["source"] in ("book_claims", "written", "contrasting") and row["part"] == "train" and row["supported"]:
            for edited in edit_claim(row["claim"], row["premise"], rng, EDITS_PER_CLAIM):
                yield row | {"source": "edited", "claim": edited, "supported": False}


def add_contexts(rows: Iterable[Row]) -> Iterator[Row]:
    """The claims about books with the two texts that the verifier reads: the whole premise and those units of it."""
    for row in rows:
        if row["source"] in CONTEXT_SOURCES:
            case = build_claim_case(row | {"book": "", "id": ""}, "", "")
            cited = CitedEvidence(case.text, case.evidence)
            yield row | {"whole": cited.supporting_text or row["premise"], "context": cited.context or row["premise"]}
        else:
            yield row


def load_pairs(folder: Path) -> Iterator[Row]:
    for file in sorted(folder.glob("pairs_*.jsonl.gz")):
        for row in read_gzipped_rows(file):
            if "medquad" not in file.name:
                yield {
                    "source": file.name.removesuffix(".jsonl.gz"),
                    "question": row["question"],
                    "text": row["positive"],
                }


def write_rows(name: str, rows: Iterable[Row]) -> None:
    rows = list(rows)
    with lzma.open(OUT / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        counts[row.get("source", ""), row.get("part", "")] += 1
    print(name, len(rows), {" ".join(filter(None, key)): count for key, count in counts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path, help="the folder with data/")
    data = parser.parse_args().shared / "data"
    OUT.mkdir(parents=True, exist_ok=True)
    rng, table = random.Random(SEED), PassageTable()
    read_rows = [*load_reading(data / "reading", table), *load_written(data / "books", table)]
    read_rows += alter_questions(read_rows, table, rng)
    claims = [*load_support(data / "support"), *load_claims(table), *load_twins(table)]
    claims += [*edit_claims(claims, rng), *alter_claims(read_rows, table, rng)]
    write_rows("support", add_contexts(claims))
    write_rows("reading", read_rows)
    write_rows("passages", table.rows)
    write_rows("pairs", load_pairs(data / "reading"))


if __name__ == "__main__":
    main()
