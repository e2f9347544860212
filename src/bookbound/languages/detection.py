"""Detects whether a text may be in English or in the language of the book."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
# No pattern may take quadratic time on a text that is one long word.
_CODE_OR_WORD = re.compile(r"`[^`]*`|[^\s`]+")
_CODE_LIKE = re.compile(r"`|[\w)][/\\_=(){}<>:.]{1,8}\w")
_WORDS_WITH_DIGITS = re.compile(r"\b\w*\d\w*\b")
MIN_LETTERS = 12
"""A text with fewer letters has no detectable language."""
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
# Questions are short, and these words are in nearly each of them.
QUESTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "English": "what how why where who whose does do did should could would my we there in on at me so any has was",
        "German": "was wie wo warum wieso wer wem wen welche welcher welches wann ich wir gibt es mein meine dieses "
        "diese dieser soll muss mache funktioniert wofür wozu wieviel viele man mir erkläre in so",
        "French": "comment pourquoi quand quel quelle quels quelles quoi où je mon ma mes faut fait ça cela est de "
        "combien explique sert on me",
        "Spanish": "qué cómo cuál cuáles dónde cuándo por quién cuánto cuánta cuántos cuántas mi puedo debo hace "
        "esto eso de hay tiene sirve explica me",
        "Portuguese": "qual quais onde quem porque que posso devo meu minha isso faz de há faço fazer "
        "quantos quantas me",
        "Italian": "cosa come quale quali dove quando perché chi quanto posso devo mio mia fa di si quanti "
        "quante in me",
        "Dutch": "wat hoe waar waarom wie welke wanneer ik mijn moet werkt doe in of me",
        "Swedish": "vad hur var varför vem vilken vilka när jag min mitt måste gör",
        "Danish": "hvad hvordan hvor hvorfor hvem hvilken hvilke hvornår jeg min mit gør",
        "Norwegian": "hva hvordan hvor hvorfor hvem hvilken hvilke når jeg min mitt gjør",
        "Finnish": "mikä mitä miten missä miksi kuka milloin minun voinko",
        "Polish": "co jak gdzie dlaczego kto który jakie jaki kiedy czy mogę mój moje",
        "Czech": "co jak kde proč kdo který jaké jaký kdy mohu můj moje",
        "Hungarian": "mi mit hogyan hol miért ki melyik mikor mennyi tudom",
        "Romanian": "ce cum unde cine care când cât pot meu mea",
        "Turkish": "ne nasıl nerede neden kim hangi mi mı mu mü nedir",
        "Indonesian": "apa bagaimana mengapa siapa mana kapan saya bisa berapa",
        "Vietnamese": "gì làm sao thế nào đâu tại ai tôi bao nhiêu",
    }.items()
}
_ASKING_WORDS = {name: common | QUESTION_WORDS.get(name, frozenset()) for name, common in FUNCTION_WORDS.items()}
_SCRIPT_GROUPS = {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA", "KATAKANA-HIRAGANA": "KANA"}
_EAST_ASIAN_SCRIPTS = frozenset({"HAN", "KANA"})
_LANGUAGES_BY_SCRIPT = {
    "HANGUL": "Korean",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
    "THAI": "Thai",
    "DEVANAGARI": "Hindi",
}
_LANGUAGES_BY_LETTERS: Mapping[str, tuple[tuple[frozenset[str], str], ...]] = {
    "Arabic script": ((frozenset("ٹڈڑںےہ"), "Urdu"), (frozenset("پچژگ"), "Persian"), (frozenset(), "Arabic")),
    "Cyrillic script": ((frozenset("іїєґ"), "Ukrainian"), (frozenset(), "Russian")),
}
"""Languages that share a script with their own letters; the one that most people write comes last."""
MIN_SCRIPT_LETTERS = 4
"""A question with fewer letters of another script may only name a thing."""
MIN_SINGLE_WORD_SHARE = 0.5
"""A single word of another language decides only if so many of the words are of it: "van" may belong to a name."""
MIN_BOOK_FUNCTION_WORDS = 10
"""A book with fewer function words has no detectable language."""


def is_english(text: str) -> bool:
    """Whether a text may be in English; code, names and a few words always may."""
    words = _split_words(_strip_code(text))
    scripts = _count_scripts("".join(word for word in words if len(word) > 1))  # a single letter may be a variable
    if scripts["LATIN"] < 0.9 * scripts.total():
        return False
    counts_by_language = _count_function_words(Counter(words))
    most = max(counts_by_language.values())
    return most < MIN_AMBIGUOUS_FUNCTION_WORDS or counts_by_language["English"] == most


def detect_question_language(text: str, book: str) -> str:
    """Names the language of a question if it is clearly another one than the book's, or returns an empty text."""
    words = [word for word in _split_words(_strip_code(text)) if len(word) > 1]  # a single letter may be a variable
    scripts = _count_scripts("".join(words))
    script = max(scripts, key=scripts.__getitem__, default="LATIN")
    if script != "LATIN":
        language = _name_script_language(script, scripts)
        # A short question in Japanese may have no syllables.
        is_same = language == book or (language == "Chinese" and book == "Japanese")
        return "" if is_same or scripts.total() < MIN_SCRIPT_LETTERS else _name_by_letters(language, text)
    counts = {language: sum(word in common for word in words) for language, common in _ASKING_WORDS.items()}
    language = max(counts, key=counts.__getitem__)
    foreign, familiar = _ASKING_WORDS[language], _ASKING_WORDS.get(book, frozenset())
    foreign_only = sum(word in foreign - familiar for word in words)
    familiar_only = sum(word in familiar - foreign for word in words)
    is_foreign = counts[language] >= MIN_AMBIGUOUS_FUNCTION_WORDS and foreign_only > 2 * familiar_only
    is_clear = foreign_only > 1 or counts[language] > MIN_SINGLE_WORD_SHARE * len(words)
    return language if is_foreign and is_clear and language != book else ""


def detect_foreign_language(text: str) -> str:
    """Names the language of a long text, or its script, if it is not English; an empty text if that is not clear."""
    words = _split_words(_strip_code(text))
    scripts = _count_scripts("".join(word for word in words if len(word) > 1))
    if scripts.total() < MIN_LETTERS:
        return ""
    script = max(scripts, key=scripts.__getitem__)
    if script != "LATIN":
        return _name_script_language(script, scripts)
    counts_by_language = _count_function_words(Counter(words))
    language = max(counts_by_language, key=counts_by_language.__getitem__)
    most = counts_by_language[language]
    return language if most >= MIN_BOOK_FUNCTION_WORDS and counts_by_language["English"] * 2 < most else ""


def _name_script_language(script: str, scripts: Counter[str]) -> str:
    if script in _EAST_ASIAN_SCRIPTS:
        return "Japanese" if _is_japanese(scripts) else "Chinese"
    return _LANGUAGES_BY_SCRIPT.get(script, f"{script.capitalize()} script")


def _name_by_letters(language: str, text: str) -> str:
    """Names the language of a short text in a script that several languages share."""
    letters = set(text.casefold())
    named = _LANGUAGES_BY_LETTERS.get(language, ())
    return next((name for own, name in named if not own or own & letters), language)


def _is_japanese(scripts: Counter[str]) -> bool:
    """Whether East Asian text is Japanese, which alone mixes syllables with Chinese characters."""
    return scripts["KANA"] > scripts["HAN"] / 10


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
