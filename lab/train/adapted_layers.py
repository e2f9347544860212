"""Linear layers with a low-rank change of 4-bit weights, which stays trainable."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.train.constants import DOWN, UP
from lab.train.network import Reader
from lab.train.quantization import LARGEST_4_BIT, Weights, fit_scales


class FourBitMatrix(nn.Module):
    """A matrix that is rounded to 4 bits with one scale per row when it is used; gradients pass the rounding."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__()
        self.register_buffer("scales", torch.from_numpy(fit_scales(matrix.numpy(), LARGEST_4_BIT))[:, None])
        self.latent = nn.Parameter(matrix)

    def forward(self) -> Tensor:
        rounded = (self.latent / self.scales).round().clamp(-LARGEST_4_BIT, LARGEST_4_BIT) * self.scales
        return self.latent + (rounded - self.latent).detach()


class AdaptedLinear(nn.Module):
    """A linear layer and the two factors of its change."""

    def __init__(self, layer: nn.Linear, down: Tensor, up: Tensor) -> None:
        super().__init__()
        self.layer, self.down, self.up = layer, FourBitMatrix(down), FourBitMatrix(up)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.layer.weight + self.up() @ self.down(), self.layer.bias)


def adapt_layers(reader: Reader, adapter: Weights) -> dict[str, AdaptedLinear]:
    """Gives all linear layers of the encoder their change, and returns these layers by name."""
    linear = {name: layer for name, layer in reader.named_modules() if isinstance(layer, nn.Linear)}
    adapted = {}
    for name in (name.removesuffix(DOWN) for name in adapter if name.endswith(DOWN)):
        down, up = (torch.tensor(adapter[name + ending]) for ending in (DOWN, UP))
        adapted[name] = AdaptedLinear(linear[name], down, up)
        parent, _, child = name.rpartition(".")
        setattr(reader.get_submodule(parent), child, adapted[name])
    return adapted


def collect_factors(layers: dict[str, AdaptedLinear]) -> Weights:
    """The rounded factors of all layers; one whose rows no longer reach the largest integer is rounded again later."""
    with torch.no_grad():
        return {
            name + ending: matrix().float().cpu().numpy()
            for name, layer in layers.items()
            for ending, matrix in ((DOWN, layer.down), (UP, layer.up))
        }
