"""The rules by which replies are judged: those of a question, and those that hold for every reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bookbound.text.sentences import split_sentences
from evals.replies.reply_questions import Expectation, ReplyQuestion
from evals.replies.shown_reply import ShownBlock, ShownReply
from evals.replies.source_blocks import CodeBlock, SourceBlocks

MAX_PROSE_WORDS = 120
"""A short paragraph, with room for the sentence that answers."""
SENTENCE_END = re.compile(r"[.!?…:;][\"'”’»)\]*_]*$|[^\w\s,\-–(\[{]$")
LOWERCASE_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?(?=[\s,;]|[.!?]?$)")
LINK = re.compile(r"https?://[^/\s]+|/|[^\s#?]+\.(?:x?html?|pdf|md)\b")
EXERCISE = re.compile(r"› Exercises?$")
CAPTION = re.compile(r"(?:Figure|Fig\.|Table) \d")
DIAGRAM = re.compile(r"(?:flowchart|graph|sequenceDiagram|classDiagram|stateDiagram|gantt|pie|@startuml)\b")
CONTINUATION_MARK = "…"


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that a reply breaks, and how."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A question, its reply and the rules that the reply breaks, or the reason why it was not asked."""

    question: ReplyQuestion
    shown: ShownReply | None = None
    failures: tuple[Failure, ...] = ()
    skipped: str = ""

    @property
    def was_asked(self) -> bool:
        return self.shown is not None

    @property
    def has_passed(self) -> bool:
        return self.was_asked and not self.failures


def judge(shown: ShownReply, question: ReplyQuestion, source: SourceBlocks) -> list[Failure]:
    """The rules that a reply breaks; a reply of the wrong kind is not compared with the expected words."""
    expect = question.expect
    failures = [Failure(rule, detail) for rule, check in GENERAL_RULES.items() for detail in check(shown, source)]
    if shown.kind not in expect.reply:
        return [Failure("reply", f"is {shown.kind}, not {' or '.join(expect.reply)}"), *failures]
    return [
        Failure(rule, detail) for rule, check in QUESTION_RULES.items() for detail in check(shown, expect)
    ] + failures


def first_words(shown: ShownReply) -> str:
    """The first sentence or block; a sentence that introduces the next block counts with that block."""
    if not shown.blocks:
        return shown.message
    block, *rest = shown.blocks
    if block.kind not in ("paragraph", "heading"):
        return block.text
    first = next(iter(_sentences(block)), "")
    is_lead = first.endswith(":") and len(_sentences(block)) == 1 and rest
    return f"{first}\n{rest[0].text}" if is_lead else first


