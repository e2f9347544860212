"""Formats the tables of a report, and puts them between their marks."""

from __future__ import annotations

from collections.abc import Sequence

START, END = "<!-- {name}: from {file}, do not edit -->", "<!-- end of {name} -->"
SOURCES = {"growth": "growth.json", "written": "written.json"}
"""The file that a table is from, if it is not results.json."""
NOT_MEASURED = "–"


def format_rows(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first row has the names of the columns."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def replace_tables(text: str, tables: dict[str, str]) -> str:
    """The report with each table between its two marks replaced; a table without marks is an error."""
    for name, table in tables.items():
        file = SOURCES.get(name, "results.json")
        start, end = START.format(name=name, file=file), END.format(name=name)
        if start not in text or end not in text:
            raise ValueError(f"The report has no place for “{name}”: add the lines {start} and {end}.")
        before, _, rest = text.partition(start)
        shown = f"{table}\n\n" if table else ""
        text = f"{before}{start}\n\n{shown}{end}{rest.partition(end)[2]}"
    return text
