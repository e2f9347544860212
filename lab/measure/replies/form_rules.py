"""The rules that hold for every reply: whole sentences, lists, tables and code, one citation per place, links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from bookbound.text import split_sentences
from lab.measure.replies.shown_reply import ShownBlock, ShownReply
from lab.measure.replies.source_blocks import CodeBlock, SourceBlocks

MAX_PROSE_WORDS = 120
"""A short paragraph, with room for the sentence that answers."""
SENTENCE_END = re.compile(r"[.!?…:;][\"'”’»)\]*_]*$|[^\w\s,\-–(\[{]$")
LOWERCASE_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?(?=[\s,;]|[.!?]?$)")
LINK = re.compile(r"https?://[^/\s]+|/|[^\s#?]+\.(?:x?html?|pdf|epub|docx|md)\b")
MAX_WHOLE_ROWS = 8
LIST_MARKER = re.compile(r"^(?:[-*+•]|\d{1,3}[.)]|#\.) ")
EXERCISE = re.compile(r"› Exercises?$")
CAPTION = re.compile(r"(?:Figure|Fig\.|Table) \d")
DIAGRAM = re.compile(r"(?:flowchart|graph|sequenceDiagram|classDiagram|stateDiagram|gantt|pie|@startuml)\b")
CONTINUATION_MARK = "…"


def _check_fragments(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for i, block in enumerate(shown.blocks):
        if block.kind != "paragraph":
            if block.kind != "code" and not block.text.strip():
                yield f"an empty {block.kind}"
            continue
        sentences = split_block(block)
        previous = shown.blocks[i - 1].kind if i else ""
        for n, sentence in enumerate(sentences):
            continues = n == 0 and previous in ("code", "formula")
            if LOWERCASE_WORD.match(sentence) and not continues:
                yield f"starts in the middle: “{shorten(sentence)}”"
            elif not SENTENCE_END.search(sentence):
                yield f"has no end: “{shorten(sentence)}”"
        following = shown.blocks[i + 1].kind if i + 1 < len(shown.blocks) else "paragraph"
        introductions = block.lines if following in ("paragraph", "heading") else block.lines[:-1]
        yield from (f"introduces nothing: “{shorten(line)}”" for line in introductions if line.endswith(":"))


def _check_alt_text(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for block in shown.blocks:
        for line in block.lines if block.kind in ("paragraph", "heading", "list") else ():
            if any(fold(line).strip(".") == fold(alt) for alt in source.image_texts(shown.files)):
                yield f"the text of an image: “{shorten(line)}”"


def _check_joined_cells(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    for block in shown.blocks:
        for sentence in split_block(block) if block.kind == "paragraph" else ():
            cells = sentence.count(" | ") + sentence.count("\t")
            if cells > 1 or (cells and not SENTENCE_END.search(sentence)):
                yield f"cells in a sentence: “{shorten(sentence)}”"


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
                yield f"code cut without a mark: “{shorten(lines[0])}” to “{shorten(lines[-1])}”"


def _is_cut(lines: Sequence[str], written: Sequence[CodeBlock]) -> bool:
    same = [each for each in written if lines[0] in each.lines and lines[-1] in each.lines]
    return bool(same) and not any(each.lines[0] in lines and each.lines[-1] in lines for each in same)


def _check_whole_list(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    """Each item is whole, and a list of which at least half is shown is whole; titles are no items of a list."""
    for block, whole in _find_written("list", shown, source.lists(shown.files)):
        if block.has_titles:
            continue
        lines = [_fold_item(line) for line in block.lines]
        if cut := [
            item for item in whole if item not in lines and any(line and item.startswith(line) for line in lines)
        ]:
            yield f"an item is cut: “{shorten(cut[0])}”"
        missing = [item for item in whole if item not in lines and item not in cut]
        if missing and 2 * len(missing) <= len(whole):
            yield f"lacks {len(missing)} of {len(whole)} items: “{shorten(missing[0])}”"


def _check_whole_table(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    """A table has its header, and it is whole if it is short."""
    for block, whole in _find_written("table", shown, source.tables(shown.files)):
        lines = [_fold_item(line) for line in block.lines]
        needed = whole if len(whole) <= MAX_WHOLE_ROWS else whole[:1]
        if missing := [row for row in needed if row not in lines]:
            yield f"lacks {len(missing)} of {len(whole)} rows: “{shorten(missing[0])}”"


def _find_written(
    kind: str, shown: ShownReply, written: Sequence[tuple[str, ...]]
) -> Iterator[tuple[ShownBlock, list[str]]]:
    """The lists or tables of an answer, each with the one in the book that has most of its lines."""
    folded = [[_fold_item(words) for words in each] for each in written]
    for block in shown.blocks if shown.kind == "answer" else ():
        lines = tuple(_fold_item(line) for line in block.lines if line.strip())
        scores = [sum(words.startswith(lines) for words in each) for each in folded] if lines else []
        if block.kind == kind and CONTINUATION_MARK not in block.lines and max(scores, default=0):
            yield block, folded[scores.index(max(scores))]


def _check_facts(shown: ShownReply, source: SourceBlocks) -> Iterator[str]:
    """Exercises, captions and the source of diagrams are not facts; an unsure reply may show an exercise."""
    for each in shown.citations if shown.kind == "answer" else ():
        if EXERCISE.search(each.path):
            yield f"[{each.number}] quotes an exercise: {each.path}"
    for block in shown.blocks:
        if block.kind == "paragraph" and (captions := [each for each in split_block(block) if CAPTION.match(each)]):
            yield f"quotes a caption: “{shorten(captions[0])}”"
        if block.kind == "code" and DIAGRAM.match(block.text.strip()):
            yield f"quotes the source of a diagram: “{shorten(block.text)}”"


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
        text for block in shown.blocks for text in (split_block(block) if block.kind == "paragraph" else [block.text])
    ]
    if twice := [text for text in dict.fromkeys(texts) if texts.count(text) > 1]:
        yield f"says twice: “{shorten(twice[0])}”"


def split_block(block: ShownBlock) -> list[str]:
    return [line[unit.start : unit.end] for line in block.lines for unit in split_sentences(line)]


def fold(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _fold_item(text: str) -> str:
    """An item without its marker, or a row without its empty cells."""
    cells = filter(None, re.split(r"\s*(?<!\S)\|(?!\S)\s*", LIST_MARKER.sub("", fold(text))))
    return " | ".join(cells)


def shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:60]} … {text[-25:]}"


FORM_RULES: dict[str, Callable[[ShownReply, SourceBlocks], Iterator[str]]] = {
    "fragment": _check_fragments,
    "alt_text": _check_alt_text,
    "joined_cells": _check_joined_cells,
    "code_lines": _check_code_lines,
    "whole_list": _check_whole_list,
    "whole_table": _check_whole_table,
    "not_a_fact": _check_facts,
    "one_citation": _check_citations,
    "link": _check_links,
    "length": _check_length,
    "repetition": _check_repetition,
}
