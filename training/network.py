"""The networks in plain PyTorch: the encoder they start from, and the reader's heads on it."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from training.shape import FAR, HEADS, HIDDEN, INNER, LAYERS, PLACES, WORDS

DROPOUT = 0.1


class Layer(nn.Module):
    """One layer of the encoder: attention, then a feed-forward net, each added to its input and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.outer = nn.Linear(INNER, HIDDEN)
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
    """MiniLM-L6: word pieces to one vector each."""

    TABLES = ("words.weight", "places.weight", "types.weight")

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, HIDDEN)
        self.places = nn.Embedding(PLACES, HIDDEN)
        self.types = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor | None, types: Tensor) -> Tensor:
        """A vector for each word piece; without a mask all of them are read."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places) + self.types(types))
        x = functional.dropout(x, DROPOUT, self.training)
        seen = None if mask is None else mask.bool()[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
        for layer in self.layers:
            x = layer(x, seen)
        return x

    @classmethod
    def pretrained(cls, file: Path) -> Encoder:
        """The encoder with the weights it was published with."""
        given = {name: value.float() for name, value in load_file(file).items()}
        encoder = cls()
        kept = {
            "words.weight": given["embeddings.word_embeddings.weight"],
            "places.weight": given["embeddings.position_embeddings.weight"],
            "types.weight": given["embeddings.token_type_embeddings.weight"],
            "norm.weight": given["embeddings.LayerNorm.weight"],
            "norm.bias": given["embeddings.LayerNorm.bias"],
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
                parts = [given[f"{theirs}.attention.self.{part}.{end}"] for part in ("query", "key", "value")]
                kept[f"layers.{i}.qkv.{end}"] = torch.cat(parts)
                kept |= {f"layers.{i}.{our}.{end}": given[f"{theirs}.{their}.{end}"] for our, their in names.items()}
        encoder.load_state_dict(kept)
        return encoder


class Embedder(nn.Module):
    """The mean of a text's word vectors, at length one."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.encoder(ids, mask, torch.zeros_like(ids))
        weight = mask[..., None].to(x.dtype)
        return functional.normalize((x * weight).sum(1) / weight.sum(1), dim=-1)


class Reader(nn.Module):
    """Reads a pair of texts: where an answer starts and ends, whether there is one, whether a claim is supported.

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
        logits = self.span(x).float() * inside + FAR * (1 - inside)
        weights = logits.softmax(1).to(x.dtype)
        pointed = torch.einsum("btc,bth->bch", weights, x).flatten(1)
        first = functional.dropout(x[:, 0], DROPOUT, self.training)
        answers = self.answers(torch.cat([first, pointed], 1)).squeeze(1).float()
        supported = self.supported(first).squeeze(1).float()
        return logits[..., 0], logits[..., 1], answers, supported
