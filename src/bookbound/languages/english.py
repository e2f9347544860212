"""English: its words and patterns, in the order of the port."""

from __future__ import annotations

from bookbound.languages.language import (
    BookQuestionForms,
    ClaimForms,
    FollowUpForms,
    Language,
    ModelForms,
    NumberWords,
    PhraseForms,
    QuestionForms,
    QuoteForms,
    SentenceMarks,
    SmallTalkForms,
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

# What a model calls the passages that it was given. A word that may also be a thing in the book, such as "the source",
# only counts with a word for that: "the provided source".
_GIVEN = r"(?:given|provided|above|available|cited|supplied|retrieved)"
_ANY_TEXT = r"(?:texts?|context|documents?|documentation|sources?|material)"
_GIVEN_TEXT = (
    r"(?:the|these|those|this|your|any\s+of\s+the|given|provided)\s+(?:"
    rf"(?:{_GIVEN}\s+)?(?:passages?|book|excerpts?)(?:\s+{_GIVEN})?"
    rf"|{_GIVEN}\s+(?:{_ANY_TEXT}|information)|(?:{_ANY_TEXT}|information)\s+{_GIVEN})"
)
_NAMED_TEXT = rf"(?:{_GIVEN_TEXT}|(?:the|this|these|those)\s+{_ANY_TEXT})"
_FINDS_IN_TEXT = (
    r"(?:mention|specif|stat|describ|discuss|answer|address|includ|explain|contain|cover|provid|giv|found|find|say|said)"
    r"\w*"
)
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
    nothing_missing=r"(?:none|nothing|null|n/a|no\s+(?:additional|further|other|more)\b.*)?",
    broken_contraction=r"n[‘′‛\"`]t\b",
    verdict=(
        r"(?:yes|no|yep|nope|correct|right|exactly|(?:true|false)(?!\s*,)"
        r"|not\s+(?:by\s+default|directly|quite|exactly|necessarily))\b\s*(?:[,.;:!](?=\s|$)|[–—]|-(?=\s)|$)\s*"
    ),
    denying_verdict=r"\W*(?:no|nope|false|not)\b",
    needs_previous=(
        r"(?:(?:and|but|so|also|then|however|otherwise|instead|similarly|likewise|therefore|thus|moreover)\b[\s,]+)?"
        r"(?:it|its|they|them|their|he|she|his|her|this|that|these|those|such|both|neither|either|each|here|there|the\s+"
        r"(?:former|latter|same|others?|first|second|third|last))\b|(?:then|otherwise|instead|so|also|but|and|or)\b"
    ),
    attribution=(
        rf"(?:(?:according\s+to|based\s+on|as\s+(?:stated|explained|described|shown|mentioned)\s+in)\s+{_NAMED_TEXT}"
        rf"|(?:from|per|in)\s+{_GIVEN_TEXT})"
        r"(?:\s*[,:]\s*|\s+(?=(?:the|an?|this|these|it|its|they|there|you|each|all|both|no|when|if|to|for)\b))"
        rf"|{_NAMED_TEXT}\s+(?:says?|states?|explains?|notes?|mentions?|describes?|shows?)\s+that\b\s*,?\s*"
        r"|(?:in\s+short|in\s+summary|to\s+sum\s+up|in\s+other\s+words|sure|certainly|of\s+course|great\s+question"
        r"|(?:(?:short|direct|final)\s+)?answer(?=\s*:))\s*[,!:.]\s*"
    ),
    denial=(
        rf"(?!\W*(?:if|when|unless|whether|where)\b)[^.!?]{{0,60}}\b{_GIVEN_TEXT}\b[^.!?]{{0,80}}"
        rf"\b(?:do(?:es)?\s*n(?:o|['’])t|did\s+not|cannot|never|no)\b[^.!?]{{0,40}}\b(?:{_FINDS_IN_TEXT}|information|detail)"
        rf"|(?:none\s+of|nothing\s+in)\s+{_GIVEN_TEXT}\b"
        rf"|[^.!?]{{0,80}}\bnot\s+(?:\w+ly\s+)?{_FINDS_IN_TEXT}\s+(?:anywhere\s+)?(?:in|by|from)\s+{_GIVEN_TEXT}\b"
        r"|(?:i['’]?m\s+(?:sorry|afraid|unable)"
        r"|i\s+(?:(?:am|was)\s+(?:sorry|afraid|unable)|apologi[sz]e|cannot|can['’]t|could\s+not|couldn['’]t|do\s+not|don['’]t)"
        r"|sorry)\b"
        r"|(?:this|that|the|the\s+requested|this\s+specific)\s+(?:information|answer|question)\s+(?:is|was|can)\s*(?:not|n['’]t)"
        rf"\s+(?:be\s+)?(?:\w+ly\s+)?(?:available|present|{_FINDS_IN_TEXT}|in\b)"
        r"|there\s+is\s+no\s+(?:information|mention|answer)\b"
        r"|it\s+is\s+not\s+possible\s+to\s+(?:answer|say|tell|determine)\b"
    ),
    remark=(
        r"(?:(?:please\s+)?let\s+me\s+know\b|(?:please\s+)?feel\s+free\s+to\s+(?:ask|reach|contact|let)\b"
        r"|(?:i\s+)?hope\s+(?:this|that|it)\s+helps|happy\s+to\s+help"
        r"|if\s+you\s+(?:have|need)\s+(?:any\s+)?(?:more|further|other|additional)\s+"
        r"(?:questions?|help|details?|information|clarification|assistance)\b"
        r"|would\s+you\s+like\b|do\s+you\s+want\b"
        r"|(?:sure|certainly|of\s+course|great\s+question|good\s+question)[!.,]*$)"
    ),
    introduction_terms=frozenset(
        map(
            _stem,
            "follow following step steps way ways example command commands code option options here run use like see "
            "below summary list do need using there's here's first way quick overview answer short setup set".split(),
        )
    ),
)

