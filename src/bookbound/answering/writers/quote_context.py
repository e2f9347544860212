"""Describes how the units of a chunk belong together, and adds those that a quote needs to be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from bookbound.domain.chunk import Chunk, QuotableUnit
from bookbound.text.sentences import split_sentences
from bookbound.text.tokens import extract_terms

MAX_LABEL_CHARACTERS, MAX_COLUMN_NAME_CHARACTERS, MAX_WHOLE_TABLE_ROWS = 60, 40, 9
_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class ChunkLayout:
    """The units of a chunk by number; units without a blank line between them are a block."""

    chunk: Chunk

    @cached_property
    def units(self) -> tuple[QuotableUnit, ...]:
        return self.chunk.units or tuple(split_sentences(self.chunk.text))

    def __len__(self) -> int:
        return len(self.units)

    def words(self, at: int) -> str:
        return self.chunk.text[self.units[at].start : self.units[at].end]

    def kind(self, at: int) -> str:
        """Returns the kind of a unit, or an empty text if there is no such unit."""
        return self.units[at].kind if 0 <= at < len(self) else ""

    def touched(self, start: int, end: int) -> list[int]:
        """Returns the units that contain any of the characters `start` to `end`."""
        return [at for at, unit in enumerate(self.units) if unit.start < end and unit.end > start]

    def follows(self, at: int) -> bool:
        """Returns whether a unit is in the same block as the unit before it."""
        if not 0 < at < len(self):
            return False
        return not _BLANK_LINE.search(self.chunk.text, self.units[at - 1].end, self.units[at].start)

    def block(self, at: int) -> range:
        first, last = at, at
        while self.follows(first):
            first -= 1
        while self.follows(last + 1):
            last += 1
        return range(first, last + 1)

    def listed(self, at: int) -> range:
        """Returns the whole list of a unit without its introduction, or an empty range."""
        first = next((other for other in self.block(at) if self.kind(other) == "item"), at + 1)
        return range(first, self.block(at).stop) if first <= at else range(0)

    def item(self, at: int) -> range:
        """Returns the units from the head of a list item to this unit."""
        heads = [other for other in self.listed(at) if other <= at and self.kind(other) == "item"]
        return range(heads[-1] if heads else at, at + 1)

    def table(self, at: int) -> range:
        """Returns the consecutive rows around a row."""
        first, last = at, at
        while self.kind(first - 1) == "row" and self.follows(first):
            first -= 1
        while self.kind(last + 1) == "row" and self.follows(last + 1):
            last += 1
        return range(first, last + 1)

    def names_columns(self, at: int) -> bool:
        """Returns whether a row names the columns; at the start of a chunk it may be an ordinary row."""
        if at != self.table(at).start or len(self.table(at)) == 1:
            return False
        cells = [cell.strip() for cell in self.words(at).split("|")]
        return at > 0 or not any(len(cell) > MAX_COLUMN_NAME_CHARACTERS or re.search(r"\d|\.$", cell) for cell in cells)

    def is_label(self, at: int) -> bool:
        """Returns whether a unit heads what follows and says nothing itself: a heading, the title of a note."""
        if self.kind(at) == "heading":
            return True
        words = self.words(at)
        is_alone = self.kind(at) == "sentence" and len(self.block(at)) == 1 and self.kind(at + 1) not in ("", "formula")
        is_short = len(words) <= MAX_LABEL_CHARACTERS and words[-1].isalnum()
        return is_alone and is_short and not re.search(r"\s[:|–—-]\s|: ", words)

    def stretches(self, chosen: Iterable[int]) -> Iterator[range]:
        """Yields what is quoted in one piece: adjacent items or rows, a label with what it heads, else one unit."""
        run: list[int] = []
        for at in sorted(chosen):
            if run and not (at == run[-1] + 1 and self._continues(at)):
                yield range(run[0], run[-1] + 1)
                run = []
            run.append(at)
        if run:
            yield range(run[0], run[-1] + 1)

    def _continues(self, at: int) -> bool:
        rows = self.kind(at) == self.kind(at - 1) == "row"
        together = self.follows(at) and (rows or at - 1 in self.listed(at))
        return together or self.is_label(at - 1)


MAX_ANTECEDENTS = 2
_CONNECTIVES = (
    r"(?:(?:however|but|and|so|thus|therefore|hence|also|then|moreover|furthermore|similarly|likewise|nevertheless|still|"
    r"yet|for example|for instance|in addition|in fact|of course|in practice|because of|as a result of|due to|after|"
    r"before|besides|from|in|on|at|with|by|for|to do|to|if|when|while|since|as|unlike|like|apart from),?\s+)*"
)
# These look like references but are not: "It is possible to …", "This chapter …", "Those who …".
_EXPLETIVE_IT = (
    r"it(?:['’]s|\s+(?:is|was|can\s+be|may\s+be|might\s+be))\s+(?:(?:not|also|often|usually|always|generally|very)\s+)?"
    r"(?:(?!able\b)\w+(?:ble|ful|ant|ary|mon|mal|ent)|worth|good|bad|best|better|easy|hard|difficult|safe|wise|time|clear|"
    r"true|likely|unlikely|un\w+ed|(?:recommend|advis|suggest|allow|requir)ed|\w+ed\s+that)\b"
    r"|it\s+(?:takes|follows|turns\s+out|seems|happens)\b"
)
_SELF_REFERENCE = (
    r"(?:this|these)\s+(?:book|chapter|section|page|guide|tutorial|manual|document|article|course|unit|part|edition|"
    r"appendix)\b|those\s+(?:who|that|which|of)\b|that\s+said\b"
)
_ANAPHOR = re.compile(
    rf"^[\"'“‘(]*{_CONNECTIVES}(?!{_SELF_REFERENCE}|{_EXPLETIVE_IT})(?:(?:it|its|they|them|their|he|his|she|her|this|that|these|those|such|both|"
    r"neither|either|none)\b|(?:the\s+)?(?:former|latter|same|others?)\b|otherwise\b|instead\b(?!\s+of)|each\s+of\s+them\b|"
    r"yes\b|no,|one\s+of\s+them\b)|^[^,;:]*\bthis(?:[,;]|:\s|\.$)"
    r"|^(?:[\w'’-]+\s+){1,4}(?:it|them)(?:[.,;:]|\s+(?:to|in|on|with|by|for|from|as|at|into|when|if|before|after|better|"
    r"again|instead)\b)",
    re.I,
)
_ANNOUNCEMENT = re.compile(
    r"\b(?:following|follows|below|like\s+(?:this|so)|here\s+is|this\s+(?:command|file|code|script)|for\s+example)\b"
    r"|^(?:now\s+|then\s+|next,?\s+)?(?:run|type|use|enter|execute|create|add)\b",
    re.I,
)


def expand_to_context(layout: ChunkLayout, start: int, end: int, list_terms: Set[str]) -> tuple[set[int], set[int]]:
    """Returns the units of characters `start` to `end`, and the other units that they need to be understood.

    Of a list that is one item, or the whole list if several items contain the words or its introduction has one of the
    `list_terms`. Units that introduce something that the chunk lacks are left out.
    """
    core = _find_core_units(layout, start, end, list_terms)
    needed = set().union(*(_find_required_units(layout, at) for at in core)) - core
    for at in sorted(core | needed):
        led = set(_find_introduced_units(layout, at))
        needed |= led - core if not led & (core | needed) else set()
    unfulfilled = {
        at for at in core | needed if introduces_next_unit(layout, at) and not _find_introduced_units(layout, at)
    }
    return core - unfulfilled, needed - unfulfilled


def introduces_next_unit(layout: ChunkLayout, at: int) -> bool:
    """Returns whether a unit needs what follows: it ends in a colon or before a formula, or is a label."""
    words = layout.words(at)
    is_unended = layout.kind(at + 1) == "formula" and layout.kind(at) == "sentence" and words[-1] not in ".!?…"
    return words.endswith((":", "：")) or is_unended or layout.is_label(at)


def _find_introduced_units(layout: ChunkLayout, at: int) -> range:
    """Returns what a unit introduces: the next code, formula or sentence, or the whole list or table."""
    after = at + 1
    if not introduces_next_unit(layout, at) or after >= len(layout):
        return range(0)
    if layout.kind(after) == "row":
        return layout.table(after)
    if layout.kind(after) == "item" and not layout.listed(at):
        return layout.listed(after)
    return range(after, min(after + 1 + layout.is_label(after), len(layout)))


def _find_core_units(layout: ChunkLayout, start: int, end: int, list_terms: Set[str]) -> set[int]:
    touched = layout.touched(start, end)
    spoken = [at for at in touched if not layout.is_label(at)]
    if not spoken and touched:
        # A title that contains the words is quoted with what it heads; a mere "Note" is not.
        title, below = touched[-1], touched[-1] + 1
        kept = [title] if layout.kind(title) != "heading" and len(layout.words(title).split()) > MAX_ANTECEDENTS else []
        spoken = [*kept, below] if below < len(layout) and not layout.is_label(below) else []
    items = {layout.item(at).start for at in spoken if layout.listed(at)}
    units: set[int] = set()
    for at in spoken:
        is_row = layout.kind(at) == "row"
        run = layout.table(at) if is_row else layout.listed(at)
        is_short = is_row and len(run) <= MAX_WHOLE_TABLE_ROWS
        has_several = at >= min(items, default=at + 1) and len(items) > 1
        whole = run and (is_short or has_several or _is_about(layout, run, list_terms))
        units |= set(run if whole else layout.item(at))
    return units


def _is_about(layout: ChunkLayout, run: range, list_terms: Set[str]) -> bool:
    """Returns whether the introduction of a list or table, its column names or its section has one of the terms."""
    before = layout.words(run.start - 1) if layout.kind(run.start - 1) == "sentence" else ""
    columns = layout.words(run.start) if layout.kind(run.start) == "row" else ""
    return not list_terms.isdisjoint(extract_terms(f"{before} {columns} {layout.chunk.place.section}"))


def _find_required_units(layout: ChunkLayout, at: int) -> set[int]:
    """Returns the units that must precede a unit."""
    match layout.kind(at):
        case "row":
            table = layout.table(at)
            header = {table.start} if layout.names_columns(table.start) else set()
            led = table.start > 0 and introduces_next_unit(layout, table.start - 1)
            return header | (_find_introduction(layout, table.start) if led else set())
        case "code" | "formula":
            item = layout.item(at)
            return set(item[:-1]) | (
                _find_introduction(layout, item.start) if _announces_example(layout, item.start - 1) else set()
            )
        case _ if listed := layout.listed(at):
            return _find_introduction(layout, listed.start)
        case _:
            return _find_antecedents(layout, at)


def _announces_example(layout: ChunkLayout, at: int) -> bool:
    """Returns whether a unit announces what is shown after it."""
    before = at - (at > 0 and layout.is_label(at))
    return before >= 0 and (introduces_next_unit(layout, before) or bool(_ANNOUNCEMENT.search(layout.words(before))))


def _find_introduction(layout: ChunkLayout, at: int) -> set[int]:
    """Returns the sentence before a unit with what it needs; a label between them is skipped."""
    before = at - 1
    if before > 0 and layout.is_label(before):
        before -= 1
    if layout.kind(before) != "sentence" or layout.is_label(before) or layout.listed(before):
        return set()
    return {before} | _find_antecedents(layout, before, MAX_ANTECEDENTS - 1)


def _find_antecedents(layout: ChunkLayout, at: int, most: int = MAX_ANTECEDENTS) -> set[int]:
    """Returns the sentences of the paragraph that a sentence refers to, or the code or formula before it."""
    found: set[int] = set()
    while len(found) < most and at > 0 and layout.kind(at) == "sentence":
        continues = layout.words(at)[0].islower() and layout.kind(at - 1) == "formula"
        if not (continues or _ANAPHOR.match(layout.words(at))):
            break
        if not layout.follows(at):
            is_shown = layout.kind(at - 1) in ("code", "formula")
            return found | ({at - 1} | _find_introduction(layout, at - 1) if is_shown else set())
        at -= 1
        found.add(at)
    return found
