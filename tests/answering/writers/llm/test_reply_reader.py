"""Whatever a language model writes is read: Markdown, JSON in many forms, thoughts, and refusals in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.answering.writers.llm.conftest import cut

from bookbound.answering.writers.llm import reply_reader
from bookbound.answering.writers.llm.draft_sentences import DraftSentence
from bookbound.answering.writers.llm.reply_reader import (
    MAX_DRAFT_SENTENCES,
    MAX_REPLY_CHARACTERS,
    ReplyReader,
    skip_thoughts,
    strip_thoughts,
)

SAFE, HOLDS = "The arm is safe.", "The brake holds."


def read(*pieces: str) -> tuple[list[DraftSentence], bool]:
    """Returns the sentences of a reply, and whether the model says that something is missing."""
    reader = ReplyReader("Is the arm safe?", "The arm is safe when the brake holds.")
    found = [sentence for piece in pieces for sentence in reader.feed(piece)]
    return [*found, *reader.end()], reader.is_missing_part


def list_texts(*pieces: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(each.text, each.passages) for each in read(*pieces)[0]]


def as_json(*sentences: tuple[str, Any], missing: Any = "") -> str:
    return json.dumps(
        {"sentences": [{"text": text, "passages": passages} for text, passages in sentences], "missing": missing}
    )


# Forms

ANSWER = json.dumps({"answer": "The arm is safe [1]. The brake holds [2].", "missing": ""})
SENTENCES = as_json((SAFE, [1]), (HOLDS, [2]))


@pytest.mark.parametrize(
    "reply",
    [
        "The arm is safe [1]. The brake holds [2].",
        "The arm is safe.[1] The brake holds.[2]\n",
        "The arm is safe [passage 1].\n\nThe brake holds (see passage 2).",
        ANSWER,
        json.dumps(json.loads(ANSWER), indent=2),
        f"```json\n{ANSWER}\n```",
        f"```\n{SENTENCES}\n```",
        f"{ANSWER}\n\nI hope this helps!",
        f"{SENTENCES} There you are.",
        f"```json\n{ANSWER}\n``` There.",
        f"Here is the answer: {ANSWER}",
        f"Sure! Here it is:\n\n```json\n{SENTENCES}\n```\nLet me know.",
        f"<think>The arm? [3]\n\nThe brake.</think>\n\n{ANSWER}",
        "<think>A.</think><thinking>B.</thinking>The arm is safe [1]. The brake holds [2].",
        SENTENCES,
        as_json((SAFE, ["1"]), (HOLDS, "passage 2")),
        as_json((SAFE, [1.0, 0]), (HOLDS, 2)).replace("1.0", "1"),
        json.dumps({"missing": "", "answer": "The arm is safe [1]. The brake holds [2]."}),
        json.dumps(
            {"thought": [{"a": 2.5e3}], "answer": [{"text": SAFE, "citations": [1]}, {"text": HOLDS, "sources": [2]}]}
        ),
        json.dumps([{"text": SAFE, "passages": [1]}, {"content": HOLDS, "passages": [2]}]),
        json.dumps({"answer": {"sentences": [{"sentence": SAFE, "passages": [1]}, {"text": HOLDS, "passages": [2]}]}}),
        "```markdown\nThe arm is safe [1]. The brake holds [2].\n```",
    ],
)
def test_a_reply_is_read_in_every_form(reply: str) -> None:
    found, is_missing = read(reply)
    assert [(each.text, [number for number in each.passages if number]) for each in found] == [
        (SAFE, [1]),
        (HOLDS, [2]),
    ]
    assert not is_missing
    assert read(*reply) == (found, is_missing)


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "The arm is safe [1].',
        '{"answer": "The arm is safe [1].", "mis',
        '{"answer": "The arm is safe [1].", "missing": "',
        '{"sentences": [{"text": "The arm is safe.", "passages": [1]}',
        '{"sentences": [{"text": "The arm is safe.", "passages": [1]}]',
        '```json\n{"answer": "The arm is safe [1].", "missing": ""}',
        '{"answer": "The arm is safe [1].\\u00',
    ],
)
def test_a_reply_that_is_cut_off_keeps_what_is_complete(reply: str) -> None:
    (found, *_) = read(reply)[0]
    assert found.text.startswith("The arm is safe")


def test_a_sentence_that_is_cut_off_may_mean_something_else_and_is_left_out() -> None:
    assert list_texts('{"answer": "The arm is safe [1]. The brake holds unless') == [(SAFE, (1,))]
    assert list_texts('{"answer": "The arm is safe [1]. The brake holds.') == [(SAFE, (1,)), (HOLDS, ())]
    assert list_texts('{"answer": "The arm is safe [1]. The brake holds", "missing": ""}')[1] == ("The brake holds", ())


def test_prose_without_numbers_is_an_answer_that_names_no_passage() -> None:
    assert list_texts(f"{SAFE} {HOLDS}") == [(SAFE, ()), (HOLDS, ())]


def test_a_preamble_claims_nothing() -> None:
    found, _ = read(f"Here is the answer:\n\n{SAFE}")
    assert [(each.text, each.claim is None) for each in found] == [("Here is the answer:", True), (SAFE, False)]


@pytest.mark.parametrize("nothing", ["", "   ", "\n", "{}", "[]", "...", "```\n```", "{ ", "<"])
def test_a_reply_without_words_is_no_answer_and_no_refusal(nothing: str) -> None:
    assert read(nothing) == ([], False)


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        ('```json\n{"timeout": 3}\n```', "code"),
        ('Use this:\n\n```json\n{"answer": 3}\n```', "code"),
        ("```python\nprint(1)\n```", "code"),
        ('Send the body {"response": "ok"} to the arm.', "sentence"),
        ('The arm is safe. It then sends this: {"answer": "x"}', "sentence"),
        ('The JSON is {"a": 1} and no more.', "sentence"),
        ('["x", "y"]', "sentence"),
        ("{x} is a name.", "sentence"),
    ],
)
def test_json_that_is_an_example_stays_a_part_of_the_answer(reply: str, form: str) -> None:
    found, is_missing = read(reply)
    assert (found[-1].form.kind, is_missing) == (form, False)
    assert found[-1].text in reply
    assert form == "code" or " ".join(each.text for each in found) == reply


def test_formulas_in_json_need_no_double_backslash() -> None:
    (found,) = read('{"answer": "The arm turns by \\(\\alpha\\) [1].", "missing": ""}')[0]
    assert found.text == "The arm turns by α."
    assert read('{"answer": "", "missing": "the \\(x\\)"}')[1]


def test_line_breaks_in_json_need_no_escape() -> None:
    assert list_texts('{"answer": "- The arm is safe\n- The brake holds", "missing": ""}') == [
        ("The arm is safe", ()),
        ("The brake holds", ()),
    ]


# Thoughts


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "thought", "THINK"])
def test_thoughts_are_skipped(tag: str) -> None:
    reply = f"\n<{tag}>The brake fails. [2]\n\nNO ANSWER</{tag}>\n{SAFE}"
    assert list_texts(reply) == list_texts(*reply) == [(SAFE, ())]


@pytest.mark.parametrize(
    "reply", ["<think>The arm is safe.", "<think>", "<think>A.</think>\n<think>B. C is d.", "<think>A.</thi"]
)
def test_an_unfinished_thought_is_no_answer(reply: str) -> None:
    assert read(reply) == read(*reply) == ([], False)
    assert strip_thoughts(reply) == ""


@pytest.mark.parametrize("piece", [1, 9, 1000])
def test_what_is_before_the_end_of_a_thought_without_a_beginning_is_no_answer(piece: int) -> None:
    reply = f"The brake fails. It falls.\n\nNO ANSWER\n</think>\n\n{SAFE} {HOLDS}"
    reader, found = ReplyReader("Is the arm safe?", "The arm is safe when the brake holds."), list[DraftSentence]()
    for at in range(0, len(reply), piece):
        new = reader.feed(reply[at : at + piece])
        found, reader.has_restarted = (new if reader.has_restarted else [*found, *new]), False
    assert [each.text for each in [*found, *reader.end()]] == [SAFE, HOLDS]
    assert not reader.is_missing_part
    assert strip_thoughts(reply) == f"{SAFE} {HOLDS}"


def test_a_tag_within_a_line_is_not_the_end_of_a_thought() -> None:
    reply = f"The model ends its thought with `</think>`. {SAFE}"
    assert list_texts(*reply) == list_texts(reply) == [("The model ends its thought with `</think>`.", ()), (SAFE, ())]


def test_thoughts_may_be_longer_than_any_reply() -> None:
    thought = "The arm falls. " * (MAX_REPLY_CHARACTERS // 8)
    pieces = [thought[at : at + 1000] for at in range(0, len(thought), 1000)]
    assert list_texts("<think>", *pieces, "</think>", SAFE) == [(SAFE, ())]
    assert len(skip_thoughts(f"<think>{thought}")) < 100


# Refusals and missing parts


@pytest.mark.parametrize(
    "reply",
    [
        "NO ANSWER",
        "NO ANSWER.",
        "No answer.",
        "**NO ANSWER**",
        "## NO ANSWER",
        "- NO ANSWER",
        "NO ANSWER: the passages are about arms. They fly.",
        "MISSING: what it costs.",
        "The passages do not mention the arm.",
        "The provided passages don't contain information about its cost.",
        "Unfortunately, the book does not say what it costs.",
        "None of the passages mention the arm.",
        "The weight of the arm is not specified in the passages.",
        "The question cannot be answered from the passages.",
        "There is no information about the arm in the passages.",
        "This information is not available.",
        "It is not possible to answer this from the passages.",
        "Based on the passages, I cannot say what it costs.",
        "I'm sorry, but I can't help with that.",
        "I am unable to find it.",
        "Sorry, the book does not cover this.",
        '{"answer": "", "missing": "The passages do not say it."}',
        '{"answer": "", "missing": ""}',
        '{"answer": "NO ANSWER", "missing": ""}',
        '{"answer": null}',
        '{"missing": "all of it"}',
        '{"sentences": [], "missing": "It."}',
        "<think>Hm.</think>NO ANSWER",
    ],
)
def test_a_refusal_in_words_is_no_sentence(reply: str) -> None:
    assert read(reply) == ([], True)
    assert read(*reply) == ([], True)


@pytest.mark.parametrize(
    "text",
    [
        "No backlash occurs in the arm.",
        "If the book does not say so, ask.",
        "If the source does not provide a name, the arm has none.",
        "The text field does not contain a name.",
        "The document does not include a header.",
        "This information is not shown on the display.",
        "The brake is not covered in dust.",
        "No answer arrives before the timeout.",
        "The answer is 42.",
    ],
)
def test_a_sentence_about_the_subject_is_no_refusal(text: str) -> None:
    assert [each.text for each in read(text)[0]] == [text]
    assert not read(text)[1]


@pytest.mark.parametrize(
    "text",
    [
        "The passages of the cooling water do not contain information that the sensor could read [1].",
        "There is no answer before the timeout [1].",
        "No answer [1].",
        "Missing: two bolts of the arm [1].",
        "- Missing: two bolts [2]",
    ],
)
def test_a_sentence_that_names_a_passage_is_no_refusal(text: str) -> None:
    found, is_missing = read(text, f"\n\n{SAFE}")
    assert ([each.text for each in found][1:], len(found[0].passages), is_missing) == ([SAFE], 1, False)


@pytest.mark.parametrize("missing", ["its cost", " None of the costs. ", "Nothing about it"])
def test_a_missing_part_is_told(missing: str) -> None:
    for reply in (f"{SAFE}\nMISSING: {missing}", f"{SAFE} MISSING: {missing}", as_json((SAFE, [1]), missing=missing)):
        found, is_missing = read(reply)
        assert ([each.text for each in found], is_missing) == ([SAFE], True)


@pytest.mark.parametrize(
    "nothing", ["", " ", "None", "none.", "Nothing.", "N/A", "null", "-", "...", "No additional information is given."]
)
def test_words_for_nothing_are_not_a_missing_part(nothing: str) -> None:
    for reply in (
        f"{SAFE}\nMISSING: {nothing}",
        as_json((SAFE, [1]), missing=nothing),
        as_json((SAFE, [1]), missing=None),
    ):
        found, is_missing = read(reply)
        assert ([each.text for each in found], is_missing) == ([SAFE], False)


def test_nothing_is_read_after_a_statement_that_there_is_no_answer() -> None:
    assert read(f"NO ANSWER\n\nHowever, {SAFE}") == ([], True)


def test_a_sentence_that_something_is_not_in_the_book_leaves_the_others() -> None:
    found, is_missing = read(f"{SAFE} The passages do not mention its cost. {HOLDS}")
    assert ([each.text for each in found], is_missing) == ([SAFE, HOLDS], True)


# The stream


@pytest.mark.parametrize("begin", ["The arm is safe [1]. The", '{"answer": "The arm is safe [1]. The'])
def test_a_sentence_is_returned_while_the_reply_still_streams(begin: str) -> None:
    reader = ReplyReader("Is the arm safe?", "")
    found = [each for letter in f"{begin} " for each in reader.feed(letter)]
    assert [(each.text, each.passages) for each in found] == [(SAFE, (1,))]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        '"',
        "\\",
        '\\"',
        "}]",
        "{",
        "```",
        "\n",
        "é 🤖",
        ',"passages":[1]}',
        "\u2028",
        "[1]",
        "The arm. It is so.",
        "\\alpha",
    ]
)
texts = st.lists(words | st.sampled_from([SAFE, HOLDS, "NO ANSWER", "- A\n"]), max_size=6).map(" ".join)
replies = (
    st.builds(lambda answer, missing: {"answer": answer, "missing": missing}, texts, words)
    | st.builds(
        lambda found, missing: {"missing": missing, "sentences": found},
        st.lists(
            st.fixed_dictionaries({"text": texts, "passages": st.lists(st.integers(-3, 40), max_size=4)}), max_size=4
        ),
        words,
    )
    | texts
)


@st.composite
def written(draw: st.DrawFn) -> str:
    """A reply in Markdown or JSON, with random escapes, thoughts, fences and words around it."""
    reply = draw(replies)
    text = (
        reply
        if isinstance(reply, str)
        else json.dumps(reply, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 2])))
    )
    text = f"```json\n{text}\n```" if draw(st.booleans()) else text
    before = draw(st.sampled_from(["", " ", "\n\t", "<think>a</think>", "Here: ", "Sure!\n\n", "<"]))
    text = f"{before}{text}{draw(st.sampled_from(['', ' There.', '}']))}"
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@given(st.data())
def test_a_reply_is_read_the_same_however_it_is_cut(data: st.DataObject) -> None:
    text = data.draw(written())
    assert read(*data.draw(cut(text))) == read(text)


@given(st.text(max_size=80) | st.text('{}[]":,\\ntextanswer`<think>/ .1', max_size=80))
@example('{"sentences": [], "more": ' + "[" * 20000 + "]" * 4)
@example('{"sentences": [{"text": "A.", "passages": [' + "9" * 5000 + ']}], "missing": ""}')
@example('{"answer": "\\ud800 \\udfff [1]", "missing": 3}')
@example('{"sentences": {"text": 3}, "answer": [null, [[1]]]}')
@example('{"sentences": "A."}')
def test_no_reply_is_an_error(text: str) -> None:
    found, is_missing = read(text)
    assert all(any(map(str.isalnum, each.text)) for each in found)
    assert read(*text) == (found, is_missing)


NUMBERED = " ".join(f"The arm number {at} {'really ' * 100}holds." for at in range(100))


@pytest.mark.parametrize("before", ["", '{"answer": "', '{"sentences": [{"text": "'])
def test_at_the_longest_reply_half_a_sentence_is_left_out_and_the_rest_is_missing(before: str) -> None:
    assert len(NUMBERED) > MAX_REPLY_CHARACTERS
    pieces = [before, *(NUMBERED[at : at + 500] for at in range(0, len(NUMBERED), 500))]
    found, is_missing = read(*pieces)
    assert all(each.text.endswith("holds.") for each in found)
    assert len(found) == NUMBERED[: MAX_REPLY_CHARACTERS - len(before)].count("holds.")
    assert is_missing


def test_more_sentences_than_the_limit_are_missing() -> None:
    sentences = [f"The arm number {at} holds." for at in range(MAX_DRAFT_SENTENCES + 1)]
    assert len(read(" ".join(sentences))[0]) == MAX_DRAFT_SENTENCES
    assert [read(" ".join(sentences[at:]))[1] for at in (0, 1)] == [True, False]


def test_every_letter_of_an_answer_in_json_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def count(text: str) -> str:
        decoded.append(text)
        return escape(text)

    escape = reply_reader._escape_backslashes
    monkeypatch.setattr(reply_reader, "_escape_backslashes", count)
    reader = ReplyReader("Is the arm safe?", "")
    text = f'{{"answer": "{NUMBERED}"'[: 2 * MAX_REPLY_CHARACTERS]
    for letter in text:
        reader.feed(letter)
    assert sum(map(len, decoded)) <= MAX_REPLY_CHARACTERS


@pytest.mark.parametrize(
    "answer",
    ["a \U0001f916 é", "\ud83d\ud83d\ude00 b", "\\u0041 \\\\u00e9", '\\upsilon "b"', "\\", "\ud800 c"],
    ids=["pair", "half before a pair", "no escape", "formula", "backslash", "half"],
)
def test_an_escape_in_pieces_is_decoded_as_a_whole(answer: str) -> None:
    reply = json.dumps({"answer": f"It is {answer} so."})
    assert list_texts(*reply) == list_texts(reply)
    if not any("\ud800" <= letter <= "\udfff" for letter in answer):
        assert json.loads(reply)["answer"].replace("\n", " ") == f"It is {answer} so."


def test_an_answer_that_is_cut_off_at_a_backslash_is_cut_off() -> None:
    assert list_texts('{"answer": "The arm is safe [1]. The brake holds unless\\') == [(SAFE, (1,))]


@pytest.mark.parametrize("beginning", ['{"sentences": [{"text": "', "```json\n", 'x\n{"a": '])
def test_the_form_of_a_long_reply_is_looked_for_in_its_beginning_alone(
    monkeypatch: pytest.MonkeyPatch, beginning: str
) -> None:
    examined: list[int] = []

    def count(text: str) -> str:
        examined.append(len(text))
        return skip_thoughts(text)

    monkeypatch.setattr(reply_reader, "skip_thoughts", count)
    reader = ReplyReader("Is the arm safe?", "")
    for at in range(0, len(NUMBERED), 100):
        reader.feed(beginning + NUMBERED[:100] if not at else NUMBERED[at : at + 100])
    assert max(examined) < 4200
    assert len(examined) < 45


@pytest.mark.parametrize("beginning", ["", '{"a": ', 'I write this:\n{"answer": '])
def test_a_long_thought_without_a_beginning_ends_before_the_answer(beginning: str) -> None:
    reader = ReplyReader("Is the arm safe?", "The arm is safe when the brake holds.")
    thought = f"{beginning}{NUMBERED}\n</think>\n"
    found = [reader.feed(thought[at : at + 7]) for at in range(0, len(thought), 7)]
    assert reader.has_restarted
    assert [each.text for each in [*reader.feed(f"{SAFE} {HOLDS}"), *reader.end()]] == [SAFE, HOLDS]
    assert (sum(map(len, found)) <= MAX_DRAFT_SENTENCES, reader.is_missing_part) == (True, False)


@pytest.mark.parametrize(
    ("letters", "shown"),
    [
        *((letters, 1) for letters in ("x", "x ", "a\n", "x: {\n", "。x")),
        *((letters, 0) for letters in ("\n", "{", '{"', "`", "<think>", '{"answer": "', "\\", "。", "`` `")),
    ],
)
def test_a_reply_may_be_very_long(letters: str, shown: int) -> None:
    text = letters * (MAX_REPLY_CHARACTERS // len(letters))
    found, _ = read(*(text[at : at + 200] for at in range(0, len(text), 200)))
    assert (len(found) > 0) == shown
    assert sum(len(each.text) for each in found) <= MAX_REPLY_CHARACTERS
