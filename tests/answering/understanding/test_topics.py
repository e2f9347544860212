"""What a question is about, and what an answer lists."""

from __future__ import annotations

import pytest

from bookbound.answering.understanding.topics import find_items, find_pair, find_phrases, find_topic


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What is a strain wave gear?", "a strain wave gear"),
        ("What is a service in ROS 2?", "a service in ROS 2"),
        ("What is URDF used for?", "URDF"),
        ("How many joints does each leg have?", "each leg"),
        ("What does the IMU combine?", "the IMU"),
        ("How do I open a file?", "a file"),
        ("What is the gear ratio of the elbow?", "the gear ratio of the elbow"),
        ("Why is the price of a robot high?", "the price of a robot high"),
        ("Explain domain randomisation", "domain randomisation"),
        ("What does mdbook build do?", "mdbook build"),
        ("lambda", "lambda"),
    ],
)
def test_the_topic_is_what_the_question_is_about(question: str, topic: str) -> None:
    assert find_topic(question) == topic


def test_verbs_prepositions_and_question_words_separate_phrases() -> None:
    phrases = find_phrases("How many CAN buses does the reference humanoid need at 1 kHz?")
    assert [phrase.text for phrase in phrases] == ["CAN buses", "the reference humanoid", "1 kHz"]


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("What is the difference between a list and a tuple?", ("a list", "a tuple")),
        ("Gazebo vs MuJoCo", ("Gazebo", "MuJoCo")),
        ("Should I use a topic or a service?", ("a topic", "a service")),
        ("What is a list?", ()),
    ],
)
def test_a_pair_is_what_the_question_compares(question: str, pair: tuple[str, ...]) -> None:
    assert find_pair(question) == pair


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("It has two parts: a wave generator and a flexspline.", ("a wave generator", "a flexspline")),
        ("Two variables:\n\n- `ROS_DOMAIN_ID` separates systems.\n- `RANGE`: how far.", ("ROS_DOMAIN_ID", "RANGE")),
        ("1. Walk\n2. Stand still", ("Walk", "Stand still")),
        ("It turns.", ()),
    ],
)
def test_the_items_of_an_answer_are_its_bullet_points_or_the_list_after_a_colon(
    answer: str, items: tuple[str, ...]
) -> None:
    assert find_items(answer) == items
