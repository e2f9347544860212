"""Implements the command `chat`: an interactive prompt whose questions may be follow-ups."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

import typer

from bookbound.cli import exit_codes, terminal
from bookbound.cli.book_access import open_book
from bookbound.cli.options import BookOption, EditionOption, IndexOption
from bookbound.cli.progress_view import show_progress
from bookbound.cli.reply_view import format_passages, format_reply
from bookbound.domain.errors import BookboundError
from bookbound.domain.question import MAX_TURN_ANSWER_CHARS, MAX_TURNS, QuestionKind, Turn
from bookbound.domain.reply import Answer, Reply
from bookbound.library import Book
from bookbound.settings import load_settings

HELP = {
    "/sources": "show the passages that the last reply was made from",
    "/clear": "forget the conversation",
    "/help": "show this list",
    "/quit": "end, as Ctrl-D does",
}
# A question may begin with a path.
UNREAD_KINDS = (QuestionKind.SMALL_TALK, QuestionKind.OTHER_LANGUAGE)
"""What is replied to without reading the book."""
END_WORDS = ("/quit", "/exit", "quit", "exit")
_COMMAND = re.compile(r"(?P<name>/[A-Za-z]+)(?:\s[^/]*)?")


class ChatSession:
    """Asks a book one question after the other; the conversation is kept in this process alone."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._turns: list[Turn] = []
        self._last_reply: Reply | None = None

    def ask(self, question: str) -> int:
        """Print the reply to a question or follow-up, or what is wrong with it, and return its exit code."""
        try:
            with show_progress(starts_at_once=True) as on_event:
                reply = self._book.ask(question, conversation=self._turns, on_event=on_event)
        except BookboundError as error:
            terminal.flush_stdout()
            return exit_codes.print_error(error)
        turn = Turn(question.strip(), reply.text[:MAX_TURN_ANSWER_CHARS])
        self._turns = [*self._turns, turn][-MAX_TURNS:]
        self._last_reply = reply
        terminal.print_lines([*format_reply(reply), terminal.BLANK_LINE])
        terminal.flush_stdout()
        return exit_codes.EXIT_ANSWERED if isinstance(reply, Answer) else exit_codes.EXIT_REFUSED

    def run_command(self, command: str) -> None:
        match command.lower():
            case "/clear":
                self._turns, self._last_reply = [], None
                terminal.print_line(("The conversation is forgotten.", "dim"))
            case "/sources" if self._last_reply and self._last_reply.trace.question_kind in UNREAD_KINDS:
                terminal.print_line("No passage of the book was read for this reply.")
            case "/sources" if self._last_reply:
                terminal.print_lines(format_passages(self._last_reply.trace.retrieval.passages))
            case "/sources":
                terminal.print_line("There is no reply yet. Ask a question first.")
            case "/help":
                terminal.print_lines(terminal.format_table(list(HELP.items())))
            case _:
                terminal.print_line(f"There is no command {command}. The commands are {', '.join(HELP)}.")
        terminal.flush_stdout()


def chat(ctx: typer.Context, index: IndexOption = None, book: BookOption = None, edition: EditionOption = None) -> None:
    """Answer your questions at a prompt, also follow-ups such as "why?" or "what about on macOS?".

    Ctrl-C stops an answer, Ctrl-D ends. Without a terminal it reads one question per line and repeats each
    before its reply.

    Exit codes: 0; from a pipe or file, the highest of its questions: 0 answered, 1 unsure or refused, 3 a service could
    not be reached, 4 invalid input. 2 bad use or configuration.
    """
    with exit_codes.exit_on_error():
        settings = load_settings(index=index, book=book, edition=edition)
        with open_book(ctx.obj, settings) as opened:
            is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
            if is_interactive:
                title = opened.manifest.title
                terminal.print_line("Book: ", (title, "bold"), (". /help lists the commands, Ctrl-D ends.", "dim"))
            code = _run_session(ChatSession(opened), is_interactive)
            exit_codes.exit_without_cleanup(exit_codes.EXIT_ANSWERED if is_interactive else code)


def _run_session(session: ChatSession, is_interactive: bool) -> int:
    """Answer every line and return the highest exit code; on a terminal, Ctrl-C stops the answer or drops the line."""
    code = exit_codes.EXIT_ANSWERED
    line: str | None = ""
    while line is not None:
        command = _COMMAND.fullmatch(line)
        if (command["name"] if command else line).lower() in END_WORDS:
            break
        try:
            if command:
                session.run_command(command["name"])
            elif line:
                if not is_interactive:  # there the prompt shows the question
                    terminal.print_line(("> ", "dim"), (line, "bold"))
                code = max(code, session.ask(line))
        except KeyboardInterrupt:
            if not is_interactive:
                raise
            terminal.print_line(("Stopped.", "dim"))
        try:
            line = read_line(is_interactive)
        except KeyboardInterrupt:
            if not is_interactive:
                raise
            line = ""
    return code


def read_line(is_interactive: bool) -> str | None:
    """The next line from the keyboard or a pipe, or None at its end."""
    if not is_interactive:
        line = sys.stdin.readline()
        return line.strip() if line else None
    with suppress(ImportError):
        import readline  # noqa: F401  (gives the prompt a history and line editing)
    try:
        return input("> ").strip()
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:
        print()
        raise
