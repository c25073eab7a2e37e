"""Where pycaffe's blobs live: between the layers of a net, or in a layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from netdsl.layer import Layer, Shape


class Store:
    """Memory for one array. As in Caffe, another shape moves it only if it has to grow.

    Until somebody looks, it is simply the tensor that was computed last. Once shown it stays in its place and new
    values are copied there, because a script may hold on to an array and expect to see them.
    """

    def __init__(self, shape: Shape, device: torch.device, value: float = 0.0) -> None:
        self.shape, self.stays = shape, False
        self._device, self._value = device, value
        self._flat: Tensor | None = None

    def read(self) -> Tensor:
        """The values, for layers to compute with."""
        count = math.prod(self.shape)
        if self._flat is None:
            self._flat = torch.full((count,), self._value, device=self._device)
        return self._flat[:count].view(self.shape)

    def show(self) -> Tensor:
        """The values, for people to read and write."""
        if not self.stays:
            self._flat, self.stays = self.read().flatten().clone(), True
        return self.read()

    def put(self, tensor: Tensor) -> None:
        """New values."""
        self.resize(tuple(tensor.shape))
        if self.stays:
            self.read().data.copy_(tensor)  # .data, since autograd needn't know what pycaffe's arrays share
        else:
            self._flat = tensor.detach().flatten()

    def adopt(self, tensor: Tensor) -> None:
        """Be the memory of a tensor that stays."""
        self.shape, self._flat, self.stays = tuple(tensor.shape), tensor.detach().flatten(), True

    def resize(self, shape: Shape) -> None:
        """Take another shape; what was there remains if it has the room."""
        self.shape = shape
        if self._flat is not None and math.prod(shape) > self._flat.numel():
            self._flat = None


class Activation:
    """A blob between layers, which in-place layers share. A top that counts as a loss has its weight as gradient."""

    def __init__(self, shape: Shape, device: torch.device, weight: float = 0.0) -> None:
        self.data, self.diff = Store(shape, device), Store(shape, device, weight)

    @property
    def shape(self) -> Shape:
        """The lengths of all axes."""
        return self.data.shape

    def values(self) -> Tensor:
        """What was computed last, or written since."""
        return self.data.show()

    def gradient(self) -> Tensor:
        """What the last backward pass left, or what was written since."""
        return self.diff.show()

    def resize(self, shape: Shape) -> None:
        """Become a blob of another shape."""
        self.data.resize(shape)
        self.diff.resize(shape)


class Learned:
    """A layer's own blob. Its gradient is the sum of all since they were last cleared."""

    def __init__(self, layer: Layer, name: str) -> None:
        self.layer, self.name = layer, name

    @property
    def shape(self) -> Shape:
        """The lengths of all axes."""
        return tuple(self.values().shape)

    def values(self) -> Tensor:
        """The parameter or the statistics."""
        tensor: Tensor = getattr(self.layer, self.name)
        return tensor

    def gradient(self) -> Tensor:
        """The sum of the gradients, in the place that optimisers know."""
        owner = self.layer.owner_of(self.name)
        if owner.grad is None:
            owner.grad = torch.zeros_like(owner, requires_grad=False)
        return owner.grad.view(self.values().shape)

    def resize(self, shape: Shape) -> None:
        """Take another shape; values remain if there is room for them."""
        owner = self.layer.owner_of(self.name)
        gradient, owner.grad = owner.grad, None
        owner.data = _refit(owner.data, shape)
        owner.grad = None if gradient is None else _refit(gradient, shape)


def _refit(tensor: Tensor, shape: Shape) -> Tensor:
    count, flat = math.prod(shape), tensor.flatten()
    return flat[:count].view(shape) if count <= flat.numel() else tensor.new_zeros(shape)
