"""Draw docs/demo.svg and docs/pictures: real replies from the example book, as a terminal shows them."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

import bookbound
from bookbound.cli.reply_view import format_reply
from bookbound.cli.serve_commands import DEMO_QUESTIONS
from bookbound.cli.terminal import BLANK_LINE, StyledLine, draw_lines, styled
from bookbound.domain.reply import Answer, Refusal, Reply, Unsure
from bookbound.library import Book

DOCS = Path(__file__).resolve().parent
PICTURES: dict[str, Sequence[tuple[str, type[Reply]]]] = {
    "demo": ((DEMO_QUESTIONS[0], Answer), (DEMO_QUESTIONS[-1], Refusal)),
    "pictures/answer": (("What are the mass and the height of the reference humanoid?", Answer),),
    "pictures/unsure": (("How long does it take to charge the battery of the reference humanoid?", Unsure),),
    "pictures/refusal": (("What does a humanoid robot cost?", Refusal),),
}
"""The pictures of single questions, and the kind of reply that each shows."""
CHAT = ("What is a strain wave gear?", "How efficient is it?")


def format_questions(book: Book, questions: Sequence[tuple[str, type[Reply]]]) -> Iterator[StyledLine]:
    """Each question as a command, and its reply."""
    for question, kind in questions:
        reply = book.ask(question)
        if not isinstance(reply, kind):
            raise SystemExit(f"The picture needs a reply of the type {kind.__name__}. Change the question: {question}")
        yield styled(("$ ", "dim"), (f'bookbound ask "{question}"', "bold"))
        yield from (*format_reply(reply), BLANK_LINE)


def format_chat(book: Book, questions: Sequence[str]) -> Iterator[StyledLine]:
    """A conversation at the prompt; each question but the first must be a follow-up."""
    yield styled(("$ ", "dim"), ("bookbound chat", "bold"))
    turns: list[tuple[str, str]] = []
    for question in questions:
        reply = book.ask(question, conversation=turns)
        completed = reply.trace.completed_question
        if not isinstance(reply, Answer) or bool(turns) != bool(completed):
            raise SystemExit(f"The picture needs an answer to a follow-up. Change the question: {question}")
        turns.append((question, reply.text))
        yield styled(("> ", "dim"), (question, "bold"))
        yield from (*format_reply(reply), BLANK_LINE)


def draw(lines: Iterator[StyledLine], file: Path) -> None:
    """Draws lines as a terminal that loads no font from a network."""
    console = Console(record=True, width=90, file=io.StringIO(), force_terminal=True, highlight=False)
    draw_lines(list(lines), console)
    svg = console.export_svg(title="bookbound", unique_id=file.stem)
    file.parent.mkdir(exist_ok=True)
    file.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bookbound.index(DOCS.parent / "examples" / "book", folder)
        with bookbound.open(folder) as book:
            for name, questions in PICTURES.items():
                draw(format_questions(book, questions), DOCS / f"{name}.svg")
            draw(format_chat(book, CHAT), DOCS / "pictures" / "chat.svg")


if __name__ == "__main__":
    main()
