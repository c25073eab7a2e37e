"""The permutohedral lattice of Adams, Baek and Davis (2010): a blur over points with many features, in linear time.

Each point adds its values to the corners of the simplex around it, the corners are blurred along each axis of the
lattice, and each point reads the result from its corners. Features are in units of the blur's standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from netdsl.errors import NetError
from netdsl.layers._constants import constants

_MOST_PLACES = 2**62  # a corner is identified by one number, which must fit into 64 bits


@dataclass(frozen=True)
class Lattice:
    """The lattice corners around some points. The index behind the last corner stands for corners that aren't
    stored."""

    corners: Tensor  # points x (features + 1): the corners around each point
    shares: Tensor  # same shape: the weight of each corner
    neighbors: Tensor  # axes x 2 x corners: the adjacent corners on both sides

    @classmethod
    def of(cls, features: Tensor) -> Lattice:
        """Return the lattice for points x features."""
        keys, shares = _simplices(features.detach().float())
        places, steps = _places(keys)
        known, corners = torch.unique(places, return_inverse=True)
        return cls(corners, shares, torch.stack([_neighbors(known, step) for step in steps]))

    def blur(self, values: Tensor, *, reverse: bool = False) -> Tensor:
        """Return the blurred values (channels x points). `reverse` visits the axes in reverse order, for gradients."""
        corners = self._spread(values.T)
        for before, after in self.neighbors.flip(0) if reverse else self.neighbors:
            corners = corners + 0.5 * F.pad(corners[before] + corners[after], [0, 0, 0, 1])
        points = torch.zeros_like(values.T)
        for corner, share in zip(self.corners.T, self.shares.to(values.dtype).T, strict=True):
            points += share[:, None] * corners[corner]
        return points.T / (1 + 2.0 ** -(self.corners.shape[1] - 1))

    def _spread(self, points: Tensor) -> Tensor:
        """Return the sums of the points' values at the corners, and a row of zeros for corners that aren't stored."""
        corners = points.new_zeros(self.neighbors.shape[2] + 1, points.shape[1])
        for corner, share in zip(self.corners.T, self.shares.to(points.dtype).T, strict=True):
            corners.index_add_(0, corner, share[:, None] * points)
        return corners


class _Filtered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, lattice: Lattice) -> Tensor:
        ctx.lattice = lattice
        return lattice.blur(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.lattice.blur(gradients[0], reverse=True), None


def blurred(values: Tensor, lattice: Lattice) -> Tensor:
    """Return values (channels x points) blurred over a lattice, with a gradient."""
    result: Tensor = _Filtered.apply(values, lattice)  # type: ignore[no-untyped-call]
    return result


def _elevated(features: Tensor) -> Tensor:
    """Return the points on the plane of the lattice, where coordinates add up to 0 and the blur has a deviation of
    1."""
    count = features.shape[1]
    order = torch.arange(1, count + 1, device=features.device, dtype=features.dtype)
    scaled = features * ((count + 1) * math.sqrt(2 / 3) / (order * (order + 1)).sqrt())
    sums = F.pad(scaled.flip(1).cumsum(1).flip(1), [0, 1])  # the sums of the features from each index on
    return sums - F.pad(scaled * order, [1, 0])


def _simplices(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return the corners of the simplex around each point, and the point's weights for them.

    The corners are points x corners x features.
    """
    count = features.shape[1]
    elevated = _elevated(features)
    turns = (elevated / (count + 1)).round()
    nearest, total = turns * (count + 1), turns.sum(1, keepdim=True)
    rank = _ranks(elevated - nearest) + total
    wrap = (count + 1) * ((rank < 0).to(rank) - (rank > count).to(rank))
    rank, nearest = (rank + wrap).long(), nearest + wrap
    shares = _barycentric((elevated - nearest) / (count + 1), rank)
    corner = torch.arange(count + 1, device=features.device)[:, None]
    offsets = corner - (count + 1) * (rank[:, None, :count] > count - corner)
    return nearest[:, None, :count].long() + offsets, shares


def _ranks(distances: Tensor) -> Tensor:
    """Return how many coordinates of a point are larger than each. Among equal coordinates, the first counts as
    larger."""
    ours, theirs = distances[:, :, None], distances[:, None]
    later = torch.ones_like(ours[:1] + theirs[:1]).triu(1).bool()
    return torch.where(later, ours < theirs, ours <= theirs).to(distances).sum(2) - 1


def _barycentric(distances: Tensor, rank: Tensor) -> Tensor:
    count = rank.shape[1]
    shares = distances.new_zeros(len(distances), count + 1)
    shares.scatter_add_(1, count - 1 - rank, distances)
    shares.scatter_add_(1, count - rank, -distances)
    first = shares[:, :1] + 1 + shares[:, count:]
    return torch.cat((first, shares[:, 1:count]), 1)


def _places(keys: Tensor) -> tuple[Tensor, list[int]]:
    """Return a number for each corner, and by how much it differs from the next corner's along each axis."""
    count = keys.shape[2]
    least = keys.amin((0, 1)) - count
    lengths = [int(length) for length in keys.amax((0, 1)) + count + 1 - least]
    if math.prod(lengths) > _MOST_PLACES:
        raise NetError("the image's colors vary too much for the lattice; raise theta_beta")
    radix = [math.prod(lengths[axis + 1 :]) for axis in range(count)]
    places = ((keys - least) * constants(radix, keys)).sum(2)
    return places, [(count + 1) * step - sum(radix) for step in (*radix, 0)]


def _neighbors(known: Tensor, step: int) -> Tensor:
    """Return the indices of the corners before and after each known corner. The known corners are sorted."""
    sought = torch.stack((known - step, known + step))
    at = torch.searchsorted(known, sought).clamp_max(len(known) - 1)
    return torch.where(known[at] == sought, at, len(known))
