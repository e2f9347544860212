"""What a question set says about a pipeline."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from bookbound.ask import Pipeline
from bookbound.book import Place
from bookbound.dialogue import Answer, Question, Refusal, Reply
from bookbound.finding import Evidence
from evals.questions import Item, Sources

DEPTHS = (1, 5, 20)
HALF = 0.5
Located = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    item: Item
    ranks: tuple[int | None, ...]
    reply: Reply
    cited: bool
    contained: bool
    verbatim: tuple[bool, ...]
    milliseconds: float

    @property
    def answered(self) -> bool:
        return isinstance(self.reply, Answer)

    @property
    def correct(self) -> bool:
        return self.answered and self.item.answerable and self.cited and self.contained

    def found(self, depth: int) -> bool:
        """Whether the first `depth` passages hold evidence."""
        return any(rank is not None and rank < depth for rank in self.ranks)

    def recall(self, depth: int) -> float:
        """The share of the pieces of evidence that the first `depth` passages hold."""
        return sum(rank is not None and rank < depth for rank in self.ranks) / len(self.ranks)


async def put(pipeline: Pipeline, items: Sequence[Item], sources: Sources, tick: Callable[[], None]) -> list[Outcome]:
    """Every question of a set, put to the book."""
    outcomes = []
    for item in items:
        evidence = [(quote.file, *sources.span(quote)) for quote in item.evidence]
        deep = await pipeline.search(Question(item.question, k=max(DEPTHS)))
        ranks = [_rank(place, (passage.chunk.place for passage in deep.passages)) for place in evidence]
        start = perf_counter()
        reply = await pipeline.ask(Question(item.question))
        took = (perf_counter() - start) * 1000
        outcomes.append(_outcome(item, tuple(ranks), reply, evidence, sources, took))
        tick()
    return outcomes


def _outcome(
    item: Item,
    ranks: tuple[int | None, ...],
    reply: Reply,
    evidence: Sequence[Located],
    sources: Sources,
    took: float,
) -> Outcome:
    places = [citation.place for citation in reply.citations]
    return Outcome(
        item=item,
        ranks=ranks,
        reply=reply,
        cited=any(_rank(place, places, share=0.0) is not None for place in evidence),
        contained=all(words.lower() in reply.text.lower() for words in item.must_contain),
        verbatim=tuple(is_verbatim(citation, sources) for citation in reply.citations),
        milliseconds=took,
    )


def _rank(wanted: Located, places: Iterable[Place], share: float = HALF) -> int | None:
    """The first place that holds more than this share of the wanted span."""
    file, start, end = wanted
    for rank, place in enumerate(places):
        overlap = min(end, place.end) - max(start, place.start)
        if place.file == file and overlap > 0 and overlap >= share * (end - start):
            return rank
    return None


UNSEEN = re.compile(
    r"<!--.*?-->|\{/\*.*?\*/\}"  # comments
    r"|\]\([^()]*(?:\([^()]*\)[^()]*)*\)|\]\[[^\]]*\]"  # where links lead
    r"|<[^<>]*>_?_?|:[\w:+-]+:(?=`)"  # tags, and the roles and targets of reStructuredText
    r"|&\w+;|\{#[\w-]+\}|(?m:^\s*(?:```|~~~|:::|\.\. )[^\n]*$)",  # entities, anchors, the lines around a block
    re.DOTALL,
)

SHOWN = re.compile(r'<[^<>]*\b(?:alt|label|title)="([^"]*)"[^<>]*>')
"""A tag of which the reader sees one property."""

TITLE = re.compile(r'\A([^\n"]*)"[^\n]*')
"""The title of a code block, and the rest of the line it stands on."""


def is_verbatim(citation: Evidence, sources: Sources) -> bool:
    """Whether a quote's letters and digits are exactly those of the source at its offsets, markup left out."""
    there = sources.text(citation.place.file)[citation.place.start : citation.place.end]
    quoted = _letters(citation.text)
    return bool(quoted) and quoted in (
        _letters(seen) for seen in (there, UNSEEN.sub("", there), TITLE.sub(r"\1", there))
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one question set."""

    questions: int
    found: dict[int, float]
    recall: dict[int, float]
    answered: float
    cited: float
    correct: float
    precision: float
    refused: dict[str, tuple[int, int]]
    verbatim: tuple[int, int]
    median_ms: float


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    given = [outcome for outcome in outcomes if outcome.answered]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        if not outcome.item.answerable:
            kinds[outcome.item.kind].append(isinstance(outcome.reply, Refusal))
    quotes = [is_it for outcome in outcomes for is_it in outcome.verbatim]
    return Summary(
        questions=len(outcomes),
        found={depth: _mean(outcome.found(depth) for outcome in answerable) for depth in DEPTHS},
        recall={depth: _mean(outcome.recall(depth) for outcome in answerable) for depth in DEPTHS},
        answered=_mean(outcome.answered for outcome in answerable),
        cited=_mean(outcome.answered and outcome.cited for outcome in answerable),
        correct=_mean(outcome.correct for outcome in answerable),
        precision=_mean(outcome.correct for outcome in given),
        refused={kind: (sum(refused), len(refused)) for kind, refused in sorted(kinds.items())},
        verbatim=(sum(quotes), len(quotes)),
        median_ms=median(outcome.milliseconds for outcome in outcomes),
    )


def _mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / len(kept) if kept else 0.0
