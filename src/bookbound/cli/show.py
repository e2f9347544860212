"""Replies and passages as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import floor

from bookbound.book import Passage, Place
from bookbound.cli.screen import Line, Piece, one_line
from bookbound.dialogue import SELECTION_ID, Answer, Refusal, Reply, Retrieval, Sentence
from bookbound.finding import Evidence, RefusalKind
from bookbound.trace import Trace
from bookbound.volume import PLAIN

NEAREST, EXCERPT = 3, 240
WHY = {
    RefusalKind.EMPTY_RETRIEVAL: "Nothing in the index comes near the question.",
    RefusalKind.LOW_RELEVANCE: "No passage of the book is about this.",
    RefusalKind.INSUFFICIENT_GROUNDING: "Some passages come near, but none states the answer surely enough to give it.",
    RefusalKind.SELECTED_TEXT_MISSING: "Only the selected text was read.",
}
OWN_WORDING = "The language model gave no answer that can be used; this is the book's own wording."
BROKEN_OFF = "The language model broke off; the end of the answer may be missing."
UNASKED = "The language model could not be reached; it might have found an answer."


def reply(reply: Reply, verbose: bool = False, threshold: float = 0.0) -> Iterator[Line]:
    """An answer with its citations, or a refusal with the nearest sections; all that led to it when `verbose`."""
    yield from answer(reply) if isinstance(reply, Answer) else refusal(reply, threshold)
    yield from _selection(reply.trace.retrieval)
    if verbose:
        yield from _account(reply)


def answer(answer: Answer) -> Iterator[Line]:
    """The sentences, each with the numbers of its citations, what is to be said of them all, and the citations."""
    numbers = {evidence: number for number, evidence in enumerate(answer.citations, 1)}
    for manner, sentences in groupby(answer.sentences, _manner):
        if manner == "prose":
            pairs = [(f"{sentence.text} ", _marks(sentence, numbers), " ") for sentence in sentences]
            yield Line.of(*[piece for pair in pairs for piece in pair][:-1])
        elif manner == "shown":
            for number, sentence in enumerate(sentences):
                yield from [Line()] * bool(number)
                yield Line.of(sentence.text, whole=True)
                yield Line.of(_marks(sentence, numbers))
        else:
            for sentence in sentences:
                yield Line.of(f"{sentence.text} ", _marks(sentence, numbers), whole=sentence.kind == "row")
        yield Line()
    for told in filter(None, (answer.reservation, _degraded(answer), _differs(answer))):
        yield Line.of((told, "bold yellow"))
        yield Line()
    spoken = {sentence.text for sentence in answer.sentences}
    for evidence, number in numbers.items():
        yield from _citation(number, evidence, quoted=evidence.text not in spoken)


def refusal(refusal: Refusal, threshold: float = 0.0) -> Iterator[Line]:
    """The refusal, why, and where the reader may want to look."""
    found = [passage for passage in refusal.trace.retrieval.passages if passage.chunk.id != SELECTION_ID]
    yield Line.of((refusal.text, "bold yellow"))
    yield Line.of(UNASKED if refusal.trace.degraded else _why(refusal.kind, found, threshold))
    nearest = list({passage.chunk.place.link: passage.chunk.place for passage in found}.values())[:NEAREST]
    if nearest:
        yield Line()
        yield Line.of(("The nearest sections, and the words there that may bear on it:", "dim"))
    for place in nearest:
        yield Line.of((" › ".join(place.path), "dim"), indent=2)
        yield Line.of((place.link, "dim"), indent=4, whole=True)
        near = next((each for each in refusal.judgement.evidence if each.place.link == place.link), None)
        if near:
            yield Line.of(("“" + _excerpt(near.text) + "”", "italic"), indent=4)


def passages(passages: Sequence[Passage]) -> Iterator[Line]:
    """What a search found: rank, similarity, address and the beginning of the words."""
    for rank, passage in enumerate(passages, 1):
        place, number = passage.chunk.place, f"{rank}. "
        path = " › ".join(place.path)
        yield Line.of((number, "bold"), (path, "bold"), similarity(passage.score), hang=len(number))
        yield from _address(place, indent=3)
        yield Line.of(_excerpt(passage.chunk.text), indent=3)
        yield Line()


def table(rows: Sequence[tuple[str, str]]) -> Iterator[Line]:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        yield Line.of((name.ljust(width), "dim"), value, whole=True)


def sized(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def counted(number: int, noun: str) -> str:
    """How many there are of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def similarity(score: float) -> Piece:
    """A passage's cosine to the question; the order of passages counts their words as well."""
    return f"  similarity {score:.2f}", "cyan"


