"""Progress bars on standard error, where it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bookbound.cli.screen import console

if TYPE_CHECKING:
    from bookbound.ingest import Progress

STAGES = {"read": "Read", "split": "Split", "embed": "Embed"}


@contextmanager
def bars(stages: Mapping[str, str] = STAGES) -> Iterator[Progress]:
    """A function that takes a stage, how much of it is done, and how much there is."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        """How many are done in a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f}/s" if task.speed else "", style="cyan")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as shown:
        tasks = {
            stage: shown.add_task(words, total=None, visible=not i) for i, (stage, words) in enumerate(stages.items())
        }

        def progress(stage: str, done: int, total: int) -> None:
            shown.update(tasks[stage], completed=done, total=total or None, visible=True)

        yield progress
