"""The numbers that every part of the training shares with the product."""

LAYERS, HIDDEN, HEADS, INNER, WORDS, PLACES = 6, 384, 12, 1536, 30522, 512
LONGEST, LONGEST_QUESTION, LONGEST_TEXT = 320, 64, 254
CLS, SEP = 101, 102
FAR = -1e4
"""The logit of a place where no answer can be."""
