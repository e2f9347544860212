"""`python -m lab.train.candidates`: stores what the search finds for the questions on which constants are fitted.

Each held-out book is a book of its own, with its questions and some about other books. The fitted question sets,
our search-box questions about two more books, off-topic messages and selections come next. All passages come from the
product's own search.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.question import AnswerScope, Question
from bookbound.evaluation.question_set import EvaluationQuestion, load_question_set
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP, FileSpan, QuoteLocator
from bookbound.evaluation.runner import FALSE_PREMISE_KIND
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder
from bookbound.settings import Settings
from lab.measure.question_sets import DATA, QuestionSet, list_question_sets
from lab.train.asked_questions import AskedQuestion, ExpectedAnswer, iterate_pairs, save_questions
from lab.train.batches import Row, load_rows
from lab.train.constants import OUT
from lab.train.reader_metrics import HeldOut
from lab.train.readings import ROWS
from lab.train.recorded_readers import list_rows

T = TypeVar("T")
SEED, FOREIGN_QUESTIONS, MAX_QUESTION_CHARS = 7, 160, 1000
BOOKS = OUT / "books"
OFF_TOPIC = Path("lab/train/offtopic.txt")
SEARCH_BOX_QUESTIONS = Path("lab/train/questions")
"""Short questions about other books, which often have all words of a block, whether or not it answers."""
BOOKS_PER_MESSAGE = 2
TITLES_PER_BOOK, MAX_TITLE_WORDS = 90, 4
TITLE_FORMS = ("What is {}?", "{}", "Explain {}", "What does {} mean?")
"""How readers ask for a section by its title."""


class CosineEmbedder(OnnxEmbedder):
    """The product's embedder with cosines as scores, because the map from one to the other is fitted."""

    def score_similarity(self, cosine: float) -> float:
        return cosine


