"""Has a language model write an answer from passages, and say sentences again that the book does not support so."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bookbound.answering.writers.llm.citation_marks import strip_marks
from bookbound.answering.writers.llm.draft_sentences import DraftSentence
from bookbound.answering.writers.llm.inline_markup import strip_links, strip_markdown
from bookbound.answering.writers.llm.model_requests import ModelClient, RetriedStream
from bookbound.answering.writers.llm.numbered_passages import NumberedPassages
from bookbound.answering.writers.llm.prompts import (
    DataDelimiters,
    build_answer_prompt,
    build_question_prompt,
    build_revision_prompt,
    build_translation_prompt,
)
from bookbound.answering.writers.llm.reply_reader import ReplyReader, strip_thoughts
from bookbound.answering.writers.llm.unicode_guard import strip_invisible
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Claim, Judgement
from bookbound.domain.language_model import RequestOptions
from bookbound.domain.ports import LanguageModel
from bookbound.domain.question import MAX_QUESTION_CHARS, NO_DEADLINE, Deadline, Question, Understanding
from bookbound.domain.reply import AnswerSentence, MissingPart, Restart, WriterEvent
from bookbound.domain.trace import TokenUsage

_NUMBERED_LINE = re.compile(r"(?:[-*]\s{0,3})?\(?(?P<number>\d{1,2})[.):](?!\d)\s{0,9}(?P<words>\S.*)")
_LEFT_OUT = re.compile(r"[-–—.\s*]*|\(?(?:left out|leave out|omitted|removed|none)\)?\.?", re.I)


class LanguageModelWriter:
    """Has a language model write the answer from the passages, and yields each sentence as soon as it is complete.

    The evidence of a sentence is the whole of all passages, first of those that it names.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._client = ModelClient(model)
        self.name = model.name

    async def write(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        judgement: Judgement,
        deadline: Deadline = NO_DEADLINE,
    ) -> AsyncGenerator[WriterEvent]:
        question, language = understanding.question, understanding.book_language
        prompt = build_answer_prompt(question, passages, judgement, language, DataDelimiters.create())

        async def draft(options: RequestOptions) -> AsyncGenerator[WriterEvent]:
            numbered = NumberedPassages(passages)
            reader = ReplyReader(question.text, numbered.text)
            async with aclosing(self._client.model.run(prompt, options)) as run:
                has_text = False
                async for piece in run:
                    if isinstance(piece, TokenUsage):
                        yield piece
                        continue
                    is_end = not isinstance(piece, str)
                    text = piece if isinstance(piece, str) else "" if has_text else piece.text
                    has_text = has_text or bool(text)
                    read = [*reader.feed(text), *(reader.end() if is_end else ())]
                    if reader.has_restarted:
                        reader.has_restarted = False
                        yield Restart()
                    for sentence in numbered.build_sentences(read):
                        yield sentence
                    if reader.is_loop and not is_end:
                        yield TokenUsage(1)  # the model would have told its tokens at the end
                        break
            if reader.is_missing_part:
                yield MissingPart()

        async with aclosing(RetriedStream(self._client.accepted, draft, deadline).items()) as events:
            async for event in events:
                yield event

    async def restate(
        self, question: Question, language: str, deadline: Deadline = NO_DEADLINE
    ) -> tuple[str, TokenUsage]:
        """Returns a question that is understood without its conversation, in a language; an empty text if it fails."""
        prompt = build_question_prompt(question, language, DataDelimiters.create())
        reply, usage = await self._client.complete(prompt, deadline)
        lines = [strip_markdown(line).strip('"“”') for line in strip_invisible(strip_thoughts(reply)).splitlines()]
        lines = [line for line in lines if line]
        # A model may explain its question after it.
        asked = (line for line in reversed(lines) if line.endswith(("?", "？", "؟")))
        text = next(asked, lines[-1] if lines else "")
        return text if len(text) <= MAX_QUESTION_CHARS else "", usage

    async def revise(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        sentences: Sequence[AnswerSentence],
        deadline: Deadline = NO_DEADLINE,
    ) -> tuple[list[AnswerSentence | None], TokenUsage]:
        """Returns each sentence said again in the words of the passages, or None where the model leaves it out.

        A sentence that the model does not mention stays as it is.
        """
        question, language = understanding.question, understanding.book_language
        texts = [sentence.text for sentence in sentences]
        prompt = build_revision_prompt(question, passages, texts, language, DataDelimiters.create())
        reply, usage = await self._client.complete(prompt, deadline)
        lines, numbered = _read_lines(reply), NumberedPassages(passages)
        revised: list[AnswerSentence | None] = []
        for number, sentence in enumerate(sentences, 1):
            words = lines.get(number)
            if words is None:
                revised.append(sentence)
            elif _LEFT_OUT.fullmatch(words):
                revised.append(None)
            else:
                new = _replace_words(sentence, words, question.text, numbered)
                revised.append(None if new is not sentence and new in revised else new)
        return revised, usage

    async def translate(
        self, texts: Sequence[str], source: str, target: str, deadline: Deadline = NO_DEADLINE
    ) -> tuple[list[str], TokenUsage]:
        """Returns each text in another language; one that the model leaves out stays as it is."""
        prompt = build_translation_prompt(texts, source, target, DataDelimiters.create())
        reply, usage = await self._client.complete(prompt, deadline)
        lines = _read_lines(reply)
        return [_clean_translation(lines.get(number, ""), text) for number, text in enumerate(texts, 1)], usage