def warning(words: str) -> Line:
    """Something that whoever runs a command should know, on one line."""
    return Line.of(("Warning: ", "bold yellow"), one_line(words))


def _why(kind: RefusalKind, found: Sequence[Passage], threshold: float) -> str:
    best = max((passage.score for passage in found), default=0.0)
    if kind is RefusalKind.LOW_RELEVANCE and best < threshold:
        # Rounded down, so that it reads as the smaller of the two whatever the threshold is.
        return (
            f"The highest similarity of a passage is {floor(best * 100) / 100:.2f}, below the threshold {threshold:g}."
        )
    return WHY[kind]


def _degraded(answer: Answer) -> str:
    """What became of an answer that a language model failed to write, or to finish."""
    if not answer.trace.degraded:
        return ""
    quoted = all(any(each.text == sentence.text for each in sentence.evidence) for sentence in answer.sentences)
    return OWN_WORDING if quoted else BROKEN_OFF


def _differs(answer: Answer) -> str:
    """Which other editions do not hold the words that are cited."""
    others = answer.trace.differs
    if not others:
        return ""
    asked = answer.trace.edition or PLAIN
    return f"Another edition says this otherwise, or not at all: {', '.join(others)} (asked: {asked})."


def _manner(sentence: Sentence) -> str:
    """How a sentence is set: prose runs on, items and rows stand line by line, all else stands by itself."""
    if sentence.kind in ("item", "row"):
        return sentence.kind + sentence.evidence[0].chunk_id
    return "shown" if sentence.kind != "sentence" or "\n" in sentence.text else "prose"


def _marks(sentence: Sentence, numbers: dict[Evidence, int]) -> Piece:
    return "".join(f"[{numbers[evidence]}]" for evidence in dict.fromkeys(sentence.evidence)), "cyan"


def _citation(number: int, evidence: Evidence, quoted: bool) -> Iterator[Line]:
    mark = f"[{number}] "
    yield Line.of((mark, "cyan"), (" › ".join(evidence.place.path), "bold"), hang=len(mark))
    yield from _address(evidence.place, indent=4)
    if quoted:
        yield Line.of(("“" + evidence.text + "”", "italic"), indent=4, whole="\n" in evidence.text)


def _address(place: Place, indent: int) -> Iterator[Line]:
    """A link for people, and file and characters for machines; words that are not of the book have neither."""
    if place.file:
        yield Line.of((place.link, "dim"), indent=indent, whole=True)
        file = one_line(place.file).partition("#page=")[0]
        page = f", page {one_line(place.label or str(place.page))}" if place.page is not None else ""
        yield Line.of((f"{file}:{place.start}-{place.end}{page}", "dim"), indent=indent, whole=True)


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= EXCERPT else words[:EXCERPT].rpartition(" ")[0] + " …"


def _selection(retrieval: Retrieval) -> Iterator[Line]:
    """Where the reader's selection stands in the book, or that it is not from the book."""
    if not any(passage.chunk.id == SELECTION_ID for passage in retrieval.passages):
        return
    yield Line()
    if retrieval.selection:
        yield Line.of(("The selection stands in ", "dim"), (" › ".join(retrieval.selection.path), "dim"))
        yield from _address(retrieval.selection, indent=2)
    else:
        yield Line.of(("The selection was not found in this book.", "dim"))


def _account(reply: Reply) -> Iterator[Line]:
    """How the reply came to be: the judgement, the passages and the time each part took."""
    judgement, trace = reply.judgement, reply.trace
    timings = {"embed": trace.retrieval.embed_ms, "search": trace.retrieval.search_ms, **trace.timings}
    yield Line()
    yield from table(
        [
            ("Judgement", f"{judgement.probability:.2f} probably answered, retrieval {judgement.quality}"),
            ("Relevant", f"{len(judgement.relevant)} of {counted(len(trace.retrieval.passages), 'passage')}"),
            ("Time", ", ".join(f"{name} {value:.1f} ms" for name, value in timings.items())),
            ("Writer", _writer(trace)),
            ("Embedder", trace.embedder),
            ("Generation", trace.generation),
        ]
    )
    yield Line()
    yield from passages(trace.retrieval.passages)


def _writer(trace: Trace) -> str:
    used = trace.usage
    took = f"{counted(used.calls, 'call')}, {used.read} tokens read, {used.written} written"
    return f"{trace.writer} ({took})" if used.calls else trace.writer
