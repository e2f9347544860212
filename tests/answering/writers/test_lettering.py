from __future__ import annotations

import unicodedata

import pytest

from bookbound.answering.writers.unicode_guard import UnicodeGuard

BOOK = UnicodeGuard("The arm is not safe at 90 °C, says Poincaré: use List<int>, a[0] → b, 5 µm, m² and [docs](/a).")


@pytest.mark.parametrize("word", ["ｎｏｔ", "𝐧𝐨𝐭", "𝓷𝓸𝓽", "nót", "no\u0301t", "n\u0336o\u0336t\u0336", "𝚗𝚘𝚝"])
def test_a_word_that_looks_like_a_plain_one_is_read_as_it(word: str) -> None:
    plain = BOOK.plain(f"The arm is {word} safe.")
    assert plain == "The arm is not safe."
    assert not BOOK.strange(plain)


@pytest.mark.parametrize(
    "word", ["nоt", "nοt", "ɴᴏᴛ", "ⁿᵒᵗ", "Ⓝⓞⓣ", "🄽🄾🅃", "Ꮑot", "isnʼt", "néver", "νоτ", "nօt", "n٥t"]
)
def test_a_word_in_letters_that_the_passages_have_not_is_strange(word: str) -> None:
    text = f"The arm is {word} safe."
    assert BOOK.plain(text) == text
    assert BOOK.strange(text)


@pytest.mark.parametrize(
    "text",
    [
        "Poincaré says so.",
        "It is 90 °C, or 45 °C.",
        "The angle π is a Δ.",
        "It is 5 μm wide.",
        "It’s “safe” – or isn’t it…",
        "It has 3 m².",
        "From a → b.",
    ],
)
def test_letters_and_signs_of_the_passages_and_of_any_text_are_not_strange(text: str) -> None:
    assert BOOK.plain(text) == text
    assert not BOOK.strange(text)


def test_an_accent_apart_from_its_letter_is_put_on_it() -> None:
    assert BOOK.plain(unicodedata.normalize("NFD", "POINCARÉ says so.")) == "POINCARÉ says so."


def test_a_word_of_mixed_letters_is_not_strange_where_the_passages_have_it() -> None:
    assert not UnicodeGuard("Der Δt-Schritt ist die Größe.").strange("Die Größe ist Δt.")
    assert UnicodeGuard("Die Straße. Она").strange("Nоt")


def test_signs_that_mean_the_same_are_made_plain_and_powers_are_not() -> None:
    assert BOOK.plain("（５\u00a0%） −3, x³") == "(5\u00a0%) -3, x³"
    assert BOOK.strange("x³")


@pytest.mark.parametrize(
    "text",
    [
        "The arm is <s>not</s> safe.",
        "The arm is <!-- not --> safe.",
        "The arm is safe <img src=x onerror=alert(1)",
        "The arm is n&#111;t safe.",
        "The arm is safe&nbsp;here.",
        "The arm is [safe](https://a.example).",
        "The arm is ![safe](/b.png) here.",
        "The arm is [as the author says] safe.",
        "The arm is ~~not~~ safe.",
        "The arm is ~not~ safe.",
        "The arm is n**o**t safe.",
        "The arm is \\neg safe.",
        "The arm isn′t safe.",
        "The arm isn‘t safe.",
        "The arm isn`t safe.",
        "See https://a.example/b for more.",
        "The arm is safe ✅",
        "The arm is safe ❌.",
        "The arm ≠ safe.",
        "The arm is ½ safe.",
        "The arm is \ue000 safe.",
    ],
)
def test_markup_and_signs_that_the_passages_have_not_are_strange(text: str) -> None:
    assert BOOK.strange(text)


@pytest.mark.parametrize(
    "text", ["Use List<int> here.", "The value is a[0].", "See [docs](/a).", "It takes ~5 to ~10 s."]
)
def test_what_the_passages_have_is_no_markup(text: str) -> None:
    assert not BOOK.strange(text)
