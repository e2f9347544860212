"""Draw docs/demo.svg: a real answer and a real refusal from the example book, as a terminal shows them."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

import bookbound
from bookbound.cli import reply_view
from bookbound.cli.serve_commands import DEMO_QUESTIONS
from bookbound.cli.terminal import BLANK_LINE, draw_lines, styled
from bookbound.domain.reply import Answer, Refusal

DOCS = Path(__file__).resolve().parent


def main() -> None:
    console = Console(record=True, width=90, file=io.StringIO(), force_terminal=True, highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        bookbound.index(DOCS.parent / "examples" / "book", folder)
        with bookbound.open(folder) as book:
            for question, kind in ((DEMO_QUESTIONS[0], Answer), (DEMO_QUESTIONS[-1], Refusal)):
                reply = book.ask(question)
                if not isinstance(reply, kind):
                    raise SystemExit(
                        f"The picture needs a reply of the type {kind.__name__}. Change the question: {question}"
                    )
                draw_lines([styled(("$ ", "dim"), (f'bookbound ask "{question}"', "bold"))], console)
                draw_lines([*reply_view.format_reply(reply), BLANK_LINE], console)
    svg = console.export_svg(title="bookbound", unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # a picture loads no font from a network
    (DOCS / "demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
