"""Replies without a reader: to questions about the book itself from its outline, and to small talk."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest

from bookbound.answering.reply_builder import Findings
from bookbound.domain.chunk import Chunk, Passage, QuotableUnit
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason, RetrievalQuality
from bookbound.domain.manifest import Manifest
from bookbound.domain.outline import Outline, OutlineChapter
from bookbound.domain.ports import Index
from bookbound.domain.question import NO_DEADLINE, BookQuestion, BookTopic, Deadline, Retrieval, Understanding
from bookbound.domain.reply import AnswerSentence
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms

# A reader sees this many titles at a glance, and fewer below quoted sentences.
MAX_TITLES = 40
MAX_TITLES_AFTER_OPENING = 12
MAX_OPENING_SENTENCES = 3
OFF_TOPIC = Judgement(0.0, (), (), "Poor", RefusalReason.LOW_RELEVANCE)
_FORMS = LANGUAGE.book_questions
_BIBTEX_TITLE = re.compile(r"@\w+\s*\{[^@]*?\btitle\s*=\s*[{\"]+(?P<title>[^}\"]+)", re.I)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


async def answer_about_book(
    understanding: Understanding, index: Index, deadline: Deadline = NO_DEADLINE
) -> Findings | None:
    """Answers a question about the book itself, or returns None if neither a section nor the outline tells it."""
    assert understanding.book_question
    reader = OutlineReader(index, await index.outline(deadline), deadline)
    answer = await reader.answer(understanding.book_question)
    return answer.finish(understanding) if answer else None


def reply_to_small_talk(understanding: Understanding, manifest: Manifest, found: Retrieval) -> Findings:
    """Refuses small talk; the first of the passages that a search found are reported as for any refusal."""
    note = f"{LANGUAGE.small_talk.replies[understanding.small_talk or 'other']} {write_invitation(manifest)}"
    shown = replace(found, passages=found.passages[: understanding.question.k])
    return Findings(understanding, shown, OFF_TOPIC, note=note)


def write_invitation(manifest: Manifest) -> str:
    """Returns one line that says what can be asked, with the chapter in the middle of the text as an example."""
    ends = [*accumulate(chapter.chunks for chapter in manifest.chapters)]
    example = "What is this book about?"
    if len(ends) > 1 and ends[-1]:
        middle = manifest.chapters[bisect_right(ends, ends[-1] // 2)]
        example = f"What is in the chapter on {middle.title}?"
    return f"Ask me anything that {manifest.title} covers, for example: “{example}”"


@dataclass(slots=True)
class OutlineAnswer:
    """Titles and sentences of the book, and a note that says where they are from."""

    note: str
    _sentences: list[AnswerSentence] = field(default_factory=list)
    _passages: dict[str, Passage] = field(default_factory=dict)

    def add_titles(self, titles: Iterable[tuple[str, Chunk]]) -> None:
        """Adds the titles of chapters or sections, each with the chunk with which it begins."""
        for title, chunk in titles:
            self._add(chunk, Evidence(chunk.id, title, chunk.place, 0, 0, 1.0, "heading"))

    def add_opening(self, chunk: Chunk) -> None:
        """Adds the first whole sentences of a chunk, if it has any, and all items of a list that is among them."""
        count, in_list = 0, False
        for unit, after in zip_longest(chunk.units, chunk.units[1:]):
            words = chunk.text[unit.start : unit.end]
            announces_list = words.endswith(":") and after is not None and after.kind == "item"
            goes_on = unit.kind == "item" and in_list
            if not goes_on and count == MAX_OPENING_SENTENCES:
                break
            is_whole = announces_list or bool(_SENTENCE_END.search(words))
            if is_added := goes_on or (unit.kind in ("sentence", "item") and is_whole):
                self.add_unit(chunk, unit)
            count += is_added and not goes_on
            in_list = is_added and (announces_list or unit.kind == "item")

    def add_unit(self, chunk: Chunk, unit: QuotableUnit) -> None:
        """Adds a unit as a whole."""
        self._add(chunk, Evidence.from_chunk(chunk, unit.start, unit.end, 1.0))

    def __bool__(self) -> bool:
        return bool(self._sentences)

    def finish(self, understanding: Understanding) -> Findings:
        """Returns the passages, sentences and note, with the judgement that these are the book's own words."""
        evidence = tuple(evidence for sentence in self._sentences for evidence in sentence.evidence)
        quality: RetrievalQuality = "Good" if len(self._passages) > 1 else "Partial"
        judgement = Judgement(1.0, tuple(self._passages), evidence, quality, is_about_book=True)
        retrieval = Retrieval(tuple(self._passages.values()))
        return Findings(understanding, retrieval, judgement, tuple(self._sentences), self.note)

    def _add(self, chunk: Chunk, evidence: Evidence) -> None:
        self._passages[chunk.id] = Passage(chunk, 1.0)
        self._sentences.append(AnswerSentence(evidence.text, (evidence,), 1.0))


