"""Writes the blocks of a reply as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from bookbound.domain.reply_blocks import CUT_MARK, UNVERIFIED_MARK, ListItem, ReplyBlock, ReplyBlockKind

PARAGRAPH_BREAK = "\n\n"


def render_markdown(blocks: Iterable[ReplyBlock]) -> str:
    """Returns the blocks as Markdown that shows the words of the book as they are.

    A paragraph without evidence is an interface's own text: it is Markdown already and continues the paragraph before.
    """
    text, previous = "", ""
    for block in blocks:
        continues = previous == block.kind == "paragraph" and not block.evidence
        text += (" " if continues else PARAGRAPH_BREAK) * bool(text) + _RENDERERS[block.kind](block)
        if not block.is_verified:
            text += f"{' ' if block.kind == 'paragraph' else PARAGRAPH_BREAK}*{UNVERIFIED_MARK}*"
        previous = block.kind
    return text


def _render_list(block: ReplyBlock) -> str:
    """Each level is indented by the width of the marker above it; numbers that Markdown would change become words."""
    lines: list[str] = []
    parents: list[tuple[ListItem, int]] = []
    previous: dict[int, ListItem] = {}
    for item in block.items:
        while parents and parents[-1][0].level >= item.level:
            parents.pop()
        indent = parents[-1][1] if parents else 0
        marker = item.number if _continues_numbers(previous.get(item.level), item) else "-"
        words = escape_markdown(item.text)
        words += "" if item.is_verified else f" *{UNVERIFIED_MARK}*"
        words = words if marker == item.number or not item.number else f"{escape_markdown(item.number)} {words}"
        if parents and item.level not in previous and marker != "-" and int(marker[:-1]) != 1:
            lines.append("")  # only a list that starts at 1 may follow the words above it directly
        lines.append(f"{' ' * indent}{marker} {words}")
        parents.append((item, indent + len(marker) + 1))
        previous = {level: each for level, each in previous.items() if level < item.level} | {item.level: item}
    return "\n".join(lines)


def _continues_numbers(before: ListItem | None, item: ListItem) -> bool:
    """Returns whether Markdown shows the number of an item as it is."""
    if not re.fullmatch(r"\d+[.)]", item.number):
        return False
    return not before or not before.number or before.number == f"{int(item.number[:-1]) - 1}{item.number[-1]}"


def _render_table(block: ReplyBlock) -> str:
    width = max(map(len, block.rows))
    rows = [[_escape_cell(cell) for cell in (*row, *[""] * (width - len(row)))] for row in block.rows]
    for row in block.unverified_rows:
        rows[row.at][-1] = f"{rows[row.at][-1]} *{UNVERIFIED_MARK}*".lstrip()
    header = rows.pop(0) if block.has_header and len(rows) > 1 else [""] * width
    lines = [header, ["---"] * width, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape_cell(text: str) -> str:
    return escape_markdown(text).replace("|", "\\|")


def _render_code(block: ReplyBlock) -> str:
    longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [fence, *([CUT_MARK] * block.cut_start), block.text, *([CUT_MARK] * block.cut_end), fence]
    return "\n".join(lines)


# A space between them changes no formula, but would otherwise be a link for a program without formulas.
_BETWEEN_BRACKETS = re.compile(r"(?<=\])(?=[(\[:])")
_RENDERERS: Mapping[ReplyBlockKind, Callable[[ReplyBlock], str]] = {
    "paragraph": lambda block: escape_markdown(block.text) if block.evidence else block.text,
    "heading": lambda block: f"**{escape_markdown(block.text)}**",
    "list": _render_list,
    "table": _render_table,
    "code": _render_code,
    "formula": lambda block: f"$$\n{_BETWEEN_BRACKETS.sub(' ', block.text)}\n$$",
}
# Only what would be taken for markup is escaped, so that ordinary prose stays as it is.
_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*(?=\S)|(?<=\S)\*|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])|~(?=~)|<(?=[A-Za-z/!?])"
    r"|\](?=[(\[:])|&(?=#?\w+;)|^(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|-(?=-))"
)
_NUMBER = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")


def escape_markdown(text: str) -> str:
    """Returns a text that Markdown shows as it is."""
    return _NUMBER.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", text))
