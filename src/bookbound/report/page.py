"""The report as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from bookbound.measure.figures import Plain
from bookbound.measure.page import document, pictures, section
from bookbound.report import plots
from bookbound.report.tables import elsewhere, left_out, tables, words
from bookbound.volume import EVERY, Volume

MOST = 200
COLUMNS = ("What readers asked", "asked", "wordings", "last", "because")


def page(reported: Plain) -> str:
    """The whole page; every word of readers and book is shown as it is and never taken for markup."""
    days = reported["by_day"]
    drawn = {
        "Questions": (plots.questions(days), "Bars are what was asked; the line is what was answered."),
        "Time": (plots.latency(days), "The median is drawn through, the slowest twentieth is dashed."),
    }
    return document(
        title(reported),
        f"<h1>{escape(title(reported))}</h1>",
        f"<p>{escape(span(reported))} Bookbound {escape(reported['bookbound'])}. {escape(elsewhere(reported))}</p>\n",
        *pictures(drawn),
        *_unanswered(reported),
        '<div class="grid-of">',
        *map(section, tables(reported)),
        "</div>\n",
    )


def title(reported: Plain) -> str:
    """What the report is on, by the title of the book or else by its name."""
    volume, book = Volume.named(reported["volume"]), reported["book"]
    if volume.book == EVERY:
        return "What readers ask all books"
    edition = f", edition {volume.edition}" if volume.edition else ""
    return f"What readers ask {book['title'] if book else volume.book}".rstrip() + edition


def span(reported: Plain) -> str:
    """From when to when, in words."""
    return f"From {reported['since'][:10]} to {reported['until'][:10]}, in UTC."


def _unanswered(reported: Plain) -> Iterator[str]:
    groups = reported["unanswered"]["groups"]
    yield "<section><h2>What readers could not get answered</h2>"
    if not groups:
        yield "<p>Nothing in this time.</p></section>\n"
        return
    yield f"<p>Questions that ask for the same stand together. {escape(left_out(reported))}</p>"
    yield '<table class="figures"><thead><tr>'
    yield "".join(f"<th>{name}</th>" for name in COLUMNS)
    yield "</tr></thead><tbody>\n"
    for group in groups[:MOST]:
        cells = (str(group["asked"]), str(len(group["wordings"])), group["last"], words(next(iter(group["kinds"]))))
        rest = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f"<tr><td>{_question(group)}</td>{rest}</tr>\n"
    yield "</tbody></table></section>\n"


def _question(group: Plain) -> str:
    """The typical wording, and the others to unfold below it."""
    others = [words for words in group["wordings"] if words != group["typical"]]
    if not others:
        return escape(group["typical"])
    listed = "".join(f"<li>{escape(words)}</li>" for words in others)
    return f"<details><summary>{escape(group['typical'])}</summary><ul>{listed}</ul></details>"
