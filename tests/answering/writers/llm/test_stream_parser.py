from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.answering.writers.llm.stream_parser import (
    MAX_DRAFT_SENTENCE_CHARACTERS,
    MAX_DRAFT_SENTENCES,
    MAX_REPLY_CHARACTERS,
    DraftSentence,
    MalformedReplyError,
    StreamParser,
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['"', "\\", '\\"', "}]", "{", "```", "\n", "é 🤖", ',"passages":[1]}', "\u2028"]
)
sentence = st.fixed_dictionaries({"text": words, "passages": st.lists(st.integers(-3, 40), max_size=4)})
others = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
replies = st.builds(
    lambda sentences, missing, more, order: {
        key: {"sentences": sentences, "missing": missing, "more": more}[key] for key in order
    },
    st.lists(sentence, max_size=4),
    words,
    others,
    st.permutations(["sentences", "missing", "more"]),
)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """A text in random pieces."""
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def written(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A reply and its JSON, with random white space, escapes and code fences."""
    reply = draw(replies)
    text = json.dumps(reply, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])))
    if draw(st.booleans()):
        text = f"```{draw(st.sampled_from(['json', '', 'JSON']))}\n{text}\n```"
    return reply, draw(st.sampled_from(["", " ", "\n\t"])) + text + draw(st.sampled_from(["", "\n", "  "]))


def whole(text: str) -> list[DraftSentence]:
    """Parses a complete reply."""
    incoming = StreamParser()
    sentences = incoming.feed(text)
    incoming.end()
    return sentences


def expected(reply: dict[str, Any]) -> list[DraftSentence]:
    return [DraftSentence(each["text"], tuple(each["passages"])) for each in reply["sentences"]]


@given(st.data())
def test_a_reply_is_parsed_the_same_however_it_is_cut(data: st.DataObject) -> None:
    reply, text = data.draw(written())
    incoming, found = StreamParser(), []
    for piece in data.draw(cut(text)):
        found += incoming.feed(piece)
    incoming.end()
    assert found == expected(reply)
    assert incoming.missing == (reply["missing"].strip() if reply["missing"].strip(" .-") else "")


@given(written())
def test_a_sentence_is_complete_with_its_closing_character(made: tuple[dict[str, Any], str]) -> None:
    reply, text = made
    incoming = StreamParser()
    for at, letter in enumerate(text):
        for drafted in incoming.feed(letter):
            assert letter == "}"
            body = text[: at + 1]
            assert body.count("{") >= 2
            assert drafted in expected(reply)


@given(st.data())
def test_a_truncated_reply_is_never_complete(data: st.DataObject) -> None:
    reply, text = data.draw(written())
    text = text.rstrip()
    broken = text[: data.draw(st.integers(0, len(text) - 1))]
    incoming, found = StreamParser(), []
    for piece in data.draw(cut(broken)):
        found += incoming.feed(piece)
    assert found == expected(reply)[: len(found)]
    with pytest.raises(MalformedReplyError):
        incoming.end()


@given(st.text(max_size=60))
def test_anything_but_the_expected_object_is_malformed(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not (isinstance(value, dict) and "sentences" in value):
        with pytest.raises(MalformedReplyError):
            whole(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "null",
        "[]",
        "{}",
        '"sentences"',
        '{"missing": ""}',
        '{"sentences": null, "missing": ""}',
        '{"sentences": {}, "missing": ""}',
        '{"sentences": ["A."], "missing": ""}',
        '{"sentences": [{"text": "A."}], "missing": ""}',
        '{"sentences": [{"text": null, "passages": [1]}], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": 1}], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": ["1"]}], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": [1.0]}], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": [true]}], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": [1]},], "missing": ""}',
        '{"sentences": [{"text": "A.", "passages": [1]}] "missing": ""}',
        '{"sentences": [], "missing": 3}',
        '{"sentences": [], "missing": ""}}',
        '{"sentences": [], "missing": ""} Here you are.',
        'Here you are: {"sentences": [], "missing": ""}',
        "{'sentences': [], 'missing': ''}",
        '{"sentences": [], "sentences": [], "missing": ""}',
        '{"sentences": [], "missing": "",}',
        '```json\n{"sentences": [], "missing": ""}',
        '```json\n{"sentences": [], "missing": ""}\n``` There.',
        '{"sentences": [], "missing": ""}\n```',
        '```\n```json\n{"sentences": [], "missing": ""}\n```\n```',
        '{"sentences": [], "missing": "a\nb"}',
        '{"sentences": [], "more": ' + "[" * 20000 + "]" * 4,
        '{"sentences": [{"text": "A.", "passages": [' + "9" * 5000 + ']}], "missing": ""}',
    ],
)
def test_nothing_is_repaired(text: str) -> None:
    with pytest.raises(MalformedReplyError):
        whole(text)


def test_sentences_before_an_error_are_yielded() -> None:
    incoming = StreamParser()
    assert incoming.feed('{"sentences": [{"text": "A.", "passages": [1]}, {"text": "B') == [DraftSentence("A.", (1,))]


def test_unknown_keys_are_ignored() -> None:
    text = (
        '{"thought": [1, {"a": 2.5e3}], "sentences": [{"passages": [2], "sure": true, "text": "A."}], "missing": null}'
    )
    assert whole(text) == [DraftSentence("A.", (2,))]


@pytest.mark.parametrize("nothing", ["", " ", "None", "none.", "Nothing.", "N/A", "null", "-", "..."])
def test_words_for_nothing_are_not_a_missing_part(nothing: str) -> None:
    incoming = StreamParser()
    incoming.feed(json.dumps({"sentences": [], "missing": nothing}))
    assert incoming.missing == ""
    incoming = StreamParser()
    incoming.feed(json.dumps({"sentences": [], "missing": " None of the costs. "}))
    assert incoming.missing == "None of the costs."


def test_a_sentence_has_a_thousand_characters_at_most() -> None:
    longest = {"text": "a" * MAX_DRAFT_SENTENCE_CHARACTERS, "passages": [1]}
    assert len(whole(json.dumps({"sentences": [longest], "missing": ""}))) == 1
    longer = {"text": "a" * (MAX_DRAFT_SENTENCE_CHARACTERS + 1), "passages": [1]}
    with pytest.raises(MalformedReplyError):
        whole(json.dumps({"sentences": [longer], "missing": ""}))


def test_a_reply_with_too_many_sentences_is_malformed() -> None:
    short = {"text": "A.", "passages": [1]}
    assert len(whole(json.dumps({"sentences": [short] * MAX_DRAFT_SENTENCES, "missing": ""}))) == MAX_DRAFT_SENTENCES
    with pytest.raises(MalformedReplyError):
        whole(json.dumps({"sentences": [short] * (MAX_DRAFT_SENTENCES + 1), "missing": ""}))


def test_a_reply_that_is_too_long_is_malformed() -> None:
    incoming = StreamParser()
    incoming.feed('{"sentences": [{"text": "')
    with pytest.raises(MalformedReplyError):
        incoming.feed("a" * MAX_REPLY_CHARACTERS)


def test_the_error_does_not_contain_the_reply() -> None:
    with pytest.raises(MalformedReplyError) as caught:
        whole('{"sentences": ["SECRET"], "missing": ""}')
    assert "SECRET" not in str(caught.value)
