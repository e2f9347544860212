"""Splits the Markdown of a language model into sentences, list items, table rows and code, while it streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from textwrap import dedent

from bookbound.answering.writers.llm.citation_marks import strip_citation_marks
from bookbound.answering.writers.llm.formulas import spell_formulas
from bookbound.answering.writers.llm.inline_markup import strip_links, strip_markdown
from bookbound.domain.judgement import Claim
from bookbound.domain.reply import SentenceForm
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms, split_sentences

_FORMS = LANGUAGE.models
_FENCE = re.compile(r"\s{0,12}(?P<fence>`{3,}|~{3,})[^`]*$")
_ITEM = re.compile(r"(?P<indent>\s{0,16})(?:[-*+•]|(?P<number>\d{1,3}[.)]))\s+(?:\[[ xX]\]\s+)?(?P<words>\S.*)$")
_ROW = re.compile(r"\s*\|(?P<cells>.*)\|\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_TABLE_RULE = re.compile(r"[\s|:-]+$")
# A bold line with a full stop or the number of a passage is a sentence.
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s+(?P<words>\S.*)|\*\*(?P<bold>[^*\[\]]{0,79}[^*\[\].!:]):?\*\*:?\s*)$")
_RULE = re.compile(r"\s{0,3}(?:[-*_]\s*){3,}$")
_QUOTE_MARK = re.compile(r"^\s{0,3}>\s?")
_INDENTED = re.compile(r"\s{2,}\S")
_LATE_CITATION = re.compile(r"(?P<stop>[.!?])(?P<marks>(?:\s?\[\d{1,3}(?:,\s?\d{1,3}){0,9}\]){1,9})(?=\s|$)")
# What begins with another sign may belong to the sentence before it, or look like an item without it.
_SURE_START = re.compile(r"[^\W\d_]\w*+(?!\))")
_STOPS = ".!?…。！？"
_LAST_SPACE = re.compile(r"\s(?=\S*$)")
MAX_PARAGRAPH_CHARACTERS = 4000
"""A longer paragraph without a sentence ends where its line ends, and is not read before."""
MAX_TITLE_WORDS = 4
"""A longer heading has to be in the words of the book or of the question, such as "How the brake is tested"."""
PLAIN = SentenceForm()


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A part of a draft, its form, the numbers of the passages that it names, and its claim if it makes one."""

    text: str
    passages: tuple[int, ...] = ()
    form: SentenceForm = PLAIN
    claim: Claim | None = None


