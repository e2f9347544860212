"""Adds the units that a quote needs to be understood alone."""

from __future__ import annotations

from collections.abc import Set

from bookbound.domain.chunk import ChunkLayout
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms

MAX_ANTECEDENTS = 2
MAX_SUBJECT_WORDS = 4
MAX_SUBJECT_TERMS = 2
_FORMS = LANGUAGE.quotes
ANNOUNCES_TABLE = compiled(_FORMS.announced_table)


def expand_to_context(
    layout: ChunkLayout, start: int, end: int, list_terms: Set[str], question_terms: Set[str] = frozenset()
) -> tuple[set[int], set[int]]:
    """Returns the units of characters `start` to `end`, and the other units that they need to be understood.

    Of a list that is one item, or the whole list if several items contain the words or its introduction has one of the
    `list_terms`. Units that introduce something that the chunk lacks are left out, and so is a sentence before "They …"
    that begins with what the question names.
    """
    core = _find_core_units(layout, start, end, list_terms)
    needed = set().union(*(_find_required_units(layout, at) for at in core)) - core
    needed -= {at for at in needed if at + 1 in core and _is_clear_from_question(layout, at, question_terms)}
    for at in sorted(core | needed):
        led = set(_find_introduced_units(layout, at))
        needed |= led - core if not led & (core | needed) else set()
    unfulfilled = {
        at for at in core | needed if introduces_next_unit(layout, at) and not _find_introduced_units(layout, at)
    }
    return core - unfulfilled, needed - unfulfilled


def is_aside(layout: ChunkLayout, at: int) -> bool:
    """Returns whether a unit is no statement of the text: a caption, half a sentence or the source of a diagram."""
    if layout.kind(at) == "code":
        return layout.is_diagram(at)
    return layout.is_cut(at) or bool(compiled(_FORMS.caption).match(layout.words(layout.block(at).start)))


def introduces_next_unit(layout: ChunkLayout, at: int) -> bool:
    """Returns whether a unit needs what follows: after a colon, a formula, code that it announces, or below a label."""
    words = layout.words(at)
    has_code_after = "code" in (layout.kind(at + 1), layout.kind(at + 2))
    is_before_code = has_code_after and bool(compiled(_FORMS.announced_code).search(words))
    is_unended = layout.kind(at + 1) == "formula" and layout.kind(at) == "sentence" and words[-1] not in ".!?…"
    is_announced = _find_announced_unit(layout, at) == at + 1
    return words.endswith((":", "：")) or is_unended or is_announced or is_before_code or layout.is_label(at)


def _find_announced_unit(layout: ChunkLayout, at: int) -> int | None:
    """Returns the first row or item of the table or list that a unit announces; more sentences may come before it."""
    if not ANNOUNCES_TABLE.search(layout.words(at)):
        return None
    after = next((other for other in range(at + 1, len(layout)) if layout.kind(other) != "sentence"), at)
    return after if layout.kind(after) in ("row", "item") else None


def _find_introduced_units(layout: ChunkLayout, at: int) -> range:
    """Returns what a unit introduces: the next code, formula or sentence, or the whole list or table."""
    announced = _find_announced_unit(layout, at)
    after = announced or at + 1
    is_missing = after >= len(layout) or (layout.is_diagram(after))
    if is_missing or not (announced or introduces_next_unit(layout, at)):
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
        run = layout.table(at) if layout.kind(at) == "row" else layout.listed(at)
        has_several = at >= min(items, default=at + 1) and len(items) > 1
        whole = run and (layout.is_short(run) or has_several or _is_about(layout, run, list_terms))
        item = layout.whole_item(at)
        if not whole and layout.kind(at) == "row" and layout.names_columns(at):
            item = _take_short(layout, run)  # column names alone say nothing
        units |= set(run if whole else item if layout.is_short(item) else layout.item(at))
    return units


def _take_short(layout: ChunkLayout, run: range) -> range:
    """Returns the first rows of a table, as many as are quoted as a whole."""
    return next(part for end in range(len(run), 0, -1) if layout.is_short(part := run[:end]) or end == 1)


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
            introduction = _find_introduction(layout, item.start) if _is_announced(layout, item.start) else set()
            return {*item[:-1], *introduction}
        case _ if listed := layout.listed(at):
            return _find_introduction(layout, listed.start)
        case _:
            return _find_antecedents(layout, at)


def _is_announced(layout: ChunkLayout, at: int) -> bool:
    """Returns whether the unit before announces what a unit shows."""
    before = _find_unit_before(layout, at)
    if before < 0:
        return False
    return introduces_next_unit(layout, before) or bool(compiled(_FORMS.announced_example).search(layout.words(before)))


def _is_clear_from_question(layout: ChunkLayout, at: int, question_terms: Set[str]) -> bool:
    """Returns whether "It" or "They" in the next sentence means what this one begins with and the question names."""
    subject = extract_terms(" ".join(layout.words(at).split()[:MAX_SUBJECT_WORDS]))[:MAX_SUBJECT_TERMS]
    is_pronoun = layout.kind(at) == layout.kind(at + 1) == "sentence" and begins_with_pronoun(layout, at + 1)
    return bool(is_pronoun and subject) and question_terms >= set(subject)


def _find_unit_before(layout: ChunkLayout, at: int) -> int:
    """Returns the unit before another one; a label between them is skipped."""
    return at - 1 - (at > 1 and layout.is_label(at - 1))


def _find_introduction(layout: ChunkLayout, at: int) -> set[int]:
    """Returns the sentence before a unit with what it needs."""
    before = _find_unit_before(layout, at)
    is_prose = layout.kind(before) == "sentence" and not (layout.is_label(before) or layout.listed(before))
    if not is_prose or compiled(_FORMS.empty_lead).fullmatch(layout.words(before)):
        return set()
    return {before} | _find_antecedents(layout, before, MAX_ANTECEDENTS - 1)


def begins_with_pronoun(layout: ChunkLayout, at: int) -> bool:
    return bool(compiled(_FORMS.personal_pronoun).match(layout.words(at)))


def _has_inner_reference(words: str) -> bool:
    """Returns whether a sentence means by "this property" something that it does not name itself."""
    found = compiled(_FORMS.inner_reference).search(words)
    if not found:
        return False
    noun = found["noun"] or found["thing"]
    return not (noun and noun.casefold() in words[: found.start()].casefold())


def _find_antecedents(layout: ChunkLayout, at: int, most: int = MAX_ANTECEDENTS) -> set[int]:
    """Returns the sentences of the paragraph that a sentence refers to, or the code or formula before it."""
    found: set[int] = set()
    while len(found) < most and at > 0 and layout.kind(at) == "sentence":
        words = layout.words(at)
        continues = words[0].islower() and layout.kind(at - 1) == "formula"
        refers = compiled(_FORMS.reference_at_start).match(words) or compiled(_FORMS.continuation).search(words)
        if not (continues or refers or (not found and _has_inner_reference(words))):
            break
        if not layout.follows(at):
            if layout.kind(at - 1) in ("code", "formula"):
                return found | {at - 1} | _find_introduction(layout, at - 1)
            # A picture between the two paragraphs has no words.
            is_before_picture = layout.kind(at - 1) == "sentence" and layout.words(at - 1).endswith(":")
            return found | ({at - 1} if is_before_picture and not layout.listed(at - 1) else set())
        at -= 1
        found.add(at)
    return found
