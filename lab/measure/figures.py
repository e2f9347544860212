"""Prints measured figures."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table


def print_figures(title: str, figures: Mapping[str, float]) -> None:
    """Prints figures as a table and, on the last line, as JSON with the title."""
    table = Table(title=title)
    table.add_column("measure")
    table.add_column("", justify="right")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}".removesuffix(".00"))
    Console(width=110).print(table)
    print(json.dumps({"title": title, **figures}))