_QUESTION_WORDS = "what how why when where which who whom whose".split()
_FORMS_OF_BE = "is|are|was|were"
_AUXILIARIES = f"{_FORMS_OF_BE}|do|does|did|can|could|may|might|must|should|will|would|has|have|had"
_AUXILIARY_VERB = rf"(?:(?:{_AUXILIARIES})(?:n['’]t)?|can(?:no|['’])t|won['’]t)"
_SUBJECT_WORD = (
    r"(?:i|you|we|they|it|he|she|one|there|this|that|these|those|the|an?|my|our|your|his|her|its|their|each|every|any|"
    r"all|both|some|another)"
)
_READER = r"(?:i|you|we|one)"
_COMMON_PREPOSITIONS = (
    "of in on at to for from with by about into under over after before during through against between".split()
)
_PREPOSITION = rf"(?:{'|'.join(_COMMON_PREPOSITIONS)})"
_WORD = r"[^\s,;?]+"
# "what does …", "how long may …", "on which page is …": the verb before the subject marks a question.
_INVERTED = (
    rf"(?:(?:what|who|where|when|why|how)(?:\s+{_AUXILIARY_VERB}|['’]s)\b"
    rf"|how\s+(?!{_SUBJECT_WORD}\b)(?:{_WORD}\s+){{1,5}}?{_AUXILIARY_VERB}\b"
    rf"|(?:{_PREPOSITION}\s+)?(?:what|which|whose|whom)\s+"
    rf"(?!(?!one\b){_SUBJECT_WORD}\b)(?:{_WORD}\s+){{1,5}}?{_AUXILIARY_VERB}\b)"
)
# "which flag turns it off", "who wrote it": the question word is the subject, so word order does not help.
_SUBJECT_QUESTION = (
    rf"(?:(?:what|which|whose)\s+(?!(?!one\b)(?:{_SUBJECT_WORD}|{_PREPOSITION}|{_AUXILIARY_VERB})\b)"
    rf"{_WORD}(?:\s+{_WORD}){{2}}"
    rf"|(?:what|who)\s+(?!(?:{_SUBJECT_WORD}|{_PREPOSITION}|{_AUXILIARY_VERB})\b){_WORD}\s+{_WORD})"
)
_AFTER_CONJUNCTION = (_INVERTED, _SUBJECT_QUESTION, rf"{_AUXILIARY_VERB}\s+{_SUBJECT_WORD}\b")
_ASKS_WHAT_IT_IS = rf"(?:what|who)(?:\s+(?:{_FORMS_OF_BE})|['’]s)(?=\s|$)"
_SIDE, _TAIL = r"[^,;:?!]+?", r"(?P<tail>\s+(?:in|when|for|with)\s+[^,;:?!]+?)?"
_DIFFERENCE = r"diff(?:e?rences?)?|distinctions?"
_VERSUS = rf"(?P<a>{_SIDE})\s+(?:vs\.?|versus)\s+(?P<b>{_SIDE})"

