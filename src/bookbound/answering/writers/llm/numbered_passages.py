"""Numbers the passages that a language model reads, and turns its drafts into sentences that cite them."""

from __future__ import annotations

from collections.abc import Iterable

from bookbound.answering.writers.llm.draft_sentences import DraftSentence
from bookbound.answering.writers.llm.inline_markup import strip_markdown
from bookbound.answering.writers.llm.unicode_guard import build_guard
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply import AnswerSentence


class NumberedPassages:
    """The passages that a model was given, numbered from one, and the sentences that it wrote about them."""

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        self._evidence: list[Evidence] = []
        self.text = ""
        for passage in passages:
            self.add(passage)

    def add(self, passage: Passage) -> int | None:
        """Returns the number of a new passage, or None for one that has a number already."""
        chunk = passage.chunk
        if any(chunk.id == known.chunk_id for known in self._evidence):
            return None
        self._evidence.append(Evidence.from_chunk(chunk, 0, len(chunk.text), passage.score))
        self.text = "\n".join(each.text for each in self._evidence)
        return len(self._evidence)

    def __len__(self) -> int:
        return len(self._evidence)

    def build_sentences(self, drafted: Iterable[DraftSentence]) -> list[AnswerSentence]:
        """Cites all passages, first those that a sentence names.

        A sentence in letters or signs that the passages do not have gets no evidence.
        """
        return [self.build_sentence(each) for each in drafted]

    def build_sentence(self, drafted: DraftSentence) -> AnswerSentence:
        named = [number - 1 for number in drafted.passages if 1 <= number <= len(self)]
        evidence = tuple(self._evidence[at] for at in dict.fromkeys((*named, *range(len(self)))))
        # Code is compared as it is.
        shown = "" if drafted.form.kind == "code" else strip_markdown(drafted.text, self.text)
        is_foreign = build_guard(self.text).is_foreign(shown)
        return AnswerSentence(drafted.text, () if is_foreign else evidence, form=drafted.form, claim=drafted.claim)
