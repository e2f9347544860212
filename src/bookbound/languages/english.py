"""English: its words and patterns, in the order of the port."""

from __future__ import annotations

from bookbound.languages.language import (
    ClaimForms,
    Language,
    ModelForms,
    NumberWords,
    QuoteForms,
    SentenceMarks,
    Words,
)


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and set(root) & set("aeiouy"):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word.removesuffix("e") if len(word) > 3 else word


_WORDS = Words(
    stop_words=frozenset(
        """a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing done down during each either else etc ever every few for
        from further get gets getting go goes going got had has have having he her here hers him his how i if in
        into is it its itself just let lets like me mean means might more most much must my need no nor not of off
        on once only or other our out over own per please same say says she should show so some such tell than that
        the their them then there these they thing things this those through to too under until up us use used uses
        using very want was way we were what whats when where whether which while who whom whose why will with
        without would you your yours often s t d ll re ve m don doesn isn aren won""".split()
    ),
    deictic_words=frozenset(
        """explain describe summarise summarize paraphrase passage text paragraph section chapter page part word
        give sentence selection quote idea point main gist""".split()
    ),
    pointing_words=frozenset("this that these those it here".split()),
    stem=_stem,
)

_SENTENCES = SentenceMarks(
    abbreviations=frozenset(
        """e.g i.e eg ie fig figs eq eqs eqn sec ch chap vol pp vs cf approx resp viz ca incl excl
        max min no nos ref refs tab op ed eds ver rev gen sen rep dept est jan feb mar apr jun jul aug sep sept oct nov
        dec proc conf trans a.k.a aka w.r.t wrt""".split()
    ),
    personal_titles=frozenset("Dr Mr Mrs Ms Prof St".split()),
    final_abbreviations=frozenset("etc al inc ltd co corp jr sr a.m p.m ph.d b.sc m.sc".split()),
    abbreviations_before_number=frozenset("no nos p pp v ch sec ed ver rev min max tab ref vol mar jun dec".split()),
    openers=frozenset(
        """the this that these those it its in if when while we you they he she for to there then however but and a an
        as at by on or so use see both each all some with from after before not no now here let what why how""".split()
    ),
)

# Words before a reference that do not change what it refers to: "However, for it …".
_CONNECTIVES = (
    r"(?:(?:however|but|and|so|thus|therefore|hence|also|then|moreover|furthermore|similarly|likewise|nevertheless|still|"
    r"yet|for example|for instance|in addition|in fact|of course|in practice|because of|as a result of|due to|after|"
    r"before|besides|from|in|on|at|with|by|for|to do|to|if|when|while|since|as|unlike|like|apart from),?\s+)*"
)
# These look like references but are not: "It is possible to …", "This chapter …", "Those who …".
_EXPLETIVE_IT = (
    r"it(?:['’]s|\s+(?:is|was|can\s+be|may\s+be|might\s+be))\s+(?:(?:not|also|often|usually|always|generally|very)\s+)?"
    r"(?:(?!able\b)\w+(?:ble|ful|ant|ary|mon|mal|ent)|worth|good|bad|best|better|easy|hard|difficult|safe|wise|time|clear|"
    r"true|likely|unlikely|un\w+ed|(?:recommend|advis|suggest|allow|requir)ed|\w+ed\s+that)\b"
    r"|it\s+(?:takes|follows|turns\s+out|seems|happens)\b"
)
_SELF_REFERENCE = (
    r"(?:this|these)\s+(?:book|chapter|section|page|guide|tutorial|manual|document|article|course|unit|part|edition|"
    r"appendix)\b|those\s+(?:who|that|which|of)\b|that\s+said\b"
)
_CODE_NOUN = r"(?:program|script|code|example|commands?|class|function|file|listing|snippet)"

