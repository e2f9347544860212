"""Constants of the training: token ids, lengths and files."""

from pathlib import Path

MAX_TOKENS, MAX_QUESTION_TOKENS, MAX_CLAIM_TOKENS, MAX_TEXT_TOKENS = 352, 64, 128, 254
"""How much a reader reads of a pair, a question and a claim, and the embedder of a text, without its special tokens."""
CLS, SEP = 101, 102
IMPOSSIBLE_LOGIT = -1e4
"""The logit of a token that cannot be in an answer."""
OUT = Path("lab/train/out")
BASE = OUT / "base"
TWIN_SOURCES = ("twins", "draft_twins")
"""The claims that were written in pairs of a true and a false one."""
ADAPTER = "adapter.safetensors"
"""The strong reader's low-rank changes for claims, next to its weights."""
DELTA, DOWN, UP = ".delta", ".down", ".up"
"""The endings of a change of a layer, and of the two factors of a low-rank one."""
CLAIM_HEAD = "supported."
"""The beginning of the names of the weights of the head for claims."""
IS_CLAIM = "is_claim"
"""The input of the strong reader that turns these changes on."""
MODELS = Path("src/bookbound/models")
TOKENIZER = MODELS / "tokenizer.json"
STRONG_READER, STRONG_WORDS, CLAIM_WEIGHTS = "strong-reader.onnx", "strong-reader-words.bin", "claim-weights.npz"
FAST_READER, EMBEDDER = "fast-reader.onnx", "embedder.onnx"
NETWORK_FILES = (STRONG_READER, STRONG_WORDS, CLAIM_WEIGHTS, FAST_READER, EMBEDDER)
MAX_FILE_BYTES = 95_000_000
