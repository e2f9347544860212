"""A question is checked and cleaned when it is made."""

from __future__ import annotations

import pytest

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("\x1b[31mWhat is lidar?\x1b[0m", "What is lidar?"),
        ("What is\x1b[1;4m lidar\x1b[0m?", "What is lidar?"),
        ("\x9b31mWhat is lidar?\x9b0m", "What is lidar?"),
        ("What\x00 is\x07 lidar?\x7f", "What is lidar?"),
        ("\x1b[?25l \x1b[2KWhat is lidar?", "What is lidar?"),
        ("What does a[0]\n\tmean?", "What does a[0]\n\tmean?"),
        ("What is\x0clidar?", "What is\x0clidar?"),
        ("What does [31m mean?", "What does [31m mean?"),
    ],
)
def test_a_question_has_no_terminal_sequences_and_control_characters(typed: str, text: str) -> None:
    assert Question(typed).text == text


def test_a_question_of_control_characters_alone_is_empty() -> None:
    with pytest.raises(InvalidInputError, match="this one has 0"):
        Question("\x1b[31m\x00\x1b[0m")
