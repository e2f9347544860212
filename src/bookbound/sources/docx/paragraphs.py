"""Reads the paragraphs of a DOCX file: their words, styles, list markers and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element

from bookbound.sources.defusedxml import find_elements, local_name
from bookbound.sources.titles import MAX_TITLE_CHARS

ParagraphKind = Literal["paragraph", "heading", "title", "code", "item", "hidden"]
_HEADING_STYLE = re.compile(r"heading ([1-9])")
_CODE_STYLE = re.compile(r"\b(?:code|preformatted|listing|verbatim|macro)\b|sourcecode")
_CONTENTS_STYLE = re.compile(r"toc \d|toc heading|table of (?:figures|authorities)|index \d")
_LIST_STYLE = re.compile(r"list(?: bullet| number)?(?: \d)?")
# Styles can be based on each other in a circle.
_MAX_STYLE_DEPTH = 20
_OFF = frozenset(("0", "false", "off", "none"))
_BLOCK_WRAPPERS = frozenset(("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"))
# Deleted words, field codes, the second copy of a drawing, and text boxes, which follow their paragraph.
_SKIPPED = frozenset(("del", "moveFrom", "instrText", "Fallback", "txbxContent", "pPr"))
_SPACES = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class ListLevel(NamedTuple):
    """The list that an item belongs to and how deep it is in it."""

    number_id: str
    depth: int


class Style(NamedTuple):
    """What a paragraph inherits from its style."""

    name: str
    based_on: str
    outline_level: str
    number_id: str


class Paragraph(NamedTuple):
    """The words of a paragraph and what it is; `notes` are the words of its footnotes."""

    kind: ParagraphKind
    text: str
    level: int = 0
    anchor: str = ""
    list_level: ListLevel | None = None
    notes: tuple[str, ...] = ()
    boxes: tuple[Element, ...] = ()


class StyleSheet(NamedTuple):
    """The styles by their ids, and the lists and depths whose items are numbered."""

    styles: Mapping[str, Style]
    numbered: frozenset[ListLevel]

    @classmethod
    def parse(cls, styles: Element | None, numbering: Element | None) -> StyleSheet:
        by_id = {
            get_attribute(each, "styleId"): Style(
                _value(each, "name").lower(), _value(each, "basedOn"), _value(each, "outlineLvl"), _value(each, "numId")
            )
            for each in find_elements(styles, "style")
        }
        levels = {
            get_attribute(each, "abstractNumId"): [
                get_attribute(level, "ilvl")
                for level in find_elements(each, "lvl")
                if _value(level, "numFmt") == "decimal"
            ]
            for each in find_elements(numbering, "abstractNum")
        }
        numbered = {
            ListLevel(get_attribute(each, "numId"), int(level))
            for each in find_elements(numbering, "num")
            for level in levels.get(_value(each, "abstractNumId"), ())
            if level.isdecimal()
        }
        return cls(by_id, frozenset(numbered))

    def inherited(self, style_id: str) -> Iterator[Style]:
        """Yield a style and those that it is based on."""
        for _ in range(_MAX_STYLE_DEPTH):
            if style_id not in self.styles:
                return
            yield self.styles[style_id]
            style_id = self.styles[style_id].based_on


def index_notes(footnotes: Element | None, endnotes: Element | None) -> dict[tuple[str, str], Element]:
    """Return the notes by the names of their references and their ids."""
    return {
        (f"{kind}Reference", get_attribute(note, "id")): note
        for kind, part in (("footnote", footnotes), ("endnote", endnotes))
        for note in find_elements(part, kind)
    }


class ParagraphReader(NamedTuple):
    """Reads paragraphs with the styles and notes of their file."""

    sheet: StyleSheet
    notes: Mapping[tuple[str, str], Element]

    def read(self, element: Element) -> Paragraph:
        notes = (self.notes.get((local_name(each), get_attribute(each, "id"))) for each in element.iter())
        return self._classify(element)._replace(
            notes=tuple(" ".join(extract_text(note).split()) for note in notes if note is not None),
            boxes=tuple(box for box in _iterate_inline(element, _SKIPPED - {"txbxContent"}) if _is_text_box(box)),
        )

    def _classify(self, element: Element) -> Paragraph:
        properties = next((child for child in element if local_name(child) == "pPr"), None)
        styles = list(self.sheet.inherited(_value(properties, "pStyle")))
        names = [style.name for style in styles]
        if any(map(_CODE_STYLE.search, names)):
            return Paragraph("code", extract_text(element).rstrip())
        text = " ".join(extract_text(element).split())
        if any(map(_CONTENTS_STYLE.match, names)):
            return Paragraph("hidden", text)
        if "title" in names:
            return Paragraph("title", text, 1)
        if level := _heading_level(styles, _value(properties, "outlineLvl"), text):
            # A link can open the first bookmark of a heading.
            bookmark = next((get_attribute(each, "name") for each in find_elements(element, "bookmarkStart")), "")
            return Paragraph("heading", text, level, bookmark)
        list_level = _find_list_level(properties, styles)
        return Paragraph("item" if list_level else "paragraph", text, list_level=list_level)


def iterate_blocks(parent: Element, reader: ParagraphReader) -> Iterator[Paragraph | Element]:
    """Yield the paragraphs and tables of a body or cell, also those in content controls."""
    for element in find_blocks(parent, "p", "tbl"):
        yield reader.read(element) if local_name(element) == "p" else element


def find_blocks(parent: Element, *names: str) -> Iterator[Element]:
    """Yield the elements of these names, also those in content controls, but none inside another."""
    pending = list(parent)[::-1]
    while pending:
        element = pending.pop()
        if local_name(element) in names:
            yield element
        elif local_name(element) in _BLOCK_WRAPPERS:
            pending += reversed(element)


def extract_text(element: Element) -> str:
    """Return the visible words of an element; a break is a newline."""
    parts: list[str] = []
    for node in _iterate_inline(element, _SKIPPED):
        name = local_name(node)
        if name == "t":
            parts.append(node.text or "")
        elif name == "p" and parts:
            parts.append("\n")
        else:
            parts.append(_SPACES.get(name, ""))
    return "".join(parts)


def _is_text_box(element: Element) -> bool:
    return local_name(element) == "txbxContent"


def get_attribute(element: Element, name: str) -> str:
    """Return an attribute in any namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _iterate_inline(top: Element, skipped: frozenset[str]) -> Iterator[Element]:
    """Yield the elements inside another in order, without hidden runs and what is `skipped`."""
    pending = list(top)[::-1]
    while pending:
        element = pending.pop()
        properties = (each for child in element if local_name(child) == "rPr" for each in child)
        is_hidden = any(get_attribute(each, "val") not in _OFF for each in properties if local_name(each) == "vanish")
        if local_name(element) not in skipped and not is_hidden:
            yield element
            if not _is_text_box(element):
                pending += reversed(element)


def _value(parent: Element | None, name: str) -> str:
    """Return the value of the first element of this name."""
    return next((get_attribute(each, "val") for each in find_elements(parent, name)), "")


def _heading_level(styles: list[Style], outline_level: str, text: str) -> int:
    if not text or len(text) > MAX_TITLE_CHARS:
        return 0
    named = next((int(match[1]) for style in styles if (match := _HEADING_STYLE.fullmatch(style.name))), 0)
    # The outline counts from 0, and its level 9 is plain text.
    outline = outline_level or next((style.outline_level for style in styles if style.outline_level), "")
    return named or (int(outline) + 1 if outline in tuple("012345678") else 0)


def _find_list_level(properties: Element | None, styles: list[Style]) -> ListLevel | None:
    own = next(find_elements(properties, "numPr"), None)
    number_id = _value(own, "numId") or next((style.number_id for style in styles if style.number_id), "")
    # List 0 takes a paragraph out of the list of its style.
    is_listed = number_id != "0" if number_id else any(_LIST_STYLE.fullmatch(style.name) for style in styles)
    depth = _value(own, "ilvl")
    return ListLevel(number_id, int(depth) if depth in tuple("012345678") else 0) if is_listed else None
