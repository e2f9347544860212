"""The networks in PyTorch: the encoder, and the heads of the reader."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from training.constants import FEED_FORWARD, HEADS, HIDDEN, IMPOSSIBLE_LOGIT, LAYERS, MAX_POSITIONS, VOCABULARY_SIZE

DROPOUT = 0.1


class Layer(nn.Module):
    """One layer: attention and a feed-forward network, each with a residual connection and normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.inner = nn.Linear(HIDDEN, FEED_FORWARD)
        self.outer = nn.Linear(FEED_FORWARD, HIDDEN)
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN, 1e-12), nn.LayerNorm(HIDDEN, 1e-12)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, mask)
        seen = self.out(seen.transpose(1, 2).reshape(rows, length, HIDDEN))
        x = self.norm1(x + functional.dropout(seen, DROPOUT, self.training))
        fed = self.outer(functional.gelu(self.inner(x)))
        return self.norm2(x + functional.dropout(fed, DROPOUT, self.training))


class Encoder(nn.Module):
    """MiniLM-L6: one vector per token."""

    TABLES = ("words.weight", "places.weight", "types.weight")

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY_SIZE, HIDDEN)
        self.places = nn.Embedding(MAX_POSITIONS, HIDDEN)
        self.types = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor | None, types: Tensor) -> Tensor:
        """One vector per token; without a mask all tokens are read."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places) + self.types(types))
        x = functional.dropout(x, DROPOUT, self.training)
        seen = None if mask is None else mask.bool()[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
        for layer in self.layers:
            x = layer(x, seen)
        return x

    @classmethod
    def pretrained(cls, file: Path) -> Encoder:
        """Loads the published weights."""
        published = {name: value.float() for name, value in load_file(file).items()}
        encoder = cls()
        weights = {
            "words.weight": published["embeddings.word_embeddings.weight"],
            "places.weight": published["embeddings.position_embeddings.weight"],
            "types.weight": published["embeddings.token_type_embeddings.weight"],
            "norm.weight": published["embeddings.LayerNorm.weight"],
            "norm.bias": published["embeddings.LayerNorm.bias"],
        }
        names = {
            "out": "attention.output.dense",
            "norm1": "attention.output.LayerNorm",
            "inner": "intermediate.dense",
            "outer": "output.dense",
            "norm2": "output.LayerNorm",
        }
        for i in range(LAYERS):
            theirs = f"encoder.layer.{i}"
            for end in ("weight", "bias"):
                parts = [published[f"{theirs}.attention.self.{part}.{end}"] for part in ("query", "key", "value")]
                weights[f"layers.{i}.qkv.{end}"] = torch.cat(parts)
                weights |= {
                    f"layers.{i}.{our}.{end}": published[f"{theirs}.{their}.{end}"] for our, their in names.items()
                }
        encoder.load_state_dict(weights)
        return encoder


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
        self.encoder = encoder
        self.span = nn.Linear(HIDDEN, 2)
        self.answers = nn.Sequential(nn.Linear(3 * HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))
        self.supported = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

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
