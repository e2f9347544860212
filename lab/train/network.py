"""The networks in PyTorch: the encoders, and the heads of reader and embedder."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.train.constants import BASE, CLS, IMPOSSIBLE_LOGIT, SEP
from lab.train.packed_weights import load_base_weights, load_weights, save_weights
from lab.train.quantization import Weights
from lab.train.shapes import (
    MPNET_CLS,
    MPNET_ID_SHIFT,
    MPNET_SEP,
    RELATIVE_BUCKETS,
    SHAPES,
    EncoderShape,
    relative_buckets,
)

DROPOUT = 0.1
WORD_TABLE = "words.weight"
TABLES = (WORD_TABLE, "places.weight", "types.weight")


class Layer(nn.Module):
    """One layer: attention and a feed-forward network, each with a residual connection and normalisation."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        hidden, self.heads = shape.hidden, shape.heads
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.inner, self.outer = nn.Linear(hidden, shape.feed_forward), nn.Linear(shape.feed_forward, hidden)
        self.norm1, self.norm2 = (nn.LayerNorm(hidden, shape.norm_epsilon) for _ in range(2))

    def forward(self, x: Tensor, bias: Tensor | None) -> Tensor:
        rows, length, hidden = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, bias)
        seen = self.out(seen.transpose(1, 2).reshape(rows, length, hidden))
        x = self.norm1(x + functional.dropout(seen, DROPOUT, self.training))
        fed = self.outer(functional.gelu(self.inner(x)))
        return self.norm2(x + functional.dropout(fed, DROPOUT, self.training))


class Encoder(nn.Module):
    """One vector per token; it takes BERT's token ids, also if it is an MPNet."""

    def __init__(self, kind: str = "gte") -> None:
        super().__init__()
        self.shape = shape = SHAPES[kind]
        self.words = nn.Embedding(shape.vocabulary_size, shape.hidden)
        self.places = nn.Embedding(shape.max_positions, shape.hidden)
        self.types = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, shape.norm_epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        if shape.is_mpnet:
            self.rel = nn.Embedding(RELATIVE_BUCKETS, shape.heads)
            self.register_buffer("buckets", torch.from_numpy(relative_buckets(shape.max_positions)), persistent=False)

    @classmethod
    def pretrained(cls, kind: str, folder: Path = BASE) -> Encoder:
        """Loads the published weights."""
        encoder = cls(kind)
        encoder.load_state_dict(as_tensors(load_base_weights(kind, folder)))
        return encoder

    def forward(self, ids: Tensor, mask: Tensor | None, types: Tensor) -> Tensor:
        """One vector per token; without a mask all tokens are read."""
        return self.run_layers(self.embed_tokens(ids, types), mask)

    def embed_tokens(self, ids: Tensor, types: Tensor) -> Tensor:
        """The vectors of the tokens before the first layer."""
        if self.shape.is_mpnet:
            shifted = torch.where(ids == SEP, MPNET_SEP, ids + MPNET_ID_SHIFT)
            ids = torch.where(ids == CLS, MPNET_CLS, shifted)
        places = torch.arange(ids.shape[1], device=ids.device) + self.shape.first_position
        return self.norm(self.words(ids) + self.places(places) + self.types(types))

    def run_layers(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Drops some of the input and runs all layers on it."""
        x = functional.dropout(x, DROPOUT, self.training)
        half = torch.is_autocast_enabled(x.device.type)
        # Converted once here, not again in every layer.
        bias = self._attention_bias(x, mask, torch.get_autocast_dtype(x.device.type) if half else x.dtype)
        for layer in self.layers:
            x = layer(x, bias)
        return x

    def _attention_bias(self, x: Tensor, mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
        """What is added to the attention scores: MPNet's bias by distance, and a large negative one at padding."""
        rows, length, _ = x.shape
        bias = None
        if self.shape.is_mpnet:
            at = torch.arange(length, device=x.device)
            buckets = self.buckets[at[:, None] - at[None, :] + self.shape.max_positions]
            bias = self.rel(buckets).permute(2, 0, 1)[None].to(dtype).expand(rows, -1, -1, -1)
        if mask is None:
            return bias
        padding = ((1 - mask)[:, None, None, :] * IMPOSSIBLE_LOGIT).to(dtype)
        return padding.expand(-1, self.shape.heads, length, -1) if bias is None else bias + padding


class Embedder(nn.Module):
    """The normalised mean of a text's token vectors."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.encoder(ids, mask, torch.zeros_like(ids))
        weight = mask[..., None].to(x.dtype)
        return functional.normalize((x * weight).sum(1) / weight.sum(1), dim=-1)


class Reader(nn.Module):
    """Reads a pair of texts: start and end of an answer, whether there is one, whether a claim is supported.

    Whether there is an answer is said from the first vector and from the words that the span heads point at.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        hidden = encoder.shape.hidden
        self.encoder = encoder
        self.span = nn.Linear(hidden, 2)
        self.answers = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))
        self.supported = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    @classmethod
    def load(cls, file: Path, base: Path = BASE) -> Reader:
        """Loads a trained reader; its file leaves out the word table, which is not trained."""
        weights = load_weights(file)
        hidden = weights["span.weight"].shape[1]
        kind = next(name for name in ("mpnet", "gte") if SHAPES[name].hidden == hidden)
        words = {f"encoder.{WORD_TABLE}": load_base_weights(kind, base)[WORD_TABLE]}
        reader = cls(Encoder(kind))
        reader.load_state_dict(as_tensors(weights | words))
        return reader

    def forward(self, ids: Tensor, mask: Tensor | None, types: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        x = self.encoder(ids, mask, types)
        inside = (types if mask is None else types * mask)[..., None].float()
        logits = self.span(x).float() * inside + IMPOSSIBLE_LOGIT * (1 - inside)
        weights = logits.softmax(1).to(x.dtype)
        pointed = torch.einsum("btc,bth->bch", weights, x).flatten(1)
        first = functional.dropout(x[:, 0], DROPOUT, self.training)
        answers = self.answers(torch.cat([first, pointed], 1)).squeeze(1).float()
        supported = self.supported(first).squeeze(1).float()
        return logits[..., 0], logits[..., 1], answers, supported


def as_tensors(weights: Weights) -> dict[str, Tensor]:
    return {name: torch.tensor(values) for name, values in weights.items()}


def save_trained(network: nn.Module, file: Path) -> None:
    """Writes all weights of a network but its word table."""
    trained = {name: part for name, part in network.state_dict().items() if not name.endswith(WORD_TABLE)}
    save_weights({name: part.float().cpu().numpy() for name, part in trained.items()}, file)