_QUESTIONS = QuestionForms(
    openers=(*(word for word in _QUESTION_WORDS if word not in ("whom", "whose")), "does", "explain", "define"),
    order_words=_WORDS.deictic_words | {"define", "compare"},
    # British and American.
    spellings=(("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("enc", "ens")),
    form_words="example examples sample list table checklist code snippet give",
    definition="What is {}?",
    asks_what_it_is=_ASKS_WHAT_IT_IS,
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
    asks_yes_or_no=rf"\W*{_AUXILIARY_VERB}\b",
    names_one_thing=(
        r"(?:(?:what(?:['’]s|\s+is|\s+are|\s+does)?|who\s+(?:is|are)|explain|describe|define|tell\s+me\s+about|"
        r"(?:show|give)(?:\s+me)?|list|i\s+need)\s+)?"
        r"(?P<name>.+?)(?:\s+(?:do|give|return|mean|meaning|definition|explained))?\s*[?.!]*"
    ),
    asks_for_named=r"(?:(?:please\s+)?(?:show|give)(?:\s+me)?|list|i\s+need)\s+(?:the|all|an?)\b",
    asks_what_it_has=(
        r"(?:what|which)\s+(?P<things>(?:\S+\s+)?\S+s)\s+(?:does|do|can)\s+(?P<owner>.+?)\s+"
        r"(?:have|take|accept|support)\s*[?.!]*"
    ),
    asks_something_else=r"\b(?:how|why|when|where|which|who|whose)\b",
    whole_questions=(_INVERTED, _SUBJECT_QUESTION, rf"(?:which\s+)?{_AUXILIARY_VERB}\s+{_WORD}"),
    after_conjunction=_AFTER_CONJUNCTION,
    after_comma=(_INVERTED,),
    after_comma_and_conjunction=(*_AFTER_CONJUNCTION, rf"which\s+{_AUXILIARY_VERB}\b"),
    conjunction=r"(?P<mark>\s*[,;])?\s+(?:and|but|plus)\s+(?:also\s+|then\s+)?|(?P<bare>\s*[,;])\s+",
    has_verb=rf"\b{_AUXILIARY_VERB}\b|['’]s\b",
    refers_to_earlier_part=(
        r"\b(?:it|its|they|them|their|theirs|(?<!which\s)ones?|each|both|either|neither|same|mine|yours|he|him|his|she|"
        r"her)\b|\b(?:this|these|those|(?:is|was|does|can|of|for|to|by|like|with|after|before)\s+that)\b"
    ),
    opening=(
        rf"^(?:{_PREPOSITION}\s+)?(?:(?:{'|'.join(_QUESTION_WORDS)})\b(?:['’]s\b)?\s*)?"
        rf"(?:(?:many|much|long|often|far|fast|big|large|tall|high|old|hard|soon|well)\b\s*)?(?:{_AUXILIARY_VERB}\b\s*)?"
        rf"(?:{_READER}\b\s*)?"
    ),
    inner_auxiliary=rf"(?<=\w)\s+(?:do|does|did|can|should)(?:\s+{_READER})?\b",
    names_nothing_new=r"(?:wrong|missing|new|next|the)\b",
    may_compare=r"diff|distinction|compare|contrast|\bvs\b|versus",
    compares_after_lead=rf"(?P<lead>.+?(?:[,:–—]|\s-)\s+){_VERSUS}[?.]*",
    asks_about_both=(
        rf"{_VERSUS}\s*(?P<asked>[,:–—-]\s+(?:what|how|why|when|where)\b.*\b(?:they|them|both|each)\b.*?)[?.]*"
    ),
    comparisons=(
        rf"(?:\S+\s+){{0,5}}(?:{_DIFFERENCE})\s+between\s+(?P<a>{_SIDE})\s+and\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
        rf"(?:\S+\s+){{0,3}}(?:compare|contrast)\s+(?P<a>{_SIDE})\s+(?:with|to|and|against)\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
        rf"how\s+(?:do|does|is|are)\s+(?P<a>{_SIDE})\s+(?:differ|different)\s+from\s+(?P<b>{_SIDE}){_TAIL}[?.]*",
        rf"(?:(?:please\s+)?(?:explain|describe)\s+)?{_VERSUS}{_TAIL}"
        rf"(?:[,:?.–—-]+\s*(?:what|how)\b.*(?:{_DIFFERENCE}|differ))?[?.]*",
    ),
    versus=frozenset({"vs", "versus"}),
    articles=frozenset({"a", "an", "the"}),
)

_ALL_AUXILIARIES = frozenset(_AUXILIARIES.split("|")) | frozenset(
    """be been shall isn't aren't don't doesn't didn't can't cannot won't what's who's where's how's""".split()
)
_PREPOSITIONS = frozenset(_COMMON_PREPOSITIONS) | frozenset(
    "without onto among inside outside within per via as than like instead while when if because".split()
)

_PHRASES = PhraseForms(
    question_words=frozenset(_QUESTION_WORDS),
    auxiliaries=_ALL_AUXILIARIES,
    forms_of_do=frozenset("do does did".split()),
    prepositions=_PREPOSITIONS,
    determiners=frozenset("a an the my your our his her its their each every any some another all both".split()),
    function_words=_ALL_AUXILIARIES.union(_QUESTION_WORDS)
    | _PREPOSITIONS
    | frozenset("i you we one he she it they them me us this that these those there and or but vs versus".split()),
    before_no_noun=frozenset("how i you we".split()),
    verbs=frozenset(
        """accept add affect allow answer apply avoid become begin belong break build bring buy catch cause change
        check choose close come compare compute configure connect consist contain control convert cost create decide
        declare define delete depend describe detect determine differ disable do draw drop enable end ensure exist
        expect explain fail find fit follow get give go grow handle happen help hold import improve include increase
        indicate install invent keep know last learn leave let limit list look lose make matter mean measure need occur
        open pass perform prevent print produce provide publish put raise reach read receive reduce remain remove
        replace represent require reset return run save say see send separate serve show sit solve sort stand start
        stay stop store suit support take tell throw turn understand update use wait walk want weigh work write
        wrote made ran""".split()
    ),
    imperative=(
        r"(?:please\s+)?(?:(?:can|could|would)\s+you\s+(?:please\s+)?)?"
        r"(?:explain|describe|define|summari[sz]e|list|compare|(?:tell|show)\s+me(?:\s+(?:more|something))?(?:\s+about)?)\s+"
    ),
    participle=r"(?!variable)(?:\w{2,}[^e]ed|\w{3,}[ai]ble|made|done|set|built|written|known|sent|held)$",
    possessive_ending=r"['’]s$",
    plural_noun=r"[^\W\d_]*[^\W\d_sui]s",
    asks_what_it_does=r"what\s+(?:does|do|did)\s+(.+?)\s+(?:do|mean|stand\s+for)",
    definition_tail=r"\s+(?:called|used|good|for|about|like|(?:used|good)\s+for|made\s+of)$",
    of=r"\s+of\s+",
    between=r"\bbetween\s+(.+?)\s+and\s+(.+)$",
    joined=r"\s+(?:and|or)\s+",
    list_after_colon=r":\s+([^.:\n]+(?:,\s|\s(?:and|or)\s)[^.:\n]+)",
    list_separator=r",\s+(?:(?:and|or)\s+)?|\s+(?:and|or)\s+",
)

_ORDINAL_NAMES = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ORDINALS = (
    {name: place for place, name in enumerate(_ORDINAL_NAMES)}
    | {name: place for place, name in enumerate("1st 2nd 3rd 4th 5th 6th 7th".split())}
    | {"former": 0, "latter": -1, "last": -1, "other": -1, "final": -1}
)
_ORDINAL = rf"\b(?P<ordinal>{'|'.join(_ORDINALS)})\b"

_FOLLOW_UPS = FollowUpForms(
    ordinals=_ORDINALS,
    ordinal=_ORDINAL,
    ordinal_phrase=rf"\bthe\s+{_ORDINAL}(?:\s+(?:one|of\s+(?:them|these)))?(?=\s*$|\s+(?:is|do|does|has|can)\b)",
    relational_noun=(
        r"\b(?:an?|the|any|some|another|typical|main|common)\s+(?:\w+\s+)?(?:(?:dis)?advantages?|benefits?|drawbacks?|"
        r"pros|cons|downsides?|differences?|purposes?|syntax|defaults?|default\s+values?|reasons?|causes?|limits?|"
        r"limitations?|risks?|alternatives?|examples?|formulas?|units?|types?|kinds?|parts?|steps?|rules?|meaning|"
        r"results?|costs?|use\s+cases?|requirements?)$"
    ),
    kind_of_one=r"\b(?:an?|the)\s+(?!only\b)(?P<kind>[\w-]+)\s+(?P<one>ones?)\b",
    short_name=r"\b(?:the|this|that|these|those)\s+",
    lead=(
        r"(?:(?:ok(?:ay)?|hi|hello|thanks?(?:\s+you)?|great|nice|i\s+see|h+m+|well|and|but|so|also|then|or|now)\b"
        r"[\s,.!:;…–-]*)+"
    ),
    what_about=r"(?:what|how)\s+about\s+",
    bare_question=(
        r"((?:since\s+)?when|where|who|why(?:\s+not)?|how(?:\s+(?:come|so|often|long|much|many|exactly))?|what\s+for|"
        r"in\s+(?:which|what)\s+\w+)(?:\s+(?:is|was)\s+(?:that|this|it)(?:\s+so)?|\s+(?:so|exactly|then|though)"
        rf"|\s+(?:do|does|would|should|can|could|must)\s+{_READER}(?:\s+do\s+(?:that|this|it|so))?)?"
    ),
    request=(
        r"(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+|i\s+(?:want|need|would\s+like)\s+)?(?:please\s+)?"
        r"(?:(?:give|show|tell|explain|elaborate|describe|go)\b|(?:an?\s+|another\s+|more\s+|some\s+)?"
        r"(?:examples?|details?)\b|for\s+(?:example|instance)|more\b|anything\s+else|what\s+else)"
    ),
    request_words=frozenset(
        "give show tell explain elaborate describe example detail another instance anything simple brief code".split()
    ),
    request_of_pair=r"\bdifferences?$",
    request_of_topic=r"\b(?:explain|describe)$",
    request_about_topic=r"\b(?:more|details?|else|elaborate|briefly)$",
    of_owner="{} of {}",
    about_topic="{} about {}",
    for_owner="{} for {}",
    between_pair="{} between {}",
    pair="{} and {}",
    asked_too="{}, and {}",
    happens_if="What happens {}",
    about_the_text=(
        r"\b(?:this|these|that)\s+"
        r"(?:book|chapter|section|page|text|passage|paragraph|selection|sentence|quote)s?\b"
    ),
    expletive=(
        r"\b(?:is|was|be|isn['’]t)\s+it\s+(?!used|able|going|supposed|likely|meant)\w+\s+(?:to|that|if|for)\b"
        r"|\bit\s+(?:takes?\b.*\bto|means?\s+(?:to|if|when|that)|matters?|makes?\s+sense)\b"
    ),
    possessive=r"\b(?:its|their)\b",
    plural_possessive="their",
    pronoun=(
        r"\b(?:(?P<plural>they|them|these|those|both)|(?P<singular>it|this)"
        r"|(?:is|was|do|does|did|can|of|to|by|for|at|use|like|with|into|from|after|before|about|why|how|explain)\s+"
        r"(?P<that>that)|(?P<last>that)$|(?<!which\s)(?<!the\s)(?P<one>ones?)(?=$|\s+with(?:out)?\b))\b(?!\s+other\b)"
    ),
    which=r"which(?:\s+(?P<one>one|ones|two)\b(?!\s+of\b)|(?=\s+(?:is|are|was|has|have|does|do|can|should)\b))",
    clause_end=r"[,;]|\b(?:and|but|when|if|because|while|after|before|then|or|that)\b",
    keyword_prepositions=frozenset("for while if with as in when than like".split()),
    conditions=frozenset({"if", "when"}),
    subject=rf"(?:\S+\s+)*?{_READER}\s+",
)

_FILLER = r"(?:,? (?:there|again|all|everyone|you|ya|bot|friend|assistant|so|very|much|a lot|for now|then|later|soon))*"
_GREETING = rf"(?:hi+|hello+|hey+|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)){_FILLER}"
_ASKED = r"(?:(?:please|now|just) |(?:can|could|would|will) (?:you|u) (?:please )?|i (?:want|need) you to )*"
# "You" often means anyone ("How do you open a file?"), so these say what only the assistant can be or do.
_ABOUT_ASSISTANT = (
    r"(?:who|what|how|where|how old|when|why) (?:exactly )?(?:are|were) (?:you|u)"
    r"(?: (?:doing|feeling|from|today|so|called|up to|thinking|wearing|here|told|trained)\b.*)?",
    r"(?:are|aren't|were) (?:you|u) "
    r"(?!(?:able|allowed|supposed|required|expected|meant|limited|forced|free)\b|\w+ing\b).{1,40}",
    r"(?:do|did|can|could|will|would) (?:you|u) (?:ever |really |also )?(?:sleep|dream|eat|drink|feel|love|hate|hear"
    r"|see me|speak|remember me|know (?:me|who|everything)|understand me|get (?:tired|bored)"
    r"|have (?:an? )?(?:name|feelings?|body|friends?|family|soul|emotions?))\b.{0,30}",
    r"who (?:made|created|built|trained|programmed|designed|invented|developed|owns|wrote|runs) you",
    r"what (?:can|do|could) you (?:do|know|offer|think|help(?: me)? with)(?: (?:for me|of me))?",
    r"(?:.* )?(?:about|describe|introduce) (?:yourself|you)",
    r"how(?:'s| is) (?:it going|life|your day)|how do you do|how are things",
    r"where do you (?:live|come from|sleep)|(?:is )?any(?:body|one) (?:there|here|home)|never ?mind(?:,? forget it)?",
    r"(?:i|we) (?:really )?(?:love|hate|like|miss) you\b.*",
    r"you(?:'re| are) (?:now|my|an?|so|the|very|\w+$)(?!.*\b(?:how|what|which|why)\b).*",
    r"i(?:'m| am) (?:so |very |really )?(?:bored|tired|sad|lonely|hungry|happy|in love)\b.*|my name is [\w ]{1,30}",
    r"(?:please )?help(?: me)?(?: please)?|(?:can|could) you help(?: me)?",
    r"yes|no|ok|(?:okay|cool)(?:,? great)?|wow|lol|haha+|sorry|hm+|huh|what|really|yes please|why not",
    r"(?:what(?:'?s| is| are| was| were)|who(?:'?s| is| are)|tell me) your (?:(?:full|real|own|favou?rite) )*"
    r"(?:names?|age|birthday|colou?r|food|movie|song|gender|job|hobby|hobbies|feelings|opinion|creator|maker|developer"
    r"|owner|passwords?|secrets?|limits?|capabilities|skills|purpose|mood|plans)\b.*",
    r"(?!(?:how|where|when|why|which)\b)(?:.* )?your (?:(?:full|system|initial|hidden|secret|own) )*"
    r"(?:prompts?|system messages?|instructions|rules|restrictions|api keys?|training data)\b.*",
)
_WORK = (
    r"(?:(?:a|an|another|some|my|the|one|your|short|funny|good|long|nice|new|quick|little|bedtime|love|formal|best) )+"
    r"(?:jokes?|story|poem|haiku|limerick|riddle|song|rap|lyrics|essay|e-?mail|(?:cover )?letter|tweet|speech|toast"
    r"|recipe|compliment|fun fact|horoscope|novel|resume|\w+ (?:essay|poem|homework))\b.*"
)
_ORDERS = (
    rf"(?:tell|write|sing|compose|recite|draft|make|give)(?: me| us)? {_WORK}|(?:do you know|got|have you got) {_WORK}",
    r"(?:act|behave|talk|speak|respond) (?:as|like) (?:an?|my|if)\b.*",
    r"(?:pretend|imagine) (?:to be|(?:that )?you(?:'re| are| were| have no| can))\b.*|role-?play .*",
    r"(?:ignore|forget|disregard) (?:all|any|every|everything|what|your|my|the|these|those|previous|prior)\b.*"
    r"\b(?:instructions?|rules|prompts?|told|above|previous|book)\b.*",
    r"repeat (?:after me|the word|everything)\b.*|say \S+(?: in \w+)?",
    r"translate .* (?:in)?to (?:english|french|spanish|german|italian|chinese|japanese|russian|portuguese|dutch|latin)",
    r"sing\b.*|dance\b.*|play (?:some|me)\b.*|play (?:music|a song|a game|chess|with me)\b.*",
    r"guess my (?:age|name|mood)|draw me .*|remind me to .*|call (?:me\b.*|my (?:mother|boss))",
    r"(?:set|start) an? (?:alarm|timer|reminder) (?:for|at|in) (?:\d|\w+ (?:minutes?|hours?)).*",
    r"order (?:me )?(?:an?|some) (?:pizza|food|coffee|taxi)\b.*",
    r"recommend (?:me )?an? (?:movie|film|song|restaurant)\b.*",
    r"book (?:me )?an? (?:flight|hotel|table|room|taxi|ticket)\b.*",
)
_DIGITS_OR_WORD = (
    r"(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand)"
)
_OPERATOR = r"(?:[-+*x×/÷^−]|plus|minus|times|multiplied by|divided by|percent of|% of)"
_ARITHMETIC = (
    r"(?:(?:what(?:'?s| is| are| does)?|how much is|calculate|compute|solve) )?(?:the )?"
    rf"(?:(?:square|cube) root of {_DIGITS_OR_WORD}|{_DIGITS_OR_WORD}(?: ?{_OPERATOR} ?{_DIGITS_OR_WORD})+)"
    r" ?(?:equals?|make|=)?"
)

_SMALL_TALK = SmallTalkForms(
    phrases={
        "greeting": rf"{_GREETING}|what'?s up|sup",
        "thanks": r"(?:(?:ok|okay|great|cool|perfect|many|no),? )*(?:thanks?|thx|ty|cheers|thank you)"
        r"(?:,? (?:so much|very much|a lot|again|for [\w ]{1,20}|(?:that|this|it) [\w ]{1,20}))*"
        r"|(?:that|this) (?:was |is )?(?:very |really )?(?:helped|helps|helpful|great|perfect)",
        "farewell": rf"(?:good ?)?bye+(?: bye)?{_FILLER}|see (?:you|ya){_FILLER}|good night|farewell|take care",
    },
    replies={
        "greeting": "Hello!",
        "thanks": "You are welcome!",
        "farewell": "Goodbye!",
        "other": "I only answer from the book.",
    },
    lead=rf"^(?:(?:{_GREETING}|ok|okay|so|and|well|please)[,!?. ]+)+",
    others=(*_ABOUT_ASSISTANT, *(f"{_ASKED}(?:{order})" for order in _ORDERS), _ARITHMETIC),
)

_BOOK = (
    r"(?:(?:this|the|your|that) (?:book|textbook)"
    r"|this (?:guide|manual|handbook|course|tutorial|documentation|docs|text|site|website))"
)
_BOOK_NOUN = r"(?:book|textbook|guide|course|manual|handbook|tutorial|documentation)"
_LEARN = r"what (?:will|can|do|would) i learn (?:from|in|with|by reading)"
_OVERVIEW = (
    r"(?:(?:give|show|tell) (?:me|us) )?(?:an? |the )?(?:(?:short|brief|quick) )?"
    r"(?:summary|overview|synopsis|description) of"
)
_TREATS = r"(?:cover|teach|contain|discuss|treat|deal with|talk about|include)"
_LIST = r"(?:(?:list|show|name|give|tell) (?:me |us )?(?:all )?(?:of )?)"
_CHAPTER_REFERENCE = (
    r"(?:(?P<unit>chapter|ch\.?|part|module|unit|lesson|week|section) (?:number |no\.?\s*|\#)?"
    rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS.below_twenty[1:13])})"
    rf"|the (?P<ordinal>{'|'.join(_ORDINAL_NAMES)}|last|final) chapter"
    r"|the (?:chapter|section|page|part) (?:on|about|called|titled|named) (?P<name>[^,;:?]+?)"
    r"|the (?P<title>[^,;:?]+?) chapter)"
)

