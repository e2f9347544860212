"""Constants that the training shares with the product."""

LAYERS, HIDDEN, HEADS, FEED_FORWARD, VOCABULARY_SIZE, MAX_POSITIONS = 6, 384, 12, 1536, 30522, 512
MAX_TOKENS, MAX_QUESTION_TOKENS, MAX_TEXT_TOKENS = 320, 64, 254
CLS, SEP = 101, 102
IMPOSSIBLE_LOGIT = -1e4
"""The logit of a token that cannot be in an answer."""
