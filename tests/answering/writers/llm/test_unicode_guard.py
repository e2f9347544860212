from __future__ import annotations

import unicodedata

import pytest

from bookbound.answering.writers.llm.unicode_guard import UnicodeGuard, strip_invisible

BOOK = UnicodeGuard("The arm is not safe at 90 °C, says Poincaré: use List<int>, a[0] → b, 5 µm, m² and [docs](/a).")


@pytest.mark.parametrize("word", ["ｎｏｔ", "𝐧𝐨𝐭", "𝓷𝓸𝓽", "nót", "no\u0301t", "n\u0336o\u0336t\u0336", "𝚗𝚘𝚝"])
def test_a_lookalike_word_is_simplified(word: str) -> None:
    plain = BOOK.simplify(f"The arm is {word} safe.")
    assert plain == "The arm is not safe."
    assert not BOOK.is_foreign(plain)


@pytest.mark.parametrize(
    "word", ["nоt", "nοt", "ɴᴏᴛ", "ⁿᵒᵗ", "Ⓝⓞⓣ", "🄽🄾🅃", "Ꮑot", "isnʼt", "néver", "νоτ", "nօt", "n٥t"]
)
def test_a_word_in_letters_that_the_passages_lack_is_foreign(word: str) -> None:
    text = f"The arm is {word} safe."
    assert BOOK.simplify(text) == text
    assert BOOK.is_foreign(text)


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
def test_letters_of_the_passages_and_common_signs_are_not_foreign(text: str) -> None:
    assert BOOK.simplify(text) == text
    assert not BOOK.is_foreign(text)


def test_a_separate_accent_is_composed() -> None:
    assert BOOK.simplify(unicodedata.normalize("NFD", "POINCARÉ says so.")) == "POINCARÉ says so."


def test_a_mixed_word_of_the_passages_is_not_foreign() -> None:
    assert not UnicodeGuard("Der Δt-Schritt ist die Größe.").is_foreign("Die Größe ist Δt.")
    assert UnicodeGuard("Die Straße. Она").is_foreign("Nоt")


def test_equivalent_signs_are_simplified_and_powers_are_not() -> None:
    assert BOOK.simplify("（５\u00a0%） −3, x³") == "(5\u00a0%) -3, x³"
    assert BOOK.is_foreign("x³")


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
def test_markup_that_the_passages_lack_is_foreign(text: str) -> None:
    assert BOOK.is_foreign(text)


@pytest.mark.parametrize(
    "text", ["Use List<int> here.", "The value is a[0].", "See [docs](/a).", "It takes ~5 to ~10 s."]
)
def test_markup_of_the_passages_is_not_foreign(text: str) -> None:
    assert not BOOK.is_foreign(text)


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200c", "\u200d", "\u2060", "\u00ad", "\u202e", "\u034f", "\u3164", "\ufeff"]
)
def test_invisible_characters_are_removed_from_latin_words(hidden: str) -> None:
    assert strip_invisible(f"It is n{hidden}o{hidden}{hidden}t so.{hidden}") == "It is not so."
    assert strip_invisible(f"{hidden}no\u0301{hidden}t") == "no\u0301t"


@pytest.mark.parametrize("word", ["می‌خواهم", "क्‍ष"])
def test_joiners_are_kept_in_scripts_that_need_them(word: str) -> None:
    assert strip_invisible(word) == word