def _check_first(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    words = _fold(first_words(shown))
    if expect.first and not any(_fold(each) in words for each in expect.first):
        yield f"begins with “{_shorten(first_words(shown))}”, without {' or '.join(map(repr, expect.first))}"


def _check_contains(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if missing := [each for each in expect.contains if _fold(each) not in _fold(shown.text)]:
        yield f"lacks {', '.join(map(repr, missing))}"


def _check_lacks(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if found := [each for each in expect.lacks if _fold(each) in _fold(shown.text)]:
        yield f"has {', '.join(map(repr, found))}"


def _check_blocks(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    kinds = [block.kind for block in shown.blocks]
    if missing := [kind for kind in expect.blocks if kind not in kinds]:
        yield f"shows {', '.join(dict.fromkeys(kinds)) or 'nothing'}, no {' and no '.join(missing)}"


def _check_cites(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    places = [_fold(f"{each.path} {each.file}") for each in shown.citations]
    if expect.cites and not any(_fold(each) in place for each in expect.cites for place in places):
        cited = "; ".join(dict.fromkeys(each.path for each in shown.citations)) or "nothing"
        yield f"cites {cited}, not {' or '.join(expect.cites)}"


def _check_completed(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if missing := [each for each in expect.completed if _fold(each) not in _fold(shown.completed)]:
        yield f"the completed question is “{shown.completed}”, without {', '.join(map(repr, missing))}"


def _check_fragments(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for i, block in enumerate(shown.blocks):
        if block.kind != "paragraph":
            if not block.text.strip():
                yield f"an empty {block.kind}"
            continue
        sentences = _sentences(block)
        previous = shown.blocks[i - 1].kind if i else ""
        for n, sentence in enumerate(sentences):
            continues = n == 0 and previous in ("code", "formula")
            if LOWERCASE_WORD.match(sentence) and not continues:
                yield f"starts in the middle: “{_shorten(sentence)}”"
            elif not SENTENCE_END.search(sentence):
                yield f"has no end: “{_shorten(sentence)}”"
        following = shown.blocks[i + 1].kind if i + 1 < len(shown.blocks) else "paragraph"
        if sentences and sentences[-1].endswith(":") and following in ("paragraph", "heading"):
            yield f"introduces nothing: “{_shorten(sentences[-1])}”"


def _check_alt_text(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for block in shown.blocks:
        for line in block.lines if block.kind in ("paragraph", "heading", "list") else ():
            if any(_fold(line).strip(".") == _fold(alt) for alt in source.image_texts(shown.files)):
                yield f"the text of an image: “{_shorten(line)}”"


def _check_joined_cells(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for block in shown.blocks:
        for sentence in _sentences(block) if block.kind == "paragraph" else ():
            cells = sentence.count(" | ") + sentence.count("\t")
            if cells > 1 or (cells and not SENTENCE_END.search(sentence)):
                yield f"cells in a sentence: “{_shorten(sentence)}”"


def _check_code_lines(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for block in shown.blocks:
        if block.kind == "code":
            lines = [line.strip() for line in block.lines if line.strip()]
            written = source.code_blocks(shown.files)
            if lines and any(lines[0] == each.title for each in written):
                yield f"the title of the code as its first line: “{lines.pop(0)}”"
            if not lines:
                yield "code without lines"
            elif CONTINUATION_MARK not in lines and _is_cut(lines, written):
                yield f"code cut without a mark: “{_shorten(lines[0])}” to “{_shorten(lines[-1])}”"


def _is_cut(lines: Sequence[str], written: Sequence[CodeBlock]) -> bool:
    same = [each for each in written if lines[0] in each.lines and lines[-1] in each.lines]
    return bool(same) and not any(each.lines[0] in lines and each.lines[-1] in lines for each in same)


def _check_facts(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    """Exercises, captions and the source of diagrams are not facts."""
    for each in shown.citations if shown.kind != "refusal" else ():
        if EXERCISE.search(each.path):
            yield f"[{each.number}] quotes an exercise: {each.path}"
    for block in shown.blocks:
        if block.kind == "paragraph" and (captions := [each for each in _sentences(block) if CAPTION.match(each)]):
            yield f"quotes a caption: “{_shorten(captions[0])}”"
        if block.kind == "code" and DIAGRAM.match(block.text.strip()):
            yield f"quotes the source of a diagram: “{_shorten(block.text)}”"


def _check_citations(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    links = [each.link for each in shown.citations]
    if twice := [link for link in dict.fromkeys(links) if links.count(link) > 1]:
        yield f"{len(links)} citations of {len(set(links))} places: {', '.join(twice)}"


def _check_links(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for each in shown.citations:
        if not LINK.match(each.link):
            yield f"[{each.number}] {each.path} has the link “{each.link}”"
        elif each.file.endswith(".pdf") and "#page=" not in each.link:
            yield f"[{each.number}] {each.path} has no page: “{each.link}”"


def _check_length(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    words = sum(len(block.text.split()) for block in shown.blocks if block.kind == "paragraph")
    if shown.kind == "answer" and words > MAX_PROSE_WORDS:
        yield f"{words} words of prose"


def _check_repetition(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    texts = [
        text for block in shown.blocks for text in (_sentences(block) if block.kind == "paragraph" else [block.text])
    ]
    if twice := [text for text in dict.fromkeys(texts) if texts.count(text) > 1]:
        yield f"says twice: “{_shorten(twice[0])}”"


def _sentences(block: ShownBlock) -> list[str]:
    return [line[unit.start : unit.end] for line in block.lines for unit in split_sentences(line)]


def _fold(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:60]} … {text[-25:]}"


QUESTION_RULES: dict[str, Callable[[ShownReply, Expectation], Iterator[str]]] = {
    "first": _check_first,
    "contains": _check_contains,
    "lacks": _check_lacks,
    "blocks": _check_blocks,
    "cites": _check_cites,
    "completed": _check_completed,
}
GENERAL_RULES: dict[str, Callable[[ShownReply, SourceBlocks], Iterator[str]]] = {
    "fragment": _check_fragments,
    "alt_text": _check_alt_text,
    "joined_cells": _check_joined_cells,
    "code_lines": _check_code_lines,
    "not_a_fact": _check_facts,
    "one_citation": _check_citations,
    "link": _check_links,
    "length": _check_length,
    "repetition": _check_repetition,
}
