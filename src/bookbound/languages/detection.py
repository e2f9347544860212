"""Detects whether a text may be in English or in the language of the book."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
# No pattern may take quadratic time on a text that is one long word.
_CODE_OR_WORD = re.compile(r"`[^`]*`|[^\s`]+")
_CODE_LIKE = re.compile(r"`|[\w)][/\\_=(){}<>:.]{1,8}\w")
_WORDS_WITH_DIGITS = re.compile(r"\b\w*\d\w*\b")
MIN_LETTERS = 12
"""A text with fewer letters has no detectable language."""
MIN_FOREIGN_FUNCTION_WORDS = 3
"""This many function words that the book does not contain show another language."""
MIN_AMBIGUOUS_FUNCTION_WORDS = 2
"""From this many function words on, a text is in the language that has most of them."""
# The most common words, with their accents; single letters are left out because they may be variables.
FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "English": "the of and to is are that it for with as this be by from which can not you when an has if or was",
        "German": "der die das und ist nicht ein eine einen zu den mit von für auf wird werden sich auch dem des im "
        "wenn sie oder sind kann wie bei aus es als nur durch",
        "French": "le la les des et est un une dans pour que qui ne pas sur avec ce cette sont par au aux du il elle "
        "ou plus être peut vous nous mais si lorsque",
        "Spanish": "el la los las es un una en que por para con se no del al lo como más su está son pero cuando "
        "este esta puede ser si donde hay",
        "Portuguese": "os as um uma em que por para com se não do da dos das ao no na mais como está são mas "
        "quando este esta pode ser ou você",
        "Italian": "il lo la gli le un una di che per con non si del della dei delle nel nella più come sono ma "
        "quando questo questa può essere dal alla anche se",
        "Dutch": "de het een en is van dat niet met op voor zijn wordt worden er aan ook als bij door uit maar om te "
        "kan deze dit naar wanneer je dan zodat moet",
        "Swedish": "och att det är en ett som på för av med den inte till kan om har de när eller från du vid ska",
        "Danish": "og at det er en et som på for af med den ikke til kan om har de når eller fra du ved skal",
        "Norwegian": "og at det er en et som på for av med den ikke til kan om har de når eller fra du ved skal",
        "Finnish": "ja on ei se että kun tai ovat joka voi mutta sen niin kuin jos myös tämä olla voidaan",
        "Polish": "na do jest nie się że to jak dla od po są oraz przez lub ale który która może być jeśli gdy",
        "Czech": "na je se do že to pro jako po jsou nebo ale který která může být pokud když není také od",
        "Hungarian": "az és hogy nem egy is van ez meg csak de ha vagy mint ezt amely lehet kell",
        "Romanian": "și de la în cu pe este nu un să care din pentru sunt mai ca sau dar dacă când poate fi",
        "Turkish": "ve bir bu için ile de da olarak çok daha gibi olan değil ancak veya ise her kadar sonra",
        "Indonesian": "dan yang di untuk dengan ini itu dari pada adalah tidak dalam akan ke atau dapat oleh jika",
        "Vietnamese": "và của là có không được cho một các trong với này để khi từ những người trên nếu",
    }.items()
}
_SCRIPT_GROUPS = {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA", "KATAKANA-HIRAGANA": "KANA"}
_EAST_ASIAN_SCRIPTS = frozenset({"HAN", "KANA"})
_LANGUAGES_BY_SCRIPT = {"HANGUL": "Korean", "GREEK": "Greek", "HEBREW": "Hebrew", "THAI": "Thai", "DEVANAGARI": "Hindi"}
MIN_BOOK_FUNCTION_WORDS = 10
"""A book with fewer function words has no detectable language."""


def is_same_language(text: str, book: str) -> bool:
    """Whether a text may be in the language of the book; code, names and a few words always may."""
    text_prose, book_prose = _strip_code(text), _strip_code(book)
    text_scripts, book_scripts = _count_scripts(text_prose), _count_scripts(book_prose)
    if text_scripts.total() < MIN_LETTERS or book_scripts.total() < MIN_LETTERS:
        return True
    text_script, book_script = (max(counts, key=counts.__getitem__) for counts in (text_scripts, book_scripts))
    if text_script == "LATIN":
        book_words = Counter(_split_words(book_prose))
        return not _is_foreign(_split_words(text_prose), book_words, is_latin_book=book_script == "LATIN")
    if {text_script, book_script} <= _EAST_ASIAN_SCRIPTS:
        return _is_japanese(text_scripts) == _is_japanese(book_scripts)
    return book_scripts[text_script] >= book_scripts.total() / 10


def is_english(text: str) -> bool:
    """Whether a text may be in English; code, names and a few words always may."""
    words = _split_words(_strip_code(text))
    scripts = _count_scripts("".join(word for word in words if len(word) > 1))  # a single letter may be a variable
    if scripts["LATIN"] < 0.9 * scripts.total():
        return False
    counts_by_language = _count_function_words(Counter(words))
    most = max(counts_by_language.values())
    return most < MIN_AMBIGUOUS_FUNCTION_WORDS or counts_by_language["English"] == most


def detect_foreign_language(text: str) -> str:
    """Names the language of a long text, or its script, if it is not English; an empty text if that is not clear."""
    words = _split_words(_strip_code(text))
    scripts = _count_scripts("".join(word for word in words if len(word) > 1))
    if scripts.total() < MIN_LETTERS:
        return ""
    script = max(scripts, key=scripts.__getitem__)
    if script in _EAST_ASIAN_SCRIPTS:
        return "Japanese" if _is_japanese(scripts) else "Chinese"
    if script != "LATIN":
        return _LANGUAGES_BY_SCRIPT.get(script, f"{script.capitalize()} script")
    counts_by_language = _count_function_words(Counter(words))
    language = max(counts_by_language, key=counts_by_language.__getitem__)
    most = counts_by_language[language]
    return language if most >= MIN_BOOK_FUNCTION_WORDS and counts_by_language["English"] * 2 < most else ""


def _is_japanese(scripts: Counter[str]) -> bool:
    """Whether East Asian text is Japanese, which alone mixes syllables with Chinese characters."""
    return scripts["KANA"] > scripts["HAN"] / 10


def _is_foreign(words: list[str], book_words: Counter[str], is_latin_book: bool) -> bool:
    """Whether the words are in another language than the book's; words that the book contains do not count."""
    counts_by_language = _count_function_words(book_words)
    book_language = max(counts_by_language, key=counts_by_language.__getitem__)
    if is_latin_book and counts_by_language[book_language] < MIN_FOREIGN_FUNCTION_WORDS:
        return False
    book_common = FUNCTION_WORDS[book_language] if is_latin_book else frozenset[str]()
    for other_common in FUNCTION_WORDS.values():
        other_only, book_only = other_common - book_common, book_common - other_common
        foreign = sum(word in other_only and word not in book_words for word in words)
        familiar = sum(word in book_only for word in words)
        if foreign >= MIN_FOREIGN_FUNCTION_WORDS and foreign > 2 * familiar:
            return True
    return False


def _count_function_words(words: Counter[str]) -> dict[str, int]:
    return {name: sum(words[word] for word in common) for name, common in FUNCTION_WORDS.items()}


def _strip_code(text: str) -> str:
    """The text without code and without words that contain digits."""
    spans = (span for span in _CODE_OR_WORD.findall(text) if not _CODE_LIKE.search(span))
    return _WORDS_WITH_DIGITS.sub(" ", " ".join(spans))


def _split_words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


def _count_scripts(text: str) -> Counter[str]:
    return Counter(script for letter in text if letter.isalpha() and (script := _script_of_letter(letter)))


@lru_cache(maxsize=4096)
def _script_of_letter(letter: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return _SCRIPT_GROUPS.get(name, name)
