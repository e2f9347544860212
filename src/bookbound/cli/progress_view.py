"""Shows on a terminal what is done for a reply, and each sentence as it is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bookbound.cli import terminal
from bookbound.cli.block_view import format_completed_question
from bookbound.domain.question import CompletedQuestion
from bookbound.domain.reply import AnswerSentence, PipelineEvent, Progress

if TYPE_CHECKING:
    from rich.live import Live

STATUS_LINES = {
    Progress.UNDERSTANDING: "Understanding the question…",
    Progress.WRITING: "Writing…",
    Progress.REVISING: "Checking the answer…",
    Progress.TRANSLATING: "Translating…",
}


@contextmanager
def show_progress(*, starts_at_once: bool = False) -> Iterator[Callable[[PipelineEvent], None] | None]:
    """A function that shows the events of a question until the reply is complete; on a terminal only.

    Unless it starts at once, it shows nothing before a language model begins to work, because the rest is fast.
    """
    if not sys.stdout.isatty():
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    live = Live(Text("…"), console=terminal.create_console(sys.stdout), transient=True, auto_refresh=False)
    view = ProgressView(live)
    if starts_at_once:
        live.start()
    try:
        yield view.on_event
    finally:
        view.is_ended = True
        live.stop()


class ProgressView:
    """Keeps what is shown of an answer that is being written."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._shown: list[terminal.StyledLine] = []
        self._status, self.is_ended = "…", False

    def on_event(self, event: PipelineEvent) -> None:
        if isinstance(event, CompletedQuestion):
            self._shown.extend(format_completed_question(event.text))
        elif isinstance(event, AnswerSentence):
            self._shown.append(terminal.styled(event.text))
        elif isinstance(event, Progress):
            self._status = STATUS_LINES[event]
            if not self.is_ended:  # an interrupted question may still send events
                self._live.start()
        if self._live.is_started:
            self._draw()

    def _draw(self) -> None:
        from rich.text import Text

        lines = [*self._shown, terminal.styled(self._status)]
        self._live.update(Text("\n").join(Text.assemble(*line.pieces) for line in lines), refresh=True)
