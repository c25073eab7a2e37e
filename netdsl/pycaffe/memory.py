"""The memory of pycaffe's blobs: activations between layers, and parameters in layers."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from netdsl.layer import Layer, Shape
from netdsl.pycaffe import modes


class ArrayMemory:
    """The memory of one array. As in Caffe, a new shape allocates memory only if it has to grow.

    At first it is simply the tensor that was computed last. Once it is exposed to a script, it stays in place and new
    values are copied there, because the script may keep the array and expect to see them.
    """

    def __init__(self, shape: Shape, device: torch.device, value: float = 0.0) -> None:
        self.shape, self.is_exposed = shape, False
        self._device, self._value = device, value
        self._flat: Tensor | None = None

    def read(self) -> Tensor:
        """The values for the computation of layers."""
        count = math.prod(self.shape)
        if self._flat is None:
            self._flat = torch.full((count,), self._value, device=self._device)
        return self._flat[:count].view(self.shape)

    def show(self) -> Tensor:
        """The values for scripts to read and write."""
        if not self.is_exposed:
            self._flat, self.is_exposed = modes.join(self.read()).flatten().clone(), True
        return self.read()

    def put(self, tensor: Tensor) -> None:
        """Set new values."""
        self.resize(tuple(tensor.shape))
        if self.is_exposed:
            self.read().data.copy_(tensor)  # .data, since autograd needn't know what pycaffe's arrays share
        else:
            self._flat = tensor.detach().flatten()

    def adopt(self, tensor: Tensor) -> None:
        """Use the memory of a tensor from now on."""
        self.shape, self._flat, self.is_exposed = tuple(tensor.shape), tensor.detach().flatten(), True

    def resize(self, shape: Shape) -> None:
        """Change the shape; values remain if there is room for them."""
        self.shape = shape
        if self._flat is not None and math.prod(shape) > self._flat.numel():
            self._flat = None


class ActivationMemory:
    """The memory of a blob between layers, shared by layers in place. The gradient of a loss is its weight."""

    def __init__(self, shape: Shape, device: torch.device, weight: float = 0.0) -> None:
        self.data, self.diff = ArrayMemory(shape, device), ArrayMemory(shape, device, weight)

    @property
    def shape(self) -> Shape:
        """The lengths of all axes."""
        return self.data.shape

    def values(self) -> Tensor:
        """The values that were computed last, or written since."""
        return self.data.show()

    def gradient(self) -> Tensor:
        """The gradients of the last backward pass, or those written since."""
        return self.diff.show()

    def resize(self, shape: Shape) -> None:
        """Change the shape."""
        self.data.resize(shape)
        self.diff.resize(shape)


class ParameterMemory:
    """The memory of a layer's own blob. Its gradient accumulates until it is cleared."""

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
        """The accumulated gradient, in the `grad` that optimisers use."""
        owner = self.layer.owner_of(self.name)
        if owner.grad is None:
            owner.grad = torch.zeros_like(owner, requires_grad=False)
        return owner.grad.view(self.values().shape)

    def resize(self, shape: Shape) -> None:
        """Change the shape; values remain if there is room for them."""
        owner = self.layer.owner_of(self.name)
        gradient, owner.grad = owner.grad, None
        owner.data = _refit(owner.data, shape)
        owner.grad = None if gradient is None else _refit(gradient, shape)


def _refit(tensor: Tensor, shape: Shape) -> Tensor:
    count, flat = math.prod(shape), tensor.flatten()
    return flat[:count].view(shape) if count <= flat.numel() else tensor.new_zeros(shape)
