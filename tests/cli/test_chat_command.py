"""The interactive prompt: on a terminal, and with a pipe."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.terminal_session import TerminalSession, run_on_terminal

ASKED, FOLLOW_UP = "What is a harmonic drive?", "And what is it made of?"
LUBRICATED = "How often is the flexspline lubricated with grease?"
UNDERSTOOD = "Understood as: What is a harmonic drive made of?"
REFUSED = "Who won the football world cup?"
CTRL_C, CTRL_D, CLEAR_LINE, ARROW_UP = "\x03", "\x04", "\x15", "\x1b[A"


Start = Callable[..., AbstractContextManager[TerminalSession]]


@pytest.fixture
def start(little_index: Path, environment: dict[str, str], tmp_path: Path) -> Start:
    """Starts `bookbound chat` on a terminal, and waits for its prompt."""

    @contextmanager
    def run(**variables: str) -> Iterator[TerminalSession]:
        settings = environment | {"BOOKBOUND_ANSWER_THRESHOLD": "0"} | variables
        with run_on_terminal("chat", "--index", str(little_index), cwd=tmp_path, env=settings) as session:
            session.wait_for("> ")
            yield session

    return run


def test_a_session_answers_follow_ups_recalls_lines_and_ends_with_ctrl_d(start: Start) -> None:
    with start() as session:
        session.say(f"{ASKED}\n")
        assert "[1] " in session.wait_for("\n\n> ")
        session.say(f"{FOLLOW_UP}\n")
        seen = session.wait_for("\n\n> ")
        assert UNDERSTOOD in seen
        assert "wave generator" in seen
        session.say(f"{ARROW_UP}{ARROW_UP}")
        session.wait_for(ASKED)
        session.say(f"{CLEAR_LINE}{CTRL_D}")
        assert session.process.wait(60) == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        model = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        # A short time for the answer would end it before Ctrl-C does.
        waiting = {"BOOKBOUND_ANSWER_TIMEOUT_SECONDS": "600"}
        with start(BOOKBOUND_LLM_MODEL="x", BOOKBOUND_LLM_URL=model, **waiting) as session:
            session.say(f"{ASKED}\n")
            session.wait_for("…")
            with silent.accept()[0]:  # the answer now waits for the model
                session.say(CTRL_C)
                session.wait_for("Stopped.")
            session.wait_for("> ")
            session.say("/help\n")
            session.wait_for("/sources")
            session.say("/quit\n")
            assert session.process.wait(60) == 0


def test_a_pipe_gets_each_question_and_its_reply_as_a_transcript(answering: Run, little_index: Path) -> None:
    lines = f"{ASKED}\n\n{FOLLOW_UP}\n"
    done = answering("chat", "--index", str(little_index), stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split(f"\n\n> {FOLLOW_UP}\n")
    assert first.startswith(f"> {ASKED}\nA harmonic drive reduces the speed")
    assert second.startswith(f"{UNDERSTOOD}\n")
    assert "wave generator" in second


def test_the_exit_code_of_a_pipe_is_the_highest_of_its_questions(answering: Run, little_index: Path) -> None:
    options = "chat", "--index", str(little_index)
    assert answering(*options, stdin=f"{REFUSED}\n{LUBRICATED}\n").returncode == 1
    done = answering(*options, stdin=f"{'x' * 2001}\n{LUBRICATED}\n")
    assert done.returncode == 4
    assert "1 to 2000 characters" in done.stderr
    assert "500 hours" in done.stdout
    assert answering(*options, stdin="").returncode == 0


def test_commands_forget_the_conversation_show_sources_and_quit(answering: Run, little_index: Path) -> None:
    lines = ["/sources", ASKED, "/sources", "/clear", FOLLOW_UP, "/flexspline", "/quit", LUBRICATED]
    done = answering("chat", "--index", str(little_index), stdin="\n".join(lines))
    assert "There is no reply yet." in done.stdout
    assert "\n1. Drives › Harmonic drive" in done.stdout
    assert "Understood as" not in done.stdout
    assert "There is no command /flexspline." in done.stdout
    assert done.stdout.endswith("/help, /quit.\n")


@pytest.mark.parametrize("message", ["hello", "Was ist ein Getriebe?"])
def test_what_is_replied_to_without_reading_has_no_sources(message: str, answering: Run, little_index: Path) -> None:
    done = answering("chat", "--index", str(little_index), stdin=f"{message}\n/sources\n")
    assert "No passage of the book was read for this reply." in done.stdout
    assert "1. Drives" not in done.stdout


def test_commands_may_be_in_capitals_and_an_unknown_one_is_reported_with_the_list(
    answering: Run, little_index: Path
) -> None:
    lines = ["/SOURCES", "/Foo bar", "/Quit now", LUBRICATED]
    done = answering("chat", "--index", str(little_index), stdin="\n".join(lines))
    assert done.returncode == 0
    assert done.stdout.startswith("There is no reply yet.")
    assert "There is no command /Foo. The commands are /sources, /clear, /help, /quit." in done.stdout
    assert "500 hours" not in done.stdout


@pytest.mark.parametrize("word", ["quit", "Exit"])
def test_a_word_that_ends_other_prompts_ends_this_one_too(word: str, answering: Run, little_index: Path) -> None:
    assert answering("chat", "--index", str(little_index), stdin=f"{word}\n{LUBRICATED}").stdout == ""


@pytest.mark.parametrize("question", ["/etc/hosts is what?", "/2 of what?", "/dev is what and where is /etc/hosts?"])
def test_a_question_may_begin_with_a_path(question: str, answering: Run, little_index: Path) -> None:
    done = answering("chat", "--index", str(little_index), stdin=question)
    assert done.returncode == 1
    assert "There is no command" not in done.stdout


def test_a_missing_index_is_an_error(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("chat", "--index", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "Index a book first" in done.stderr


def test_a_long_session_sends_only_the_last_turns(answering: Run, little_index: Path) -> None:
    lines = [LUBRICATED] * 11 + ["Why is that?"]
    done = answering("chat", "--index", str(little_index), stdin="\n".join(lines))
    assert done.stderr == ""
    assert "Understood as: Why is the flexspline lubricated with grease?" in done.stdout