_QUOTES = QuoteForms(
    exercise_heading=(
        r"(?:exercises?|problems?|problem sets?|quiz(?:zes)?|self[- ]?check|review questions|check your understanding|"
        r"homework|assignments|practice(?: questions| problems)?)(?:\s+[\d.]+)?\s*(?:$|[:.–—-]\s)"
    ),
    caption=r"(?:figure|fig\.|table|listing|image|photo|video)\s*[A-Z]?[\d.–-]*\d\s*[:.–—](?:\s|$)",
    reference_at_start=(
        rf"^[\"'“‘(]*{_CONNECTIVES}(?!{_SELF_REFERENCE}|{_EXPLETIVE_IT})"
        r"(?:(?:it|its|they|them|their|he|his|she|her|this|that|these|those|such|both|neither|either|none\s+of)\b"
        r"|(?:the\s+)?(?:former|latter|same|others?)\b|otherwise\b|instead\b(?!\s+of)|each\s+of\s+them\b|"
        r"yes\b|no,|one\s+of\s+them\b"
        r"|the\s+(?:first|second|third|last)\s+(?:command|example|line|option|one|case|form)\b)"
        r"|^[^,;:]*\bthis(?:[,;]|:\s|\.$)"
        r"|^(?:[\w'’-]+\s+){1,4}(?:it|them)(?:[.,;:]|\s+(?:to|in|on|with|by|for|from|as|at|into|when|if|before|after|"
        r"better|again|instead)\b)"
    ),
    continuation=(
        r"^(?:however|but|therefore|thus|hence|so|yet|still|then|now|conversely|nevertheless|contrary\s+to|in\s+contrast)\b"
        r"(?!\s+(?:that|far|called)\b)|\bat\s+this\s+point\b"
    ),
    # "this property", "the same figure", "the node then hangs"
    inner_reference=(
        rf"\b(?!{_SELF_REFERENCE})(?:(?:this|these|those|such)\s+(?!(?:is|are|was|were|as|that|way|time|case)\b)"
        r"(?:\w+\s+)??(?P<noun>[a-z]\w+)|the\s+same\s+\w+\b(?!\s+(?:\w+\s+)?as\b)|(?:allows?|of|for|with|to|from|in|by|"
        r"change|set)\s+that\s+(?!(?:the|an?|is|are|it|you|we|they)\b)(?P<thing>[a-z]\w+))"
        r"|^(?!(?:if|when|once|first|unless|as\s+soon)\b)(?:[\w'’-]+\s+){1,8}then\s+\w+"
        r"|\bone[.!]$|^ok(?:ay)?,"
    ),
    personal_pronoun=r"(?:it|its|they|their)\b",
    empty_lead=r"(?:in\s+(?:short|summary|brief)|to\s+sum\s+up|summary|overview)\s*:",
    announced_table=r"\bfollowing\s+(?:table|list)|(?:table|list)\s+(?:below|that\s+follows)\b",
    announced_code=(
        rf"\bthe\s+(?:\S+\s+)?(?:node|{_CODE_NOUN})\s+below\b|\b(?:below|following)\s+(?:\S+\s+)?{_CODE_NOUN}\b"
    ),
    announced_example=(
        r"\b(?:following|follows|below|like\s+(?:this|so)|here\s+is|this\s+(?:command|file|code|script)|for\s+example)\b"
        r"|^(?:now\s+|then\s+|next,?\s+)?(?:run|type|use|enter|execute|create|add)\b"
    ),
    asks_for_list=(
        r"\b(?:what|which)\s+(?P<things>(?:\S+\s+){0,3}\w*[^\Ws]s)\s+"
        r"(?:are|were|do|does|did|don['’]t|can|can['’]t|could|may|must|should|will|would|have|need|make|exist|belong)\b",
        r"\bhow\s+many\s+(?P<things>.+?)\s+(?:are|were)\s+there\b",
        r"\b(?:what\s+(?:are|were)|list|enumerate|name\s+the|rank|all\s+the)\b(?P<things>.*)",
        r"\b(?P<things>(?:steps|stages|phases|kinds|types|sorts)\b.*)",
    ),
    asks_for_code=r"\b(?:how|show|give|examples?|code|snippet|scripts?|commands?|print|run)\b",
    asks_to_compare=r"\b(?:or|vs|versus|each|both|differ\w*|compare\w*)\b",
    asks_how=r"\bhow\b(?!\s+(?:many|much|long|often|far|old|big|fast)\b)",
    asks_yes_or_no=(r"\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have)(?:n['’]t)?\b"),
)

_CLAIMS = ClaimForms(
    negation=r"\b(?:not|never|no|none|nor|neither|nothing|cannot|without)\b|\b\w+n['’]t\b",
    restriction=r"\bonly\b",
    quantifiers=frozenset(
        "all always any both completely each either enough entire every exactly least most must never no".split()
    ),
    capitalized_words=frozenset("It The An This That These Those In On At If When".split()),
    # A name or an acronym: not HTTPS, and not an identifier such as `keys`.
    plural_name=r"\b([A-Z]{2,}|[A-Z][a-z]+[a-rt-z])s\b",
    possessive_ending=r"['’]s$",
    adjective_ending="n",
)

