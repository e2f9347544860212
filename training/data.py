"""`python -m training.data SHARED`: every source as one set of examples, written to training/out.

Passages stand once in `passages`, and examples point at them: `reading` (question and passage), `support` (claim and
premise) and `pairs` (question and text, for the embedder). A part of each is kept from training: whole books, all of
SQuAD's half B, and one premise in ten.
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
from pathlib import Path
from typing import Any

from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

HELD_OUT = ("moveit2_tutorials", "openstax_philosophy", "raspberrypi_docs", "typescript_handbook")
DEV_BOOKS = ("byte_of_python", "hf_deep_rl_course", "ros2_docs")
TEST_ONLY = ("squad2_dev_B", "fever_symmetric", "clapnq_dev")
SEED, OUT = 7, Path("training/out")
WRITTEN, CLAIMS = Path(__file__).parent / "written.jsonl", Path(__file__).parent / "claims.jsonl"
Row = dict[str, Any]

_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?![\w])")
_CODE = re.compile(r"`[^`\s]{2,40}`|\b\w+(?:_\w+)+\b|\b[a-z]+(?:[A-Z][a-z]+)+\b|\b\w+\.\w+\(\)?")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]{2,}(?: [A-Z][a-z]{2,})*")
KINDS = (_NUMBER, _CODE, _NAME)


class Shelf:
    """Passages, each kept once, with the group that its hard negatives come from."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._seen: dict[tuple[str, str, str], int] = {}

    def put(self, text: str, group: str, path: str = "") -> int:
        key = (group, path, text)
        if key not in self._seen:
            self._seen[key] = len(self.rows)
            self.rows.append({"text": text, "group": group, "path": path})
        return self._seen[key]


