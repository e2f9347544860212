"""What becomes of a question set when it is put to a book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from bookbound.ask import Pipeline
from bookbound.book import Passage
from bookbound.dialogue import MOST_PASSAGES, Answer, Question, Reply
from bookbound.finding import Examination
from bookbound.measure.places import UNSEEN, Places, Stands, Stretch
from bookbound.measure.questions import Item
from bookbound.ports import Examiner

HALF = 0.5
CORRECTABLE = "false_premise"
ARTICLES = {"a", "an", "the"}
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Marks:
    """A reply held against what is known of its question."""

    reply: Reply
    holding: tuple[bool, ...]
    verbatim: tuple[bool, ...]
    covered: float
    contained: bool
    token_f1: float

    @property
    def answered(self) -> bool:
        """Whether there is an answer without the reservation that it may be none."""
        return isinstance(self.reply, Answer) and self.reply.judgement.sure

    @property
    def cited(self) -> bool:
        """Whether a citation holds words of the evidence."""
        return any(self.holding)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question: at the operating point, and when every question is dared that can be.

    `ranks` says for each piece of evidence which of the passages, counted from 0, is the first to hold it.
    """

    item: Item
    ranks: tuple[int | None, ...]
    given: Marks
    dared: Marks
    milliseconds: float

    def right(self, marks: Marks) -> bool:
        """Whether a reply is as good as it can be.

        An answer is right where the question has one, a citation holds evidence and the words that must be are there.
        What has no answer must be refused; to correct a false premise, where the set says with which evidence, is as
        good.
        """
        if self.item.answerable:
            return marks.answered and marks.cited and marks.contained
        return not marks.answered or (self.item.kind == CORRECTABLE and marks.cited)

    @property
    def probability(self) -> float:
        return self.dared.reply.judgement.probability


async def put(pipeline: Pipeline, items: Sequence[Item], tick: Callable[[], None] = lambda: None) -> list[Outcome]:
    """Every question of a set, put to the book at the operating point of the pipeline, and once more if refused."""
    places = Places(pipeline.index)
    evidence = [await places.of(item) for item in items]
    if items:
        # Wakes the models, and is not remembered: the first question, too, is read while its time is taken.
        await pipeline.ask(Question(items[0].question))
    pipeline = replace(pipeline, examiner=Remembered(pipeline.examiner))
    outcomes = []
    for item, stands in zip(items, evidence, strict=True):
        outcomes.append(await _outcome(pipeline, item, stands, places))
        tick()
    return outcomes


class Remembered:
    """An examiner that knows its last examination: a question is put more than once, and only the first time counts."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner
        self._last: tuple[tuple[str, tuple[Passage, ...]], Examination] | None = None

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        asked = (question, tuple(passages))
        if self._last is None or self._last[0] != asked:
            self._last = (asked, await self._examiner.examine(question, passages))
        return self._last[1]


def daring(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the lowest threshold: it refuses only where no passage is relevant."""
    return replace(pipeline, point=replace(pipeline.point, answered=0.0))


async def _outcome(pipeline: Pipeline, item: Item, evidence: tuple[Stands, ...], places: Places) -> Outcome:
    question = Question(item.question)
    start = perf_counter()
    reply = await pipeline.ask(question)
    took = (perf_counter() - start) * 1000
    given = dared = await _marks(item, reply, evidence, places)
    if not given.answered and pipeline.point.answered > 0:
        dared = await _marks(item, await daring(pipeline).ask(question), evidence, places)
    deep = await pipeline.search(replace(question, k=MOST_PASSAGES))
    found = [Stretch(place.file, place.start, place.end) for place in (each.chunk.place for each in deep.passages)]
    return Outcome(item, tuple(_rank(stands, found) for stands in evidence), given, dared, took)


async def _marks(item: Item, reply: Reply, evidence: tuple[Stands, ...], places: Places) -> Marks:
    answered = isinstance(reply, Answer) and reply.sure
    citations = reply.citations if answered else ()
    cited = [Stretch(each.place.file, each.place.start, each.place.end) for each in citations]
    return Marks(
        reply=reply,
        holding=tuple(any(stand.shared(each) for stands in evidence for stand in stands) for each in cited),
        verbatim=tuple([await places.is_verbatim(citation) for citation in citations]),
        covered=sum(_covered(stands, cited) for stands in evidence) / len(evidence) if evidence else 0.0,
        contained=answered and all(words.lower() in reply.text.lower() for words in item.must_contain),
        token_f1=token_f1(reply.text, " ".join(quote.text for quote in item.evidence)) if answered else 0.0,
    )


def _rank(stands: Stands, passages: Sequence[Stretch]) -> int | None:
    """The first passage that holds at least half of a quote."""
    held = (rank for rank, passage in enumerate(passages) if any(_half(stand, passage) for stand in stands))
    return next(held, None)


def _half(stand: Stretch, passage: Stretch) -> bool:
    return stand.shared(passage) >= max(1, HALF * (stand.end - stand.start))


def _covered(stands: Stands, cited: Sequence[Stretch]) -> float:
    """The share of a quote's characters, where it stands best, that the citations hold."""
    shares = []
    for file, start, end in stands:
        held = (range(max(start, each.start), min(end, each.end)) for each in cited if each.file == file)
        shares.append(len(set().union(*held)) / (end - start))
    return max(shares)


def token_f1(answer: str, evidence: str) -> float:
    """How far the words of an answer are those of the evidence: the harmonic mean of precision and recall."""
    said, wanted = _tokens(answer), _tokens(UNSEEN.sub(" ", evidence))
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


def _tokens(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text.casefold()) if word not in ARTICLES)
