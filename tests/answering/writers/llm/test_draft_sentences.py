"""The Markdown of a language model is split into parts with their claims, however it comes."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.answering.writers.llm.conftest import cut

from bookbound.answering.writers.llm import (
    citation_marks,
    draft_sentences,
    formulas,
    inline_markup,
    language_model_writer,
    reply_reader,
)
from bookbound.answering.writers.llm.draft_sentences import DraftSentence, MarkdownSplitter, split_draft
from bookbound.domain.judgement import Claim
from bookbound.languages import LANGUAGE

constants, parser = import_module("re._constants"), import_module("re._parser")
QUESTION = "Does the arm need a brake?"


def split(text: str, book: str = "") -> list[DraftSentence]:
    return list(split_draft(text, QUESTION, book))


def list_claims(text: str, book: str = "") -> list[Claim | None]:
    return [each.claim for each in split(text, book)]


def list_parts(text: str) -> list[tuple[str, str]]:
    """Returns the form and the text of each part."""
    return [(each.form.kind, each.text) for each in split(text)]


def test_sentences_are_split_and_each_has_the_passages_that_it_names() -> None:
    drafted = "The arm is safe.[1] It has a spring, e.g. a disc! [2][3] This is\nwrong [1, 2].\n\nIt flies."
    assert [(each.text, each.passages) for each in split(drafted)] == [
        ("The arm is safe.", (1,)),
        ("It has a spring, e.g. a disc!", (2, 3)),
        ("This is wrong.", (1, 2)),
        ("It flies.", ()),
    ]


def test_a_part_that_names_no_passage_gets_those_of_its_text() -> None:
    splitter = MarkdownSplitter(QUESTION)
    found = [*splitter.feed("The arm is safe. It holds [3].\n\n", (2, 1)), *splitter.end()]
    assert [each.passages for each in found] == [(2, 1), (3, 2, 1)]


# The form


def test_items_keep_their_numbers_and_levels() -> None:
    drafted = "1. Press `stop` [1].\n2) Hold the\n   **brake**. [2]\n   - At once [3]\n\n* [ ] Wait\n• Rest"
    assert [(each.text, each.passages, each.form.number, each.form.level) for each in split(drafted)] == [
        ("Press `stop`.", (1,), "1.", 0),
        ("Hold the brake.", (2,), "2)", 0),
        ("At once", (3,), "", 1),
        ("Wait", (), "", 0),
        ("Rest", (), "", 0),
    ]
    assert {each.form.kind for each in split(drafted)} == {"item"}


def test_a_fenced_code_block_is_one_part_and_stays_as_it_is() -> None:
    drafted = "Run:\n\n```bash\narm stop [1]\n\n    # **not** a title\n```\nThen it stops."
    assert list_parts(drafted) == [
        ("sentence", "Run:"),
        ("code", "arm stop [1]\n\n    # **not** a title"),
        ("sentence", "Then it stops."),
    ]
    assert split(drafted)[1].claim == Claim("arm stop [1]\n\n    # **not** a title")


@pytest.mark.parametrize(
    "code", ["```\na\n  b\n```", "~~~py\na\n  b\n~~~", "````\na\n  b\n", "1. Do:\n   ```\n   a\n     b\n   ```"]
)
def test_every_fence_makes_a_code_block_that_may_be_unclosed(code: str) -> None:
    assert list_parts(code)[-1] == ("code", "a\n  b")


def test_a_fence_within_a_longer_fence_is_code() -> None:
    assert list_parts("````\n```\na\n```\n````") == [("code", "```\na\n```")]


def test_a_table_row_becomes_a_claim_with_the_names_of_its_columns() -> None:
    drafted = "| Part | **Mass** [1] |\n|:--|--:|\n| `arm` | 3 kg [2] |\n| a \\| b | |"
    header, arm, other = split(drafted)
    assert (header.form.is_header, header.claim, header.form.cells) == (True, None, ("Part", "Mass"))
    assert (arm.form.cells, arm.passages, arm.claim) == (("arm", "3 kg"), (2,), Claim("Part: arm; Mass: 3 kg"))
    assert (other.form.cells, other.claim) == (("a | b", ""), Claim("Part: a | b"))


def test_a_cell_without_a_column_is_a_part_of_the_claim() -> None:
    *_, row = split("| Part |\n|---|\n| arm | 3 kg |")
    assert row.form.cells == ("arm", "3 kg")
    assert row.claim == Claim("Part: arm; 3 kg")


def test_text_after_a_table_ends_it() -> None:
    drafted = "| A |\n|---|\n| b |\nThe arm is safe.\n| C |\n|---|\n| d |"
    assert [(each.text, each.form.is_header) for each in split(drafted)] == [
        ("A", True),
        ("b", False),
        ("The arm is safe.", False),
        ("C", True),
        ("d", False),
    ]


@pytest.mark.parametrize(
    "heading", ["# Stopping", "### Stopping ###", "**Stopping**", "**Stopping:**", "**Stopping**:"]
)
def test_a_heading_claims_nothing(heading: str) -> None:
    (found, _) = split(f"{heading}\n\nThe arm stops.")
    assert (found.form.kind, found.text, found.claim) == ("heading", "Stopping", None)


@pytest.mark.parametrize(
    ("line", "claimed"),
    [
        ("**The arm explodes at 9999 volts.**", "The arm explodes at 9999 volts."),
        ("**The arm is safe [1]**", "The arm is safe"),
        ("**It takes 90 minutes**", "It takes 90 minutes"),
        ("# The arm explodes if nobody looks at its cable", "The arm explodes if nobody looks at its cable"),
        ("## Never stop", "Never stop"),
    ],
)
def test_a_heading_that_says_something_is_a_sentence(line: str, claimed: str) -> None:
    (found, _) = split(f"{line}\n\nThe arm stops.")
    assert (found.form.kind, found.claim and found.claim.words) == ("sentence", claimed)


def test_a_long_heading_in_the_words_of_the_book_is_no_sentence() -> None:
    found = list(split_draft("# How the old arm is stopped\n\nIt stops.", QUESTION, "The old arm is stopped by hand."))
    assert [each.form.kind for each in found] == ["heading", "sentence"]


def test_paragraphs_stay_paragraphs() -> None:
    found = split("The arm is safe. It stops.\n\nThe brake holds.\nIt is new.\n\n- One\n\nThe cable hangs.")
    starts = [each.text for each in found if each.form.starts_paragraph]
    assert starts == ["The brake holds.", "The cable hangs."]
    splitter = MarkdownSplitter(QUESTION)
    listed = [*splitter.feed("The arm is safe.\n\n", (1,)), *splitter.feed("It stops.\n\n", (2,)), *splitter.end()]
    assert not any(each.form.starts_paragraph for each in listed)


@pytest.mark.parametrize("line", ["---", "***", "…", "->", "", "> "])
def test_what_has_no_word_is_left_out(line: str) -> None:
    assert [each.text for each in split(f"The arm is safe.\n\n{line}\n\nIt holds.")] == [
        "The arm is safe.",
        "It holds.",
    ]


# The claim


@pytest.mark.parametrize(
    ("drafted", "claimed"),
    [
        ("According to the book, the arm is safe.", "the arm is safe."),
        ("Based on the provided passages, the arm is safe.", "the arm is safe."),
        ("The passages state that the arm is safe.", "the arm is safe."),
        ("In short, the arm is safe.", "the arm is safe."),
        ("Answer: The arm is safe.", "The arm is safe."),
        ("**Short answer:** the arm is safe.", "the arm is safe."),
        ("- **The** [arm](/a) is `safe` ✅ [1]", "The arm is safe"),
        ("3. The arm is *safe*.", "The arm is safe."),
        ("> The arm is safe.", "The arm is safe."),
        (r"The arm turns by \(90^\circ\).", "The arm turns by 90°."),
    ],
)
def test_no_mark_and_no_lead_in_gets_into_the_claim(drafted: str, claimed: str) -> None:
    assert [claim.words for claim in list_claims(drafted) if claim] == [claimed]


@pytest.mark.parametrize(
    "text",
    [
        "No backlash occurs in the arm.",
        "Right clicks open the menu.",
        "True by default.",
        "Exactly three brakes hold it.",
        "No-one may touch it.",
        "True, false and null are values.",
        "In the document list, choose one.",
        "In this context menu, choose one.",
        "Make sure: the brake holds.",
        "You can be sure, in short, of it.",
        "He says no, the brake holds.",
        "The source says no.",
        "Call `__init__` with `*args`.",
        "Set `$HOME/bin:$PATH`.",
    ],
)
def test_words_that_mean_something_stay_in_the_claim(text: str) -> None:
    assert list_claims(text) == [Claim(text.replace("`", ""))]


@pytest.mark.parametrize("verdict", ["Yes.", "No.", "**Yes.**", "Yes, it does.", "Not by default.", "Yes!\n\nCorrect."])
def test_a_verdict_alone_is_kept_for_the_next_sentence(verdict: str) -> None:
    (found,) = split(f"{verdict} The arm needs one [1].")
    assert found.text == f"{' '.join(verdict.split())} The arm needs one.".replace("**", "")
    assert found.claim == Claim("The arm needs one.", "", QUESTION)


@pytest.mark.parametrize(
    ("drafted", "words"),
    [
        ("Yes, the arm needs one.", "the arm needs one."),
        ("No: it has none.", "it has none."),
        ("Yes — the arm does.", "the arm does."),
        ("Yes—the arm does.", "the arm does."),
        ("No - the arm holds.", "the arm holds."),
    ],
)
def test_a_claim_after_a_verdict_knows_the_question(drafted: str, words: str) -> None:
    assert list_claims(drafted) == [Claim(words, "", QUESTION)]


@pytest.mark.parametrize("after", ["", "\n\n- Press stop", "\n\n```\na\n```", "\n\n# Why", "\n\n| A |\n|--|\n| b |"])
def test_a_verdict_that_no_sentence_follows_only_introduces_the_rest(after: str) -> None:
    first, *others = split(f"Yes [1].{after}")
    assert (first.text, first.passages, first.claim) == ("Yes.", (1,), None)
    assert not any("Yes" in each.text for each in others)


def test_a_verdict_with_words_of_its_own_is_checked() -> None:
    assert [claim.words for claim in list_claims("No, disabled. The arm holds.") if claim] == [
        "disabled.",
        "The arm holds.",
    ]


def test_a_word_for_something_before_gets_the_sentence_before_as_context() -> None:
    drafted = "The arm has a brake. It holds. The motor turns. However, this stops it."
    assert list_claims(drafted) == [
        Claim("The arm has a brake."),
        Claim("It holds.", "The arm has a brake."),
        Claim("The motor turns."),
        Claim("However, this stops it.", "The motor turns."),
    ]


def test_an_item_has_its_introduction_as_context() -> None:
    drafted = "The arm has these parts:\n\n- a brake\n- a motor\n\nThe end."
    assert list_claims(drafted) == [
        Claim("The arm has these parts:"),
        Claim("a brake", "The arm has these parts:"),
        Claim("a motor", "The arm has these parts:"),
        Claim("The end."),
    ]


@pytest.mark.parametrize("introduction", ["Follow these steps:", "Here is an example:", "To brake the arm, do this:"])
def test_an_introduction_in_the_words_of_the_question_claims_nothing(introduction: str) -> None:
    assert list_claims(f"{introduction}\n\n1. Stop.")[0] is None


@pytest.mark.parametrize(
    "remark",
    [
        "Let me know if you need more.",
        "I hope this helps!",
        "Sure!",
        "If you have other questions, ask.",
        "Great question.",
    ],
)
def test_a_remark_to_the_reader_is_left_out(remark: str) -> None:
    assert [each.text for each in split(f"{remark}\n\nThe arm is safe.\n\n{remark}")] == ["The arm is safe."]


@pytest.mark.parametrize(
    "text",
    ["If you need more memory, add some.", "Feel free to change it.", "Would you like to quit, asks the arm [1]."],
)
def test_advice_is_not_a_remark(text: str) -> None:
    assert len(split(text)) == 1


# The stream


PIECES = st.sampled_from(
    [
        *(
            "The arm is safe.",
            "Yes.",
            "No, never.",
            "It holds",
            "e.g.",
            "etc.",
            "C.",
            "The",
            "A",
            "is",
            "on",
            "x_y",
            "(see",
            "a)",
        ),
        *(
            "(",
            ")",
            "[1]",
            "[2].",
            ".[3]",
            "!",
            "? ",
            ". ",
            ": ",
            "1.",
            "2) ",
            "- ",
            "* ",
            "> ",
            "# ",
            "**",
            "`",
            "```",
            "~~~",
        ),
        *(
            "\n",
            "\n\n",
            " ",
            "  ",
            "|",
            "| a | b |\n",
            "|--|--|\n",
            "---",
            "\\(x\\)",
            "$x$",
            "[a](b)",
            "🚀",
            "。",
            "Wait. 3. Go.",
        ),
        *("MISSING: ", "NO ANSWER", "According to the book, ", "\t", "\r\n", "\u2028", "¹"),
    ]
)


@given(st.data(), st.lists(PIECES, max_size=30).map("".join))
@example(None, "The arm is (e.g. it moves. Then it stops) safe. Next.")
@example(None, "It is written in C. The compiler reads it. Wait for it. 3. Press stop.\nThen go.")
@example(None, "The arm is safe. [1](http://a.b) It holds. **Bold** words.")
def test_a_draft_is_split_the_same_however_it_is_cut(data: st.DataObject | None, text: str) -> None:
    expected = split(text)
    for pieces in [list(text), *([data.draw(cut(text))] if data else [])]:
        splitter, found = MarkdownSplitter(QUESTION), []
        for piece in pieces:
            found += splitter.feed(piece)
        assert [*found, *splitter.end()] == expected


@pytest.mark.parametrize(
    ("before", "next_words"),
    [
        ("The arm is safe [1].", " It holds"),
        ("The arm is safe. [1]", " It holds"),
        ("- The arm is safe", "\n- It holds\n"),
        ("# Arms", "\n"),
        ("| a |", "\n"),
        ("```\na\n```", "\n"),
        ("The arm is safe\n", "\n"),
    ],
)
def test_a_part_is_complete_with_the_first_words_after_it(before: str, next_words: str) -> None:
    splitter = MarkdownSplitter(QUESTION)
    assert splitter.feed(before) == []
    assert len(splitter.feed(f"{next_words} ")) == 1


# Hostile drafts


@pytest.mark.parametrize(
    "letters",
    [
        "x",
        "x ",
        "x. ",
        "X. ",
        "a\n",
        "# a  ",
        "- ",
        "(",
        "[1] ",
        "**x",
        "`x",
        "|x",
        "\\(",
        "$x",
        "_ ",
        "the book no ",
        "[x](",
    ],
)
def test_a_draft_may_be_very_long(letters: str) -> None:
    splitter = MarkdownSplitter(QUESTION)
    text = letters * (16_000 // len(letters))
    found = [each for at in range(0, len(text), 40) for each in splitter.feed(text[at : at + 40])]
    found += [*splitter.feed("\n\nThe arm is safe.\n\n"), *splitter.end()]
    assert sum(len(each.text) for each in found) <= len(text) + 100
    assert "The arm is safe." in found[-1].text


def list_patterns() -> list[tuple[str, int]]:
    modules: list[ModuleType] = [
        *(citation_marks, draft_sentences, formulas, inline_markup, language_model_writer, reply_reader),
    ]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, re.Pattern)]
    forms = LANGUAGE.models
    texts = (forms.verdict, forms.needs_previous, forms.attribution, forms.denial, forms.remark)
    return [*((pattern.pattern, pattern.flags & ~re.U) for pattern in found), *((text, int(re.I)) for text in texts)]


@pytest.mark.parametrize(("pattern", "flags"), list_patterns())
def test_no_pattern_repeats_a_repetition_without_a_limit(pattern: str, flags: int) -> None:
    """Such a pattern tries the same letters again and again: `(x+)+`, and `x+y+` where both fit the same letters."""
    check_repetitions(list(parser.parse(pattern, flags)))


def check_repetitions(items: list[tuple[Any, Any]], *, is_inside: bool = False) -> None:
    for kind, arguments in items:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            is_unbounded, inner = arguments[1] is constants.MAXREPEAT, list(arguments[2])
            is_group = len(inner) > 1 or inner[0][0] is constants.SUBPATTERN
            assert not (is_inside and is_unbounded and is_group), inner
            check_repetitions(inner, is_inside=is_inside or (is_unbounded and is_group))
        elif kind is constants.SUBPATTERN:
            check_repetitions(list(arguments[3]), is_inside=is_inside)
        elif kind is constants.BRANCH:
            for branch in arguments[1]:
                check_repetitions(list(branch), is_inside=is_inside)