_BOOK_QUESTIONS = BookQuestionForms(
    polite=(
        r"^(?:(?:hi|hello|hey|please|so|ok|okay|and|well)[,!]? "
        r"|(?:can|could|would|will) you (?:please )?|i (?:want|would like|'d like) to know )+"
        r"|(?:,?\s*(?:please|thanks|thank you|exactly))+$"
    ),
    this_book="this book",
    not_before_title=r"(?<!\bthis )(?<!\bthe )(?<!\byour )(?<!\bthat )",
    patterns={
        "subject": (
            rf"what(?:'s|s| is) {_BOOK}(?: all)?(?: about)?",
            rf"what does {_BOOK} {_TREATS}",
            rf"what is (?:covered|taught|discussed) in {_BOOK}",
            rf"what (?:is|are) the (?:subject|topic|topics|main topics?|main ideas?|purpose|aim) of {_BOOK}",
            rf"{_LEARN} {_BOOK}",
            rf"{_OVERVIEW} {_BOOK}",
            rf"(?:summari[sz]e|describe|introduce|explain) {_BOOK}",
            rf"tell (?:me|us) (?:more |something )?about {_BOOK}",
            r"about (?:this|the) book",
        ),
        "audience": (
            rf"who(?:'s|s|m| is) {_BOOK} (?:for|aimed at|written for|intended for|meant for)",
            rf"for whom is {_BOOK}(?: (?:written|meant|intended))?",
            rf"who (?:should|is supposed to|can) read {_BOOK}",
            rf"(?:who|what) is the (?:(?:target|intended) )?(?:audience|readership)(?: (?:of|for) {_BOOK})?",
            rf"is {_BOOK} (?:suitable )?for (?:me|beginners|experts|professionals|students|children)",
        ),
        "author": (
            rf"who (?:wrote|has written|authored|made|created) (?:this|it|{_BOOK})",
            rf"who (?:is|are) the (?:authors?|writers?)(?: of (?:this|{_BOOK}))?",
            rf"who is {_BOOK}(?: written)? by",
            r"(?:about )?the author",
        ),
        "citation": (
            rf"how (?:do|can|should|would|must) (?:i|we|you|one) (?:cite|reference) (?:this|it|{_BOOK})",
            rf"(?:how to )?cite (?:this|{_BOOK})",
            rf"(?:what is |(?:give|show) me )?(?:the |an? )?(?:bibtex|citation)(?: entry)? (?:of|for) {_BOOK}",
        ),
        "contents": (
            rf"{_LIST}?(?:the |its )?(?:chapters|contents|table of contents|toc|chapter (?:list|titles)"
            rf"|list of chapters)(?: (?:of|in) {_BOOK})?",
            rf"{_LIST}(?:the )?(?:parts|topics|sections|headings) (?:of|in) {_BOOK}",
            rf"(?:what|which) (?:are the )?chapters(?: are (?:there|in {_BOOK}))?"
            rf"(?: (?:of|in) {_BOOK})?",
            rf"(?:what|which|how many) (?:chapters|parts|topics|sections) (?:does {_BOOK} (?:have|{_TREATS})"
            rf"|(?:are|is) (?:there )?(?:covered )?in {_BOOK})",
            r"how many chapters(?: (?:are there|is it|does it have))?",
            rf"how is {_BOOK} (?:organi[sz]ed|structured|divided|arranged)",
        ),
        "questions": (
            rf"what(?: (?:questions?|things?|kind of questions?|sort of questions?))? (?:can|could|should|may)"
            rf" i ask(?: (?:you|it|here|{_BOOK}))?(?: (?:about|here|about {_BOOK}))?",
            r"what (?:kind of |sort of )?questions (?:can|do) you answer",
        ),
        "chapter": (
            _CHAPTER_REFERENCE,
            rf"what(?:'s|s| is) (?:in )?{_CHAPTER_REFERENCE}(?: (?:all )?about)?",
            rf"what does {_CHAPTER_REFERENCE} {_TREATS}",
            rf"what is (?:covered|taught|discussed|explained) in {_CHAPTER_REFERENCE}",
            rf"(?:what|which) (?:topics|sections) (?:are in|does) {_CHAPTER_REFERENCE}(?: (?:have|{_TREATS}))?",
            rf"{_LEARN} {_CHAPTER_REFERENCE}",
            rf"{_OVERVIEW} {_CHAPTER_REFERENCE}",
            rf"(?:summari[sz]e|describe|outline|introduce|explain) {_CHAPTER_REFERENCE}",
            rf"(?:give|show|tell) (?:me|us) (?:more )?(?:about )?{_CHAPTER_REFERENCE}",
            rf"{_LIST}(?:the )?(?:sections|topics|headings|contents) (?:of|in) {_CHAPTER_REFERENCE}",
        ),
    },
    sections={
        "subject": rf"about (?:this|the) {_BOOK_NOUN}|what (?:is )?this {_BOOK_NOUN}(?: (?:is )?(?:about|covers|is))?",
        "audience": rf"who (?:is )?(?:(?:this|the) {_BOOK_NOUN}|it|this) (?:is )?(?:for|aimed at)"
        r"|who should (?:read|use) .*|(?:target |intended )?audience|for whom .*|(?:target|intended) readers?",
        "author": r"(?:about )?(?:the )?authors?(?: and contributors)?",
    },
    citation_section=r"(?:how to )?(?:cit(?:e|ing|ations?)|bibtex)\b",
    front_matter="dedication|preface|foreword|acknowledg|copyright|licen[sc]e|title page|cover",
)

ENGLISH = Language(
    name="English",
    bm25="english",
    words=_WORDS,
    sentences=_SENTENCES,
    questions=_QUESTIONS,
    phrases=_PHRASES,
    follow_ups=_FOLLOW_UPS,
    small_talk=_SMALL_TALK,
    book_questions=_BOOK_QUESTIONS,
    quotes=_QUOTES,
    claims=_CLAIMS,
    numbers=_NUMBERS,
    models=_MODELS,
)
