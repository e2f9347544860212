"""What a terminal shows while a language model writes, and of what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.terminal_session import run_on_terminal

from bookbound.domain.reply import DROPPED_MESSAGE, WITHHELD_MESSAGE
from bookbound.testing.scripted_services import ScriptedServices, StreamedReply

ASKED = "How often is the flexspline lubricated with grease?"
GREASE = "The flexspline is lubricated with grease every 500 hours of operation."
PARTS = "It consists of a wave generator, a flexspline and a circular spline."
RATIO = "The gear ratio of the drive in the elbow joint is 120 to 1."
CRASH = "A node that crashed is restarted by the supervisor after two seconds."
# No network decides about these: another language cannot be read, and another script has no evidence.
UNVERIFIED = "Der flexspline wird mit grease und nicht mit Wasser bedient."
FOREIGN = "Этот механизм изобрели в Токио."


@pytest.fixture
def services() -> Iterator[ScriptedServices]:
    with ScriptedServices() as services:
        yield services


@pytest.fixture
def model(services: ScriptedServices) -> dict[str, str]:
    """The settings of a language model that writes what is scripted."""
    settings = {"LLM_MODEL": "m-1", "LLM_URL": services.openai_url, "LLM_API": "chat", "ANSWER_THRESHOLD": "0"}
    return {f"BOOKBOUND_{name}": value for name, value in settings.items()}


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_a_terminal_shows_the_step_and_each_verified_sentence_before_the_model_ends(
    command: str,
    services: ScriptedServices,
    model: dict[str, str],
    environment: dict[str, str],
    little_index: Path,
    tmp_path: Path,
) -> None:
    may_go_on = Event()
    services.reply_with(StreamedReply(f"{GREASE} {PARTS[:12]}", may_go_on, PARTS[12:]))
    arguments = [command, *[ASKED] * (command == "ask"), "--index", str(little_index)]
    with run_on_terminal(*arguments, cwd=tmp_path, env=environment | model) as session:
        if command == "chat":
            session.wait_for("> ")
            session.say(f"{ASKED}\n")
        session.wait_for("Writing…")
        session.wait_for(GREASE)
        may_go_on.set()  # only now may the model go on
        session.wait_for(f"{GREASE} {PARTS}")
        session.wait_for("[1] Drives")


def test_a_pipe_gets_the_reply_alone(
    services: ScriptedServices, model: dict[str, str], process: Run, little_index: Path
) -> None:
    services.reply_with(GREASE)
    done = process("ask", ASKED, "--index", str(little_index), **model)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{GREASE} [1]\n")
    assert "Writing" not in done.stdout


@pytest.mark.parametrize("verbose", [True, False])
def test_what_is_not_verified_is_marked_with_the_closest_words(
    verbose: bool, services: ScriptedServices, model: dict[str, str], bookbound: Run, little_index: Path
) -> None:
    services.reply_with(f"{GREASE} {PARTS} {RATIO} {CRASH} {UNVERIFIED}", "0. -")
    options = ["--verbose"] * verbose
    done = bookbound("ask", ASKED, "--index", str(little_index), *options, **model)
    assert done.returncode == 0
    _, _, rest = done.stdout.partition(f"\n\n{UNVERIFIED}\n(not verified) The closest words of the book: “")
    closest, _, after = rest.partition("” [")
    assert GREASE in " ".join(closest.split())
    assert closest not in after.split("Judgement")[0]
    assert ("Sentences   4 verified, 1 not verified, 0 dropped" in after) == verbose


@pytest.mark.parametrize(
    ("written", "variables", "note"),
    [
        (f"{GREASE} {PARTS} {RATIO} {CRASH} {FOREIGN}", {}, DROPPED_MESSAGE.format(1)),
        (
            f"{GREASE} {PARTS} {RATIO} {CRASH} {UNVERIFIED}",
            {"BOOKBOUND_UNVERIFIED": "hide"},
            DROPPED_MESSAGE.format(1),
        ),
        (f"{FOREIGN} {PARTS} {RATIO}", {}, WITHHELD_MESSAGE),
    ],
)
def test_what_is_left_out_or_withheld_is_said(
    written: str,
    variables: dict[str, str],
    note: str,
    services: ScriptedServices,
    model: dict[str, str],
    bookbound: Run,
    little_index: Path,
) -> None:
    services.reply_with(written, "0. -")
    done = bookbound("ask", ASKED, "--index", str(little_index), **model, **variables)
    assert done.returncode == 0
    assert GREASE in done.stdout
    assert f"\n\n{note}\n\n" in done.stdout
    assert FOREIGN not in done.stdout
    assert UNVERIFIED not in done.stdout


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Wie oft wird das Getriebe geschmiert?", "Dieses Buch ist auf Englisch."),
        ("¿Con qué frecuencia se engrasa el engranaje?", "Este libro está en inglés."),
        ("À quelle fréquence faut-il graisser le réducteur ?", "Ce livre est en anglais."),
    ],
)
@pytest.mark.parametrize("command", ["ask", "chat"])
def test_a_question_in_another_language_gets_one_line_in_it(
    command: str, question: str, line: str, bookbound: Run, little_index: Path
) -> None:
    arguments: dict[str, Any] = {"stdin": f"{question}\n"} if command == "chat" else {}
    done = bookbound(command, *[question] * (command == "ask"), "--index", str(little_index), **arguments)
    assert done.returncode == 1
    assert line in done.stdout
    said = [each for each in done.stdout.splitlines() if each and not each.startswith("> ")]
    assert len(said) == 1
