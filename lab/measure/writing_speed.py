"""`python -m lab.measure.writing_speed`: measures how much time verifying adds to that of the model that writes.

A scripted model streams an answer about the example book at a set speed. The exit status says nothing about times,
because they vary by machine.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Any

from bookbound import bootstrap
from bookbound.domain.reply import AnswerSentence, PipelineEvent
from bookbound.domain.trace import NO_SENTENCES, SentenceCounts
from bookbound.library import Book
from bookbound.settings import Settings
from bookbound.testing.scripted_services import ScriptedReply, ScriptedServices, StreamedReply
from lab.measure.figures import print_figures
from lab.measure.question_sets import BOOK
from lab.measure.timing import describe_machine

TOKENS_PER_SECOND, RUNS, THREADS = 30.0, 3, 2
TOKENS_PER_WORD = 4 / 3  # of English prose, with the tokenizers of usual models
NOTHING_SAID_AGAIN = "Nothing."
QUESTION = "What is a strain wave gear, and what are its strengths and weaknesses?"
ANSWER = """\
A strain wave gear, often called a harmonic drive, consists of three parts: an elliptical wave generator, a thin \
toothed cup named the flexspline, and a rigid ring named the circular spline [1]. The ellipse presses the cup into the \
ring at two opposite places, and the ring has two teeth more than the cup [1]. A full turn of the wave generator \
therefore moves the cup by two teeth [1]. With 200 teeth on the cup, the ratio is 200/2 = 100 and the output turns \
against the input [1].

Its strengths:

- Strain wave gears offer ratios from about 30:1 to 160:1 in a compact stage [1].
- They have almost no backlash in this stage [1].

Its weaknesses:

- Strain wave gears pay with friction: the efficiency is often between 60% and 85%, and falls at low load and \
temperature [1].
- They are hard to turn from their output side [1].
- A sharp impact can make the teeth jump; this is called ratcheting and harms the gear [1].
"""
"""About 150 words; all but the introductions are paraphrases that the cross-encoder reads, and most are supported."""


def split_tokens(text: str) -> list[str]:
    """Returns the pieces of a text that a model writes as one token each, about `TOKENS_PER_WORD` for a word."""
    pieces: list[str] = []
    owed = 0.0
    for word in re.findall(r"\s*\S+|\s+\Z", text):
        owed += TOKENS_PER_WORD
        count = int(owed + 1e-9)
        owed -= count
        size = -(-len(word) // count)
        pieces += [word[at : at + size] for at in range(0, len(word), size)]
    return pieces


class PacedModel:
    """A scripted model that writes a text at a set speed; asked to say sentences again, it leaves them as they are."""

    def __init__(self, text: str, tokens_per_second: float) -> None:
        self._tokens, self._seconds = split_tokens(text), 1 / tokens_per_second
        self.calls = 0
        self.began = self.ended = 0.0

    def reply(self, _: Mapping[str, Any]) -> ScriptedReply:
        """Begins to write when the request arrives."""
        self.calls += 1
        if self.calls > 1:
            return NOTHING_SAID_AGAIN
        self.began = perf_counter()
        written = [Event() for _ in self._tokens]
        Thread(target=self._write, args=(written,), daemon=True).start()
        return StreamedReply(*(piece for pair in zip(written, self._tokens, strict=True) for piece in pair))

    def _write(self, written: Sequence[Event]) -> None:
        for number, event in enumerate(written, 1):
            sleep(max(0.0, self.began + number * self._seconds - perf_counter()))
            event.set()
        self.ended = perf_counter()


@dataclass
class TimedAnswer:
    """When a question was asked, when the model wrote, and when a reader got each sentence and the whole answer."""

    asked: float
    model_began: float = 0.0
    model_ended: float = 0.0
    sentences: list[float] = field(default_factory=list)
    replied: float = 0.0
    calls: int = 0
    verify_seconds: float = 0.0
    counts: SentenceCounts = NO_SENTENCES

    @property
    def model_seconds(self) -> float:
        return self.model_ended - self.model_began

    @property
    def first_sentence_share(self) -> float:
        return (self.sentences[0] - self.asked) / self.model_seconds

    @property
    def whole_share(self) -> float:
        return (self.replied - self.asked) / self.model_seconds

    @property
    def added_share(self) -> float:
        """The time after the model's last token by that of the model."""
        return (self.replied - self.model_ended) / self.model_seconds

    @property
    def before_share(self) -> float:
        """The time until the model is asked by that of the model."""
        return (self.model_began - self.asked) / self.model_seconds

    @property
    def verify_share(self) -> float:
        return self.verify_seconds / self.model_seconds


