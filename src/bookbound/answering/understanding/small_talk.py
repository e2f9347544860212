"""Recognizes messages to the assistant itself, which no book answers."""

from __future__ import annotations

import re
from functools import cache

from bookbound.domain.understanding import SmallTalk
from bookbound.text.prompt_injection import is_prompt_injection

_FILLER = r"(?:,? (?:there|again|all|everyone|you|ya|bot|friend|assistant|so|very|much|a lot|for now|then|later|soon))*"
_GREETING = rf"(?:hi+|hello+|hey+|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)){_FILLER}"
_PHRASES: dict[SmallTalk, str] = {
    "greeting": rf"{_GREETING}|what'?s up|sup",
    "thanks": r"(?:(?:ok|okay|great|cool|perfect|many|no),? )*(?:thanks?|thx|ty|cheers|thank you)"
    r"(?:,? (?:so much|very much|a lot|again|for [\w ]{1,20}|(?:that|this|it) [\w ]{1,20}))*"
    r"|(?:that|this) (?:was |is )?(?:very |really )?(?:helped|helps|helpful|great|perfect)",
    "farewell": rf"(?:good ?)?bye+(?: bye)?{_FILLER}|see (?:you|ya){_FILLER}|good night|farewell|take care",
}
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
_NUMBER = r"(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand)"
_OPERATOR = r"(?:[-+*x×/÷^−]|plus|minus|times|multiplied by|divided by|percent of|% of)"
_ARITHMETIC = (
    r"(?:(?:what(?:'?s| is| are| does)?|how much is|calculate|compute|solve) )?(?:the )?"
    rf"(?:(?:square|cube) root of {_NUMBER}|{_NUMBER}(?: ?{_OPERATOR} ?{_NUMBER})+) ?(?:equals?|make|=)?"
)
_LEAD = rf"(?:(?:{_GREETING}|ok|okay|so|and|well|please)[,!?. ]+)+"


@cache
def _compile_messages() -> re.Pattern[str]:
    messages = (*_ABOUT_ASSISTANT, *(f"{_ASKED}(?:{order})" for order in _ORDERS), _ARITHMETIC)
    return re.compile("|".join(f"(?:{each})" for each in messages), re.I)


def recognize_small_talk(text: str) -> SmallTalk | None:
    """Returns the kind of a message that addresses the assistant or gives it an order, or nothing for a question."""
    text = " ".join(text.replace("’", "'").split()).strip("?!.,;:~() ")
    for kind, phrases in _PHRASES.items():
        if re.fullmatch(phrases, text, re.I):
            return kind
    rest = re.sub(f"^{_LEAD}", "", text, flags=re.I)
    return "other" if _compile_messages().fullmatch(rest) or is_prompt_injection(rest) else None
