"""Forms of one word."""

from __future__ import annotations

import re

_ENDING = re.compile(
    r"(?:e|es|s|d|ed|n|en|ing|er|ers|or|ors|ion|ions|ation|ations|ment|ements?|al|ally|ly|ive|able|ible|ity|ance|ence|ic"
    r"|ous|ize|iz|ise|is|ized|izing|ar|y|ied|at|ate|ates|ated|ating|ness|ful|ant|ent)?"
)
_STRONG = {
    form: forms.split()[0]
    for forms in (
        "begin began begun|bind bound|break brok broken|bring brought|build built|choos chos chosen|"
        "draw drew drawn|driv drov driven|fall fell fallen|feed fed|feel felt|find found|freez froz frozen|"
        "giv gav given|grow grew grown|hold held|keep kept|know knew known|lead led|leav left|los lost|"
        "mak mad|mean meant|meet met|ris ros risen|run ran|see saw seen|sell sold|send sent|shak shook shaken|"
        "shoot shot|sit sat|speak spok spoken|spend spent|spin spun|stand stood|stick stuck|swing swung|"
        "tak took taken|teach taught|tell told|think thought|throw threw thrown|understand understood|"
        "wear worn|win won|writ wrot written"
    ).split("|")
    for form in forms.split()
}
"""The stems of strong verbs."""


def akin(one: str, other: str) -> bool:
    """Whether two stems are likely forms of one word: they part only in their endings, or by a strong verb's vowel."""
    if one in _STRONG and _STRONG[one] == _STRONG.get(other):
        return True
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    if shared < 4 or (shared < 5 and max(len(one), len(other)) > 7):
        return False
    return bool(_ENDING.fullmatch(one[shared:]) and _ENDING.fullmatch(other[shared:]))