def lines(file: Path) -> Iterator[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def reading(folder: Path, shelf: Shelf) -> Iterator[Row]:
    """Questions with their passage; answers as character spans, all that were given."""
    for file in sorted(folder.glob("*.jsonl.gz")):
        name = file.name.removesuffix(".jsonl.gz")
        if name.startswith("pairs_"):
            continue
        for row in lines(file):
            group = row.get("book") or f"{name}/{row.get('title') or row.get('doc') or ''}"
            found = {(a["start"], a["start"] + len(a["text"])) for a in row["answers"] if a["start"] >= 0}
            if row["answerable"] and not found:
                continue  # yes and no, or words that do not stand there: nothing to point at
            yield {
                "source": name,
                "group": group,
                "question": row["question"],
                "passage": shelf.put(row["context"], group),
                "answerable": row["answerable"],
                "spans": sorted(found),
                "sentence": _sentence(row),
                "part": "test" if name in TEST_ONLY or row.get("book") in HELD_OUT else "train",
            }


def _sentence(row: Row) -> list[int] | None:
    kept = row.get("sentence")
    return [kept["start"], kept["start"] + len(kept["text"])] if kept and kept.get("start", -1) >= 0 else None


def written(books: Path, shelf: Shelf) -> Iterator[Row]:
    """Our own questions, over the chunks that Bookbound itself makes of the licensed books."""
    items: dict[str, list[Row]] = defaultdict(list)
    for line in WRITTEN.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        items[row["book"]].append(row)
    embedder = OnnxEmbedder()
    for book, rows in sorted(items.items()):
        assert book not in DEV_BOOKS
        chunks = [
            c for page in parse_book(books / book).pages for c in split_page(page, embedder.tokens, embedder.budget)
        ]
        placed = {chunk.id: shelf.put(chunk.text, book, " > ".join(chunk.place.path)) for chunk in chunks}
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


def altered(rows: Iterable[Row], shelf: Shelf, rng: random.Random) -> Iterator[Row]:
    """Questions of books with one number, identifier or name exchanged for another of the same book."""
    rows = [row for row in rows if row["source"] in ("book_reading", "written") and row["part"] == "train"]
    pools: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        for i, kind in enumerate(KINDS):
            pools[row["group"], i] += kind.findall(row["question"])
    for row in rows:
        text = shelf.rows[row["passage"]]["text"]
        if row["answerable"] and (question := _exchanged(row["question"], text, row["group"], pools, rng)):
            yield row | {"source": "altered", "question": question, "answerable": False, "spans": [], "sentence": None}


def _exchanged(
    words: str, text: str, group: str, pools: dict[tuple[str, int], list[str]], rng: random.Random
) -> str | None:
    for i, kind in enumerate(KINDS):
        found = kind.search(words)
        others = [other for other in pools[group, i] if other.lower() not in text.lower() and other not in words]
        if found and others:
            return words[: found.start()] + rng.choice(others) + words[found.end() :]
    return None


def support(folder: Path) -> Iterator[Row]:
    """Claims with their premise; one premise in ten is kept for measuring."""
    tested = {row["premise"] for row in lines(folder / "fever_symmetric.jsonl.gz")}
    for file in sorted(folder.glob("*.jsonl.gz")):
        name = file.name.removesuffix(".jsonl.gz")
        for row in lines(file):
            book = row.get("book")
            held = book in HELD_OUT if book else zlib.crc32(row["premise"].encode()) % 10 == 0
            if name == "fever_symmetric" or (name == "fever_dev" and row["premise"] in tested):
                held = True
            yield {
                "source": name,
                "claim": row["claim"],
                "premise": row["premise"],
                "supported": row["label"] == "supported",
                "part": "test" if held else "train",
            }


def claims(shelf: Shelf) -> Iterator[Row]:
    """Our own claims over passages of the books that are trained on."""
    passages = {(row["group"], row["text"][:80]): row["text"] for row in shelf.rows}
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert row["book"] not in HELD_OUT
        premise = passages[row["book"], row["near"]]
        yield {
            "source": "written",
            "claim": row["claim"],
            "premise": premise,
            "supported": row["supported"],
            "part": "train",
        }


def altered_claims(rows: Iterable[Row], shelf: Shelf, rng: random.Random) -> Iterator[Row]:
    """The book's own sentences, which hold, and the same with a number, identifier or name exchanged, which do not."""
    rows = [r for r in rows if r["source"] in ("book_reading", "written") and r["part"] == "train" and r["sentence"]]
    pools: dict[tuple[str, int], list[str]] = defaultdict(list)
    sentences = {(r["passage"], *r["sentence"]): r for r in rows}
    for row in sentences.values():
        for i, kind in enumerate(KINDS):
            pools[row["group"], i] += kind.findall(shelf.rows[row["passage"]]["text"])
    for row in sentences.values():
        text = shelf.rows[row["passage"]]["text"]
        claim = text[slice(*row["sentence"])]
        if len(claim) > 400:
            continue
        same = {"source": "altered", "premise": text, "part": "train"}
        if rng.random() < 0.25:
            yield same | {"claim": claim, "supported": True}
        if other := _exchanged(claim, text, row["group"], pools, rng):
            yield same | {"claim": other, "supported": False}


def pairs(folder: Path) -> Iterator[Row]:
    for file in sorted(folder.glob("pairs_*.jsonl.gz")):
        for row in lines(file):
            if "medquad" not in file.name:
                yield {
                    "source": file.name.removesuffix(".jsonl.gz"),
                    "question": row["question"],
                    "text": row["positive"],
                }


def write(name: str, rows: Iterable[Row]) -> None:
    rows = list(rows)
    with lzma.open(OUT / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        counts[row.get("source", ""), row.get("part", "")] += 1
    print(name, len(rows), {" ".join(filter(None, key)): count for key, count in counts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path, help="the folder that holds data/")
    data = parser.parse_args().shared / "data"
    OUT.mkdir(parents=True, exist_ok=True)
    rng, shelf = random.Random(SEED), Shelf()
    read_rows = [*reading(data / "reading", shelf), *written(data / "books", shelf)]
    read_rows += altered(read_rows, shelf, rng)
    write("support", [*support(data / "support"), *claims(shelf), *altered_claims(read_rows, shelf, rng)])
    write("reading", read_rows)
    write("passages", shelf.rows)
    write("pairs", pairs(data / "reading"))


if __name__ == "__main__":
    main()
