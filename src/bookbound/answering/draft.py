"""Holds what a language model drafted, labelled sentence by sentence, and decides what of it may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bookbound.domain.judgement import SupportLabel
from bookbound.domain.reply import AnswerSentence, MissingPart, Restart, WriterEvent, count_sentences
from bookbound.domain.trace import SentenceCounts, TokenUsage
from bookbound.languages import LANGUAGE, compiled

MAX_LOST_SHARE = 0.25
"""If a larger share of its claims is lost, a draft may say something else than its writer meant."""
_NEGATION = compiled(LANGUAGE.claims.negation)


@dataclass(slots=True)
class Draft:
    """What a language model wrote and said about it: its sentences in order, supported or not; or quotes of the book.

    `is_degraded`: the model failed to write the answer, or to finish it. `is_withheld`: the book does not support
    enough of what it wrote, so nothing of that is shown. `quotes` are shown instead of its sentences.
    """

    max_sentences: int = 0
    hides_unverified: bool = False
    sentences: list[AnswerSentence] = field(default_factory=list)
    quotes: list[AnswerSentence] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    is_missing_part: bool = False
    is_degraded: bool = False
    is_withheld: bool = False
    _left_out: set[int] = field(default_factory=set)

    def add(self, event: WriterEvent) -> None:
        """Adds an event of a language model; its sentences are verified already."""
        if isinstance(event, TokenUsage):
            self.usage += event
        elif isinstance(event, MissingPart):
            self.is_missing_part = True
        elif isinstance(event, Restart):
            self.sentences.clear()
        else:
            self.sentences.append(event)

    @property
    def claims(self) -> list[AnswerSentence]:
        return [sentence for sentence in self.sentences if sentence.makes_claim]

    @property
    def is_denied(self) -> bool:
        """Whether the model read the passages and says nothing but that they do not answer."""
        return self.is_missing_part and not self.claims

    @property
    def is_by_model(self) -> bool:
        return not self.quotes and bool(self.shown)

    @property
    def shown(self) -> list[AnswerSentence]:
        """The sentences that a reader sees, each introduction with what it introduces."""
        return self.quotes if self.quotes or self.is_withheld else _limit(self._kept, self.max_sentences)

    @property
    def _kept(self) -> list[AnswerSentence]:
        kept: list[AnswerSentence] = []
        for sentence in reversed(self.sentences):
            if not sentence.makes_claim:
                if kept and _introduces(sentence, kept[-1]):
                    kept.append(replace(sentence, evidence=kept[-1].evidence))
            elif self._may_show(sentence):
                kept.append(sentence)
        return kept[::-1]

    @property
    def certain(self) -> list[AnswerSentence]:
        """The first of the shown sentences, up to one that may still be said otherwise."""
        end = next((at for at, sentence in enumerate(self.sentences) if not sentence.is_verified), None)
        return replace(self, sentences=self.sentences[:end]).shown

    @property
    def counts(self) -> SentenceCounts:
        labels = [sentence.label for sentence in self.claims]
        if self.is_withheld:
            return SentenceCounts(dropped=len(labels), is_withheld=True)
        verified, unverified = (labels.count(label) for label in (SupportLabel.SUPPORTED, SupportLabel.UNVERIFIED))
        hidden = unverified if self.hides_unverified else 0
        return SentenceCounts(verified, unverified - hidden, labels.count(SupportLabel.UNSUPPORTED) + hidden)

    @property
    def unproved(self) -> list[AnswerSentence]:
        """The claims that the book does not support, if so many or such that the draft would mean something else."""
        lost = [sentence for sentence in self.claims if not sentence.is_verified]
        return lost if self._would_mislead_without(lost) else []

    @property
    def misleads(self) -> bool:
        """Whether what is shown would say something else than the whole draft."""
        shown = set(map(id, self.shown))
        return self._would_mislead_without([sentence for sentence in self.claims if id(sentence) not in shown])

    def revise(self, unproved: Sequence[AnswerSentence], revised: Sequence[AnswerSentence | None]) -> None:
        """Puts other sentences into the places of those that were not proved; None leaves one out.

        What another sentence says already is left out too.
        """
        new = {
            id(old): said or replace(old, label=SupportLabel.UNSUPPORTED)
            for old, said in zip(unproved, revised, strict=True)
        }
        self._left_out = {id(new[id(old)]) for old, said in zip(unproved, revised, strict=True) if said is None}
        texts = {sentence.text for sentence in self.sentences if id(sentence) not in new}
        replaced = [(old, new.get(id(old), old)) for old in self.sentences]
        self.sentences = [each for old, each in replaced if each is old or each.text not in texts]

    def settle(self, *, may_open_unverified: bool) -> None:
        """Withholds a finished draft that would mislead, or whose opening has to be verified and is not."""
        claims = self.claims
        is_proved = may_open_unverified or (bool(claims) and claims[0].is_verified)
        self.is_withheld |= bool(claims) and (self.misleads or not is_proved)
        self.is_missing_part |= not self.is_withheld and len(self.shown) < len(self._kept)

    def translate(self, texts: Mapping[str, str]) -> None:
        """Says the sentences with these texts in other words; a row of a table keeps its form if it has its cells."""
        self.sentences = [_translate(sentence, texts.get(sentence.text, "")) for sentence in self.sentences]

    def _may_show(self, sentence: AnswerSentence) -> bool:
        is_shown = sentence.is_verified or not self.hides_unverified
        return is_shown and sentence.label is not SupportLabel.UNSUPPORTED

    def _would_mislead_without(self, lost: Sequence[AnswerSentence]) -> bool:
        claims = self.claims
        if not lost:
            return False
        has_lost_opening = lost[0] is claims[0]
        has_lost_negation = any(_NEGATION.search(sentence.text) for sentence in lost)
        # What the model itself left out is not missed, but what it denied or began with is.
        missed = sum(id(sentence) not in self._left_out for sentence in lost)
        return has_lost_opening or has_lost_negation or missed > MAX_LOST_SHARE * len(claims)


def _limit(sentences: list[AnswerSentence], most: int) -> list[AnswerSentence]:
    """Returns so many sentences from the beginning, or all without a limit."""
    fitting = (at for at in range(len(sentences), 0, -1) if not most or count_sentences(sentences[:at]) <= most)
    return sentences[: next(fitting, 0)]


def _translate(sentence: AnswerSentence, text: str) -> AnswerSentence:
    if not text or sentence.form is None:
        return sentence
    if sentence.kind != "row":
        return replace(sentence, text=text)
    cells = tuple(cell.strip() for cell in text.strip(" |").split("|"))
    same_form = len(cells) == len(sentence.form.cells)
    return replace(sentence, text=text, form=sentence.form._replace(cells=cells)) if same_form else sentence


def _introduces(sentence: AnswerSentence, following: AnswerSentence) -> bool:
    """Returns whether a heading or an introduction belongs to the sentence after it."""
    if sentence.kind == "sentence":
        return following.kind in ("item", "row", "code")
    if sentence.form and sentence.form.is_header:
        return following.kind == "row"
    return following.kind != "heading"