class MarkdownSplitter:
    """Splits Markdown that comes in pieces; a part is returned as soon as it is known to be complete."""

    def __init__(self, question: str, book: str = "") -> None:
        self._question, self._book = question, book
        self._is_new_paragraph = False
        self._line, self._paragraph, self._fence = "", "", ""
        self._is_in_prose = False
        self._code: list[str] = []
        self._item: DraftSentence | None = None
        self._columns: tuple[str, ...] = ()
        self._passages: tuple[int, ...] = ()
        self._previous, self._introduction = "", ""
        self._verdict: DraftSentence | None = None
        self._found: list[DraftSentence] = []

    def feed(self, text: str, passages: tuple[int, ...] = ()) -> list[DraftSentence]:
        """Returns the parts that are complete with this text; `passages` are those of parts that name none."""
        self._passages = passages
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._take_line(line)
        begins_prose = self._line[:1].isalpha() and not (self._fence or self._item or self._columns)
        is_prose = self._is_in_prose or begins_prose
        is_short = len(self._paragraph) + len(self._line) <= MAX_PARAGRAPH_CHARACTERS
        # The next word decides whether a full stop ends a sentence, so only whole words are read.
        if is_prose and is_short and (space := _LAST_SPACE.search(self._line)):
            words, self._line = self._line[: space.end()], self._line[space.end() :]
            self._add_prose(words)
            self._is_in_prose = True
        return self._take_found()

    def end(self) -> list[DraftSentence]:
        """Returns what is left; a code block that was not closed is complete too."""
        line, self._line = self._line, ""
        self._take_line(line)
        if self._fence:
            self._end_code()
        self._end_block()
        self._end_verdict()
        return self._take_found()

    def _take_found(self) -> list[DraftSentence]:
        found, self._found = self._found, []
        return found

    def _take_line(self, line: str) -> None:
        if self._is_in_prose:
            self._add_prose(line)
            self._is_in_prose = False
            return
        if self._fence:
            closing = line.strip()
            if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
                self._end_code()
            else:
                self._code.append(line)
            return
        line = _QUOTE_MARK.sub("", line, count=1)
        if fence := _FENCE.match(line):
            self._end_block()
            self._fence = fence["fence"]
        elif not line.strip() or _RULE.match(line):
            self._end_block()
        elif heading := _HEADING.match(line):
            self._end_block()
            words = (heading["words"] or heading["bold"]).rstrip("# ")
            self._add(words, SentenceForm("heading") if self._is_title(words) else PLAIN)
        elif item := _ITEM.match(line):
            self._end_block()
            form = SentenceForm("item", item["number"] or "", len(item["indent"].expandtabs(4)) // 2)
            self._item = DraftSentence(item["words"], form=form)
        elif row := _ROW.match(line):
            if not self._columns:
                self._end_block()
            self._add_row(line, row["cells"])
        elif self._item and _INDENTED.match(line):
            self._item = replace(self._item, text=f"{self._item.text} {line.strip()}")
        else:
            if self._item or self._columns or len(self._paragraph) > MAX_PARAGRAPH_CHARACTERS:
                self._end_block()
            self._add_prose(line)

    def _add_prose(self, text: str) -> None:
        """Adds text to the paragraph, and its sentences that another one surely follows."""
        is_new_line = bool(self._paragraph) and not self._is_in_prose
        text = _cite_before_stop(f"{self._paragraph} {text}" if is_new_line else f"{self._paragraph}{text}".lstrip())
        self._paragraph = text
        may_end = any(stop in text for stop in _STOPS) and not _has_open_parenthesis(text)
        units = split_sentences(text) if may_end else []
        starts = (at for at, unit in enumerate(units) if at and _SURE_START.match(text, unit.start))
        if certain := max(starts, default=0):
            self._paragraph = text[units[certain].start :]
            for unit in units[:certain]:
                self._add(text[unit.start : unit.end])

    def _end_block(self) -> None:
        self._columns = ()
        if self._item:
            item, self._item = self._item, None
            self._add(_cite_before_stop(item.text), item.form)
        text, self._paragraph = self._paragraph, ""
        for unit in split_sentences(text):
            self._add(text[unit.start : unit.end])
        self._is_new_paragraph = bool(self._previous) and not self._passages  # a list of sentences has no paragraphs

    def _end_code(self) -> None:
        code, self._fence = dedent("\n".join(self._code)).strip("\n"), ""
        self._code = []
        if code.strip():
            self._end_verdict()
            self._found.append(DraftSentence(code, self._passages, SentenceForm("code"), Claim(code)))

    def _add_row(self, line: str, row: str) -> None:
        if _TABLE_RULE.match(line):
            return
        is_header = not self._columns
        cells = tuple(cell.replace("\\|", "|").strip() for cell in _CELL_BORDER.split(row))
        if is_header:
            self._columns = tuple(strip_markdown(self._clean(cell)[0], self._book) for cell in cells)
        self._add(line, SentenceForm("row", cells=cells, is_header=is_header))

    def _clean(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Returns a text without citation marks, links and commands of TeX that the book lacks, and its numbers."""
        text, numbers = strip_citation_marks(text, self._book)
        return spell_formulas(strip_links(text, self._book), self._book), numbers

    def _add(self, text: str, form: SentenceForm = PLAIN) -> None:
        """Adds a part without its citation marks, with its claim; a remark to the reader is left out."""
        if form.kind == "row":
            cleaned = [self._clean(cell) for cell in form.cells]
            numbers = tuple(number for _, found in cleaned for number in found)
            form = form._replace(cells=tuple(strip_markdown(cell, self._book) for cell, _ in cleaned))
            text = " | ".join(cell for cell, _ in cleaned)
        else:
            text, numbers = self._clean(text)
        words = _strip_start(_FORMS.attribution, strip_markdown(text, self._book))
        is_remark = not numbers and compiled(_FORMS.remark).match(words)
        if is_remark or not any(map(str.isalnum, words)):
            return
        passages = tuple(dict.fromkeys((*numbers, *self._passages)))
        if form.kind == "sentence":
            form, self._is_new_paragraph = form._replace(starts_paragraph=self._is_new_paragraph), False
            if self._verdict:
                text, passages = f"{self._verdict.text} {text}", (*self._verdict.passages, *passages)
            if _is_bare_verdict(words):
                self._verdict = DraftSentence(text, passages)
                return
        else:
            self._end_verdict()
        claim = self._find_claim(words, form)
        self._verdict = None
        self._found.append(DraftSentence(text, tuple(dict.fromkeys(passages)), form, claim))

    def _is_title(self, words: str) -> bool:
        """Whether a heading only names what follows; one that may say something by itself is a sentence."""
        is_short = len(words.split()) <= MAX_TITLE_WORDS and not any(map(str.isdigit, words))
        is_known = is_short or _list_terms(f"{self._question}\n{self._book}").issuperset(extract_terms(words))
        return is_known and not compiled(LANGUAGE.claims.negation).search(words)

    def _end_verdict(self) -> None:
        """Adds a yes or no that no sentence follows: no passage says it by itself, so it only introduces the rest."""
        if self._verdict:
            self._found.append(self._verdict)
            self._verdict = None

    def _find_claim(self, words: str, form: SentenceForm) -> Claim | None:
        """Returns what a part claims, with the words without which it is not understood; a heading claims nothing."""
        if form.kind == "heading" or form.is_header:
            self._introduction = "" if form.is_header else words
            return None
        if form.kind == "row":
            named = zip_longest(self._columns, form.cells, fillvalue="")
            words = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        if form.kind in ("item", "row"):
            return Claim(words, self._introduction or self._previous)
        bare = _strip_start(_FORMS.verdict, words)
        needs_previous = compiled(_FORMS.needs_previous).match(bare)
        asked = self._question if self._verdict or bare != words else ""
        claim = Claim(bare, self._previous if needs_previous else "", asked)
        if words.endswith(":"):
            self._introduction = words
            is_empty = set(extract_terms(words)) <= {*extract_terms(self._question), *_FORMS.introduction_terms}
            return None if is_empty else claim
        self._introduction, self._previous = "", bare
        return claim


@lru_cache(maxsize=4)
def _list_terms(text: str) -> frozenset[str]:
    return frozenset(extract_terms(text))


def _strip_start(pattern: str, words: str) -> str:
    """Returns words without what a pattern finds at their start."""
    found = compiled(pattern).match(words)
    return words[found.end() :] if found else words


def _is_bare_verdict(words: str) -> bool:
    """Whether a sentence says yes or no and nothing else that the book could say."""
    rest = _strip_start(_FORMS.verdict, words)
    return rest != words and not extract_terms(rest)


def _cite_before_stop(text: str) -> str:
    """Puts citation marks before the full stop that they follow, so that they stay with their sentence."""
    return _LATE_CITATION.sub(lambda found: f"{found['marks'].rstrip()}{found['stop']}", text)


def _has_open_parenthesis(text: str) -> bool:
    """Whether what follows may still be inside parentheses, in which no sentence ends."""
    depth = 0
    for letter in text:
        depth = max(0, depth + (letter in "(（") - (letter in ")）"))
    return depth > 0


def split_draft(text: str, question: str, book: str = "") -> Iterator[DraftSentence]:
    """Yields the parts of a whole draft."""
    splitter = MarkdownSplitter(question, book)
    yield from splitter.feed(text)
    yield from splitter.end()