def time_answer(book: Book, services: ScriptedServices, tokens_per_second: float) -> TimedAnswer:
    """Asks the question once; the model is paced anew for it."""
    model = PacedModel(ANSWER, tokens_per_second)
    services.reset()
    services.reply_with(model.reply, always=True)
    timed = TimedAnswer(perf_counter())

    def note(event: PipelineEvent) -> None:
        if isinstance(event, AnswerSentence):
            timed.sentences.append(perf_counter())

    reply = book.ask(QUESTION, on_event=note)
    timed.replied, timed.calls = perf_counter(), model.calls
    timed.model_began, timed.model_ended = model.began, model.ended
    timed.counts, timed.verify_seconds = reply.trace.sentences, reply.trace.stages["verify"].seconds
    return timed


def summarize(answers: Sequence[TimedAnswer]) -> dict[str, float]:
    """The medians of the times, as shares of the model's own; and what was verified, of which the times depend."""

    def median(value: Callable[[TimedAnswer], float]) -> float:
        return statistics.median(map(value, answers))

    return {
        "the model's own time, s": median(lambda each: each.model_seconds),
        "until the model is asked / its own time": median(lambda each: each.before_share),
        "first shown sentence / the model's own time": median(lambda each: each.first_sentence_share),
        "whole verified answer / the model's own time": median(lambda each: each.whole_share),
        "after the model's last token / its own time (at most 0.5)": median(lambda each: each.added_share),
        "all verifying / the model's own time": median(lambda each: each.verify_share),
        "sentences verified": median(lambda each: each.counts.verified),
        "sentences marked or left out": median(lambda each: each.counts.unverified + each.counts.dropped),
        "calls of the model (1)": max(each.calls for each in answers),
    }


def measure(index: Path, tokens_per_second: float, runs: int, reader: str) -> dict[str, float]:
    with ScriptedServices() as services:
        settings = Settings(
            index=index,
            reader=reader,
            model_threads=THREADS,
            llm_model="scripted",
            llm_url=services.openai_url,
            llm_key="none",
            answer_timeout_seconds=600,
        )
        with bootstrap.open_book(settings) as book:
            time_answer(book, services, 1000)  # opens the networks
            return summarize([time_answer(book, services, tokens_per_second) for _ in range(runs)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens-per-second", type=float, default=TOKENS_PER_SECOND, help="how fast the model writes")
    parser.add_argument("--runs", type=int, default=RUNS, help="the figures are medians of so many answers")
    parser.add_argument("--reader", choices=("strong", "fast"), default="strong", help="which network reads the claims")
    parser.add_argument("--note", default="", help="a remark on the machine, printed with the figures")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        bootstrap.index_book(BOOK, Settings(index=index))
        figures = measure(index, options.tokens_per_second, options.runs, options.reader)
    machine = " ".join(filter(None, (describe_machine(Path("/proc/cpuinfo").read_text()), options.note)))
    speed = f"{options.tokens_per_second:g} tokens a second"
    print_figures(f"A language model with {speed}, reader={options.reader}, {THREADS} threads: {machine}", figures)


if __name__ == "__main__":
    main()