class BookQuestions:
    """Asks questions about one book; each chunk of the book is kept once."""

    def __init__(self, name: str, pipeline: Pipeline) -> None:
        self._name, self._pipeline = name, pipeline
        self._chunks: dict[str, Chunk] = {}

    async def search(self, question: Question) -> tuple[Passage, ...]:
        found = (await self._pipeline.candidates(question)).passages
        if question.selection:
            return found
        return tuple(replace(each, chunk=self._chunks.setdefault(each.chunk.id, each.chunk)) for each in found)

    async def ask_held_out(self, row: Row, text: str) -> AskedQuestion:
        """Asks a question about a passage of a held-out book; `text` is this passage."""
        asked = row["question"][:MAX_QUESTION_CHARS]
        passages = await self.search(Question(asked))
        if not row["answerable"]:
            return AskedQuestion(asked, self._name, "held_out", passages, (False,) * len(passages))
        file = name_file(row["passage"])
        has_answer = tuple(passage.chunk.place.file == file for passage in passages)
        answers = tuple(text[start:end] for start, end in row["spans"])
        expected = ExpectedAnswer(((FileSpan(file, 0, len(text)),),), answers=answers)
        return AskedQuestion(asked, self._name, "held_out", passages, has_answer, expected)

    async def ask_fitted(self, item: EvaluationQuestion) -> AskedQuestion:
        """Asks a question of a set; an answer may correct a false premise."""
        passages = await self.search(Question(item.question))
        expected = None
        if item.answerable or (item.kind == FALSE_PREMISE_KIND and item.evidence):
            evidence = tuple(await QuoteLocator(self._pipeline.book.index).locate(item))
            expected = ExpectedAnswer(evidence, item.must_contain if item.answerable else ())
        return AskedQuestion(item.question, self._name, "fitted", passages, expected=expected)

    async def ask_off_topic(self, message: str) -> AskedQuestion:
        passages = await self.search(Question(message))
        return AskedQuestion(message, self._name, "off_topic", passages, (False,) * len(passages))

    async def list_titles(self) -> dict[str, list[Place]]:
        """The short titles of sections, with the openings of the sections that have them."""
        titles: dict[str, list[Place]] = {}
        for place in (await self._pipeline.book.index.outline()).sections:
            if 0 < len(place.section.split()) <= MAX_TITLE_WORDS:
                titles.setdefault(place.section, []).append(place)
        return titles

    async def ask_title(self, form: str, title: str, sections: Sequence[Place]) -> AskedQuestion:
        """Asks for a section by its title; without a section the book has none of this title."""
        passages = await self.search(Question(form.format(title)))
        evidence = tuple(FileSpan(place.file, place.start, place.end) for place in sections)
        return AskedQuestion(
            form.format(title),
            self._name,
            "title",
            passages,
            expected=ExpectedAnswer((evidence,)) if evidence else None,
        )

    async def ask_own_passage(self, row: Row, text: str) -> AskedQuestion:
        """Asks a held-out question about its own passage as a selection; a near miss is not answered there."""
        question = Question(row["question"][:MAX_QUESTION_CHARS], selection=text, scope=AnswerScope.SELECTION)
        is_own = (bool(row["answerable"]),)
        return AskedQuestion(question.text, self._name, "held_out_selection", await self.search(question), is_own)

    async def ask_selections(self, items: Sequence[EvaluationQuestion]) -> list[AskedQuestion]:
        """Asks each question about its own evidence, and about that of another question."""
        texts = [HIDDEN_MARKUP.sub(" ", "\n\n".join(quote.text for quote in item.evidence)) for item in items]
        others = texts[len(texts) // 2 :] + texts[: len(texts) // 2]
        asked = []
        for item, own, other in zip(items, texts, others, strict=True):
            for text, is_own in ((own, True), (other, False)):
                if text.strip() and (is_own or own != other):
                    question = Question(item.question, selection=text, scope=AnswerScope.SELECTION)
                    found = await self.search(question)
                    asked.append(AskedQuestion(item.question, self._name, "selection", found, (is_own,)))
        return asked


class CandidateSearch:
    """Asks all questions that the calibration needs, or a sample of each kind and book."""

    def __init__(self, books: Sequence[str] | None, sample: int | None) -> None:
        self._books, self._sample, self._rng = books, sample, random.Random(SEED)
        self._embedder = CosineEmbedder()
        reading = load_rows("reading")
        self._passages = load_rows("passages")
        self._held_out = [row for _, row in HeldOut.select(reading, []).books]
        trained = [row for row in reading if row["part"] == "train" and row["source"] == "book_reading"]
        self._foreign = self._rng.sample(trained, FOREIGN_QUESTIONS)
        self._titles: list[str] = []
        self._messages = [line for line in OFF_TOPIC.read_text(encoding="utf-8").splitlines() if line]

    async def ask_all(self) -> list[AskedQuestion]:
        held_out = [name for name in sorted({row["group"] for row in self._held_out}) if self._is_wanted(name)]
        sets = [each for each in (*list_question_sets(), *list_search_box_sets()) if self._is_wanted(each.name)]
        fitted = [each.name for each in sets if each.role == "fitted"]
        asked: list[AskedQuestion] = []
        for number, name in enumerate(held_out):
            foreign = self._foreign[number :: len(held_out)]
            asked += await self._ask_held_out(name, foreign, [*held_out, *fitted])
            print(f"{name}: {len(asked)} questions", flush=True)
        for each in sets:
            if each.role != "counted" and each.name != "example":
                asked += await self._ask_set(each, [*held_out, *fitted])
                print(f"{each.name}: {len(asked)} questions", flush=True)
        return asked

    async def _ask_held_out(self, name: str, foreign: Sequence[Row], books: Sequence[str]) -> list[AskedQuestion]:
        """Asks the questions of a held-out book, some about other books, and off-topic messages."""
        rows = [row for row in self._held_out if row["group"] == name]
        source = BOOKS / f"{name}-source"
        source.mkdir(parents=True, exist_ok=True)
        for passage in sorted({row["passage"] for row in rows}):
            (source / name_file(passage)).write_text(self._passages[passage]["text"], encoding="utf-8")
        pipeline = await self._open(name, source)
        book = BookQuestions(name, pipeline)
        texts = self._passages
        own, others = self._pick(rows), self._pick([row | {"answerable": False} for row in foreign])
        asked = [await book.ask_held_out(row, texts[row["passage"]]["text"]) for row in own + others]
        asked += [await book.ask_own_passage(row, texts[row["passage"]]["text"]) for row in own]
        asked += [await book.ask_off_topic(message) for message in self._pick_messages(name, books)]
        await pipeline.close()
        return asked

    async def _ask_set(self, question_set: QuestionSet, books: Sequence[str]) -> list[AskedQuestion]:
        """Asks about selections; if the set is for fitting, its questions and off-topic messages, too."""
        items = load_question_set(question_set.questions)
        pipeline = await self._open(question_set.name, question_set.source)
        book = BookQuestions(question_set.name, pipeline)
        asked: list[AskedQuestion] = []
        if question_set.role == "fitted":
            asked += [await book.ask_fitted(item) for item in self._pick(items)]
            asked += [await book.ask_off_topic(message) for message in self._pick_messages(question_set.name, books)]
            asked += await self._ask_titles(book)
        self._titles += await book.list_titles()
        asked += await book.ask_selections(self._pick([item for item in items if item.answerable]))
        await pipeline.close()
        return asked

    async def _ask_titles(self, book: BookQuestions) -> list[AskedQuestion]:
        """Asks for sections of this book, and for those of the books before it that this one does not have."""
        own = await book.list_titles()
        foreign = [title for title in self._titles if title not in own]
        asked = []
        for titles in (self._pick_titles(list(own)), self._pick_titles(foreign)):
            for i, title in enumerate(titles):
                form = TITLE_FORMS[i % len(TITLE_FORMS)]
                asked.append(await book.ask_title(form, title, own.get(title, ())))
        return asked

    def _pick_titles(self, titles: list[str]) -> list[str]:
        return self._pick(self._rng.sample(titles, min(TITLES_PER_BOOK, len(titles))))

    async def _open(self, name: str, source: Path) -> Pipeline:
        settings = Settings(index=BOOKS / name, reader="fast")
        await asyncio.to_thread(bootstrap.index_book, source, settings)
        pipeline = await bootstrap.open_pipeline(settings)
        return replace(pipeline, engine=replace(pipeline.engine, embedder=self._embedder))

    def _is_wanted(self, name: str) -> bool:
        return self._books is None or name in self._books

    def _pick(self, rows: list[T]) -> list[T]:
        return rows if self._sample is None or self._sample >= len(rows) else self._rng.sample(rows, self._sample)

    def _pick_messages(self, name: str, books: Sequence[str]) -> list[str]:
        """Each message goes to two of the books."""
        step = max(1, len(books) // BOOKS_PER_MESSAGE)
        return self._pick([each for i, each in enumerate(self._messages) if (i + books.index(name)) % step == 0])


def list_search_box_sets() -> list[QuestionSet]:
    files = sorted(SEARCH_BOX_QUESTIONS.glob("*.jsonl"))
    return [QuestionSet(file.stem, file, DATA / "books" / file.stem, "fitted") for file in files]


def name_file(passage: int) -> str:
    return f"{passage:06}.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="ask only so many questions of each kind and book")
    parser.add_argument("--books", nargs="+", help="ask only about these books")
    options = parser.parse_args()
    asked = asyncio.run(CandidateSearch(options.books, options.sample).ask_all())
    save_questions(asked)
    rows = list_rows(iterate_pairs(asked), ModelRuntime())
    ROWS.save(rows)
    print(f"{len(asked)} questions, {len(rows)} rows of tokens to read")


if __name__ == "__main__":
    main()