class OutlineReader:
    """Finds what a book says about itself in its outline."""

    def __init__(self, index: Index, outline: Outline, deadline: Deadline) -> None:
        self._index, self._outline, self._deadline = index, outline, deadline
        self._chapters = outline.chapters

    async def answer(self, asked: BookQuestion) -> OutlineAnswer | None:
        if not self._chapters:
            return None
        if asked.topic == "contents":
            return self._list_chapters()
        if asked.topic == "questions":
            return self._list_chapters(f"{write_invitation(self._index.manifest)} ")
        if asked.topic == "chapter":
            return await self._describe_chapter(asked)
        if answer := await self._quote_own_section(asked.topic):
            return answer
        if asked.topic in ("author", "citation"):
            return await self._quote_citation()
        return self._describe_book() if asked.topic == "subject" else None

    def _describe_book(self) -> OutlineAnswer:
        """Quotes the opening of each book and lists chapters of a single book."""
        openings = {page.opening.place.book: page.opening for page in reversed(self._outline.pages)}
        numbered = self._numbered_chapters
        titles = f" and the {_describe_cut(len(numbered))}titles of its chapters" if numbered else ""
        answer = OutlineAnswer(f"From the opening of {'each book' if len(openings) > 1 else f'the book{titles}'}:")
        for opening in reversed(openings.values()):
            answer.add_opening(opening)
        answer.add_titles((each.title, each.pages[0].opening) for each in numbered[:MAX_TITLES_AFTER_OPENING])
        return answer

    def _list_chapters(self, invitation: str = "") -> OutlineAnswer:
        chapters = self._without_title_page or self._chapters
        count = len(chapters)
        which = f"the first {MAX_TITLES} of {count} chapters" if count > MAX_TITLES else f"{count} chapters"
        counted = f"From the table of contents, {which}:" if count > 1 else "The book has one chapter:"
        answer = OutlineAnswer(f"{invitation}{counted}")
        answer.add_titles((each.title, each.pages[0].opening) for each in chapters[:MAX_TITLES])
        return answer

    async def _quote_own_section(self, topic: BookTopic) -> OutlineAnswer | None:
        """Quotes the section in which the book itself speaks about its subject, its readers or its author."""
        for place in self._outline.sections if topic in _FORMS.sections else ():
            if compiled(_FORMS.sections[topic]).fullmatch(place.section.strip(" ?.!:")):
                chunks = await self._index.chunks(place.file, self._deadline)
                answer = OutlineAnswer(f"From the section “{place.section}”:")
                answer.add_opening(next(chunk for chunk in chunks if chunk.place.headings == place.headings))
                if answer:
                    return answer
        return None

    async def _quote_citation(self) -> OutlineAnswer | None:
        """Quotes the BibTeX entry that names the authors of the book itself: one of both titles contains the other."""
        words = set(extract_terms(self._index.manifest.title))
        for place in self._outline.sections:
            if not compiled(_FORMS.citation_section).match(place.section):
                continue
            chunks = await self._index.chunks(place.file, self._deadline)
            for chunk, unit in ((each, unit) for each in chunks for unit in each.units if unit.kind == "code"):
                entry = _BIBTEX_TITLE.search(chunk.text, unit.start, unit.end)
                terms = set(extract_terms(entry["title"])) if entry else set()
                is_own = bool(words & terms) and (words <= terms or terms <= words)
                if is_own and chunk.place.headings == place.headings:
                    answer = OutlineAnswer(f"From the section “{place.section}”:")
                    answer.add_unit(chunk, unit)
                    return answer
        return None

    async def _describe_chapter(self, asked: BookQuestion) -> OutlineAnswer | None:
        """Quotes the opening of a chapter and lists its pages, or its sections if it has one page."""
        if not (chapter := self._find_chapter(asked)):
            return self._list_chapters() if asked.number and asked.unit == "chapter" else None
        first = chapter.pages[0].opening
        titles = [(page.opening.place.title, page.opening) for page in chapter.pages]
        if len(titles) == 1:
            sections: dict[str, Chunk] = {}
            for chunk in await self._index.chunks(first.place.file, self._deadline):
                if chunk.place.headings:
                    sections.setdefault(chunk.place.headings[0], chunk)
            titles = [*sections.items()]
        answer = OutlineAnswer(f"From the opening of “{chapter.title}” and its {_describe_cut(len(titles))}headings:")
        answer.add_opening(first)
        answer.add_titles(titles[:MAX_TITLES_AFTER_OPENING])
        return answer

    def _find_chapter(self, asked: BookQuestion) -> OutlineChapter | None:
        if asked.name:
            return self._find_by_name(asked.name)
        numbered = re.compile(rf"(?:{asked.unit}\s+)?0*{asked.number}(?:[.:)\s–—-].*)?", re.I)
        if found := [chapter for chapter in self._chapters if numbered.fullmatch(chapter.title)]:
            return found[0]
        counted = self._numbered_chapters
        if asked.unit != "chapter" or asked.number > len(counted) or not counted:
            return None
        return counted[asked.number - 1 if asked.number > 0 else -1]

    @property
    def _numbered_chapters(self) -> list[OutlineChapter]:
        """The chapters of a single book without its title page and front matter."""
        if len({page.opening.place.book for page in self._outline.pages}) > 1:
            return []
        return [each for each in self._without_title_page if not compiled(_FORMS.front_matter).match(each.title)]

    @property
    def _without_title_page(self) -> list[OutlineChapter]:
        own = self._index.manifest.title.casefold()
        return [each for each in self._chapters if each.title.casefold() != own]

    def _find_by_name(self, name: str) -> OutlineChapter | None:
        """Returns the chapter, page or section whose title has all words of the name; the shortest title wins."""
        words = set(extract_terms(name))
        pages = (OutlineChapter(page.opening.place.title, (page,)) for page in self._outline.pages)
        found = [each for each in (*self._chapters, *pages) if words and words <= set(extract_terms(each.title))]
        return min(found, key=lambda each: len(each.title), default=None)


def _describe_cut(count: int) -> str:
    """Says in a note how many titles follow if these are not all."""
    return f"first {MAX_TITLES_AFTER_OPENING} of {count} " if count > MAX_TITLES_AFTER_OPENING else ""