def _read_lines(reply: str) -> dict[int, str]:
    """Returns the text of each number; a line without a number directly below one continues it."""
    texts: dict[int, str] = {}
    number = None
    for line in strip_thoughts(reply).splitlines():
        line = line.strip()
        if found := _NUMBERED_LINE.match(line):
            number = int(found["number"])
            texts[number] = found["words"]
        elif number is not None and line and not _LEFT_OUT.fullmatch(texts[number]):
            texts[number] += f" {line}"
        else:
            number = None
    return texts


def _clean_translation(words: str, text: str) -> str:
    """Returns a translation without the marks and links that the text lacks; the text if nothing is left of it."""
    words, _ = strip_marks(strip_links(strip_invisible(words), text), text)
    return text if _LEFT_OUT.fullmatch(words) else words


def _replace_words(
    sentence: AnswerSentence, words: str, question: str, numbered: NumberedPassages
) -> AnswerSentence | None:
    """Returns a sentence with new words, its form and what its claim needs to be understood.

    None if the words only say that the passages do not. Code, and a row without all of its cells, stay as they are.
    """
    reader = ReplyReader(question, numbered.text)
    if sentence.kind == "row":
        words = words.strip("| ")
    drafted = [*reader.feed(words), *reader.end()]
    if not drafted:
        return None
    text = " ".join(each.text for each in drafted)
    form = sentence.form or drafted[0].form
    claimed = " ".join(each.claim.words if each.claim else strip_markdown(each.text) for each in drafted)
    old = sentence.claim or Claim("")
    if form.kind == "row":
        cells = tuple(strip_markdown(cell, numbered.text) for cell in text.split("|"))
        if [*map(bool, cells)] != [*map(bool, form.cells)]:
            return sentence
        claimed = _replace_cells(old.words, form.cells, cells)
        form = form._replace(cells=cells)
    if form.kind == "code":
        return sentence
    asked = next((each.claim.asked for each in drafted if each.claim), "")
    passages = tuple(number for each in drafted for number in each.passages)
    return numbered.build_sentence(DraftSentence(text, passages, form, Claim(claimed, old.context, asked)))


def _replace_cells(claimed: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Returns the claim of a row with new cells after the names of its columns."""
    words, at = "", 0
    for before, after in filter(any, zip(old, new, strict=True)):
        if not (found := re.compile(rf"{re.escape(before)}(?=; |$)").search(claimed, at)):
            return "; ".join(new)
        words += claimed[at : found.start()] + after
        at = found.end()
    return words
