"""Where sentences end, and where a full stop does not end one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.text import split_sentences


def split_texts(text: str) -> list[str]:
    return [text[start:end] for _, start, end in split_sentences(text)]


def split_kinds(text: str) -> list[str]:
    return [unit.kind for unit in split_sentences(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "A stream, e.g. a topic, differs from a call, i.e. a service.",
        "Dr. Denavit and Mr. Hartenberg wrote it.",
        "Fig. 3 and Eq. 4 show it (cf. Sec. 2).",
        "A joint vs. a link.",
        "It turns by 3.5 degrees in version 2.0.1 of setup.py after rclpy.init is called.",
        "C. A. R. Hoare found it.",
        "Names, types, etc. are listed.",
        "Wait... and go on.",
        "See No. 5 on p. 12.",
        "It is faster (see the table.) than before.",
        '"Why?" he asked.',
        "The U.S. office is open.",
        "The U.S. Army has it.",
        "He wrote R.U.R. (Rossum's Universal Robots) in 1920.",
        "1. Introduction",
        "A line is\nwrapped here.",
        "It flies. 🚀",
        "Set it (type in where Python is. For example, C:\\Python35\\) and go on.",
        "It turns (once (or so) again. Then (as said. Before.) Again.) twice.",
        "它会走（真的。不停）。",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(sentence: str) -> None:
    assert split_texts(sentence) == [sentence]
    assert split_texts(f"Before it. {sentence}") == ["Before it.", sentence]


@pytest.mark.parametrize(
    "parts",
    [
        ["Is it?", "It is!", "Good."],
        ["It is written in C.", "The compiler is fast."],
        ["It was built in the U.S.", "The next one was not."],
        ["The answer is no.", "Then we left."],
        ["Names, types, etc.", "The rest is left out."],
        ['He said "Stop."', "Then he left."],
        ["(It moves.)", "[It stops.]", "“It rests.”"],
        ["Wait...", "Now go."],
        ["It takes 60 ms.", "Ms. Hopper counts them."],
        ["It takes 5.", "7 is too many."],
        ["Call it first.", "rclpy.init() starts the client."],
        ["这是机器人。", "它会走！", "好"],
        ["It turns (once.", "Then it stops."],
        ["It fell :( again.", "It rose (twice. Or more.)", "It stood."],
        ["It stops (see b).", "It rests, as c) says.", "It goes on."],
        ["It turns (once. Or twice.)", "Then it stops."],
    ],
)
def test_adjacent_sentences_are_split(parts: list[str]) -> None:
    text = ("" if parts[0].endswith("。") else " ").join(parts)
    assert split_texts(text) == parts


def test_each_list_item_is_a_unit() -> None:
    text = "You need:\n- a motor. It turns.\n- a gear\n  of steel\n* a belt\n1. one\n2) two"
    assert split_kinds(text) == ["sentence", *["item"] * 5]
    assert split_texts(text) == [
        "You need:",
        "- a motor. It turns.",
        "- a gear\n  of steel",
        "* a belt",
        "1. one",
        "2) two",
    ]


def test_each_table_row_is_a_unit() -> None:
    text = "Name | Use\nJoint | Turns. Slides.\nLink | Holds"
    assert split_kinds(text) == ["row"] * 3
    assert split_texts(text) == [
        "Name | Use",
        "Joint | Turns. Slides.",
        "Link | Holds",
    ]


def test_a_blank_line_ends_a_sentence() -> None:
    assert split_texts("A heading\n\nA paragraph without an end\n \n- an item") == [
        "A heading",
        "A paragraph without an end",
        "- an item",
    ]


@given(st.one_of(st.text(), st.text(alphabet="aB1 .!?…。\n-|(\"')=;\t*")))
def test_every_word_is_in_exactly_one_sentence(text: str) -> None:
    after = 0
    for _, start, end in split_sentences(text):
        assert start >= after
        assert not text[after:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        after = end
    assert not text[after:].strip()


CPU_LIMITED_SCRIPT = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from bookbound.text import split_sentences
assert len(split_sentences("e.g. " * 300_000)) == 1
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on processor time here")
def test_time_is_linear_in_the_size_of_the_text() -> None:
    done = subprocess.run([sys.executable, "-c", CPU_LIMITED_SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