_NUMBERS = NumberWords(
    below_twenty=tuple(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    ),
    tens=tuple("twenty thirty forty fifty sixty seventy eighty ninety".split()),
    scales={"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    implied={"first": "1", "third": "3"}
    | dict.fromkeys("second half both twice double doubles doubled pair pairs".split(), "2"),
    units={
        "s": "s sec secs second seconds",
        "ms": "ms millisecond milliseconds",
        "us": "us µs μs microsecond microseconds",
        "ns": "ns nanosecond nanoseconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "m": "m metre metres meter meters",
        "km": "km kilometre kilometres kilometer kilometers",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "nm": "nm nanometre nanometres nanometer nanometers",
        "inch": "inch inches",
        "foot": "foot feet ft",
        "mile": "mile miles",
        "g": "g gram grams",
        "kg": "kg kilogram kilograms",
        "mg": "mg milligram milligrams",
        "%": "% percent",
        "°": "° degree degrees deg",
        "hz": "hz hertz",
        "khz": "khz kilohertz",
        "mhz": "mhz megahertz",
        "ghz": "ghz gigahertz",
        "bit": "bit bits",
        "byte": "byte bytes",
        "kb": "kb kilobyte kilobytes",
        "mb": "mb megabyte megabytes",
        "gb": "gb gigabyte gigabytes",
        "tb": "tb terabyte terabytes",
        "v": "v volt volts",
        "mv": "mv millivolt millivolts",
        "a": "amp amps ampere amperes",
        "ma": "ma milliamp milliamps",
        "w": "w watt watts",
        "kw": "kw kilowatt kilowatts",
        "n": "n newton newtons",
        "j": "j joule joules",
        "pa": "pa pascal pascals",
        "kpa": "kpa kilopascal kilopascals",
    },
    powers={"squared": "2", "cubed": "3"},
    minus="minus",
    per="per",
)

_OVERRIDE_VERB = r"\b(?:ignore|disregard|forget|override|bypass)\b"
_INSTRUCTION_NOUN = r"\b(?:rules?|instructions?|prompts?|guidelines?|orders|questions?)\b"
_MODEL_NOUN = r"\b(?:assistants?|ai|a\.i\.|llms?|chatbots?|language\s+models?)\b"
_COMMAND = (
    r"(?:please\s+|now\s+|you\s+(?:must|should|shall|will)\s+(?:now\s+)?)?"
    rf"{_OVERRIDE_VERB}[^.?!\n]{{0,60}}{_INSTRUCTION_NOUN}"
    rf"|(?:you\s+are|act\s+as|pretend\s+to\s+be)\s+(?:now\s+)?(?:\w+\s+){{0,3}}{_MODEL_NOUN}"
    rf"|if\s+you\s+are\s+(?:\w+\s+){{0,3}}{_MODEL_NOUN}\s*,"
)
_ATTENTION_CALL = r"(?:\w[\w'’]*\s+){0,2}\w[\w'’]*"

_MODELS = ModelForms(
    # A command opens the text, or follows a few words that call for attention; a model may be named before it.
    prompt_injection=(
        rf"\W*(?:(?:{_ATTENTION_CALL}[:,]\W*)?(?:{_COMMAND})"
        rf"|{_ATTENTION_CALL}:\W*{_MODEL_NOUN}\s+\w+\s+(?:{_COMMAND})"
        rf"|(?:\w+\s+){{0,2}}(?:to|for)\s+(?:\w+\s+)?{_MODEL_NOUN}[^:.?!\n]{{0,40}}:"
        r"|(?-i:SYSTEM)\s*:)"
    ),
    passage="passages?",
    before_passage=r"see |cf\. |from |source: ",
    between_numbers="and",
    empty_values=frozenset({"none", "nothing", "null", "n/a"}),
    broken_contraction=r"n[‘′‛\"`]t\b",
)

ENGLISH = Language(
    name="English",
    bm25="english",
    words=_WORDS,
    sentences=_SENTENCES,
    quotes=_QUOTES,
    claims=_CLAIMS,
    numbers=_NUMBERS,
    models=_MODELS,
)
