"""pycaffe's blobs and their memory. Values and gradients are writable numpy arrays."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.errors import ShapeError
from netdsl.layer import Layer, Shape
from netdsl.pycaffe import process

Array = NDArray[Any]


class Blob:
    """The values and gradients of one blob."""

    def __init__(self, memory: BlobMemory) -> None:
        self._memory = memory
        self._data, self._diff = ArrayMirror(), ArrayMirror()

    @property
    def data(self) -> Array:
        """The values."""
        return self._data.show(self._memory.values())

    @property
    def diff(self) -> Array:
        """The gradients."""
        return self._diff.show(self._memory.gradient())

    def flush(self) -> None:
        """Copy changed arrays back to the device."""
        self._data.flush()
        self._diff.flush()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return self._memory.shape

    @property
    def count(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    def _legacy(self, axis: int) -> int:
        if len(self.shape) > 4:
            raise ShapeError(
                f"num, channels, height and width exist only for up to 4 axes, but this blob has {len(self.shape)}; "
                "use shape"
            )
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._legacy(0))
    channels = property(lambda self: self._legacy(1))
    height = property(lambda self: self._legacy(2))
    width = property(lambda self: self._legacy(3))

    def reshape(self, *shape: int) -> None:
        """Change the shape. Values are kept if they fit. Otherwise, they are undefined until they are written."""
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise ShapeError(f"shape {list(sizes)} contains a negative length; use 0 or more")
        self.flush()
        self._memory.resize(sizes)


class ArrayMirror:
    """An array with the values of a tensor. On a CPU, it shares the tensor's memory.

    On a GPU, it is a copy. The copy is updated when it is read, and copied back before the net runs again, so that
    scripts can also write to it. Caffe works in the same way.
    """

    def __init__(self) -> None:
        self._array: Array | None = None
        self._tensor: Tensor | None = None  # the tensor to which the array must be copied back

    def show(self, tensor: Tensor) -> Array:
        """Return the array with the values of a tensor."""
        tensor = tensor.detach()
        if tensor.device.type == "cpu":
            return tensor.numpy()
        if self._array is None or self._array.shape != tuple(tensor.shape):
            self._array, self._tensor = np.empty(tuple(tensor.shape), np.float32), None
        if self._tensor is None:
            self._array[...] = tensor.cpu().numpy()
            self._tensor = tensor
        return self._array

    def flush(self) -> None:
        """Copy the array back if a script may have written to it."""
        if self._tensor is not None and self._array is not None:
            self._tensor.data.copy_(torch.from_numpy(self._array))
            self._tensor = None


class BlobMemory(Protocol):
    """The memory of a blob's values and gradients. It is allocated at the first use."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""

    def values(self) -> Tensor:
        """Return the current values."""

    def gradient(self) -> Tensor:
        """Return the current gradients."""

    def resize(self, shape: tuple[int, ...]) -> None:
        """Change the shape of the values and the gradients."""


class ArrayMemory:
    """The memory of one array. As in Caffe, a new shape allocates memory only if the array grows.

    At first, it is simply the last computed tensor. Once a script has access to the memory, it stays in place and new
    values are copied to it, because the script may keep the array and expect to see them.
    """

    def __init__(self, shape: Shape, device: torch.device, value: float = 0.0) -> None:
        self.shape, self.is_exposed = shape, False
        self._device, self._value = device, value
        self._flat: Tensor | None = None

    def read(self) -> Tensor:
        """Return the values for layers to compute with."""
        count = math.prod(self.shape)
        if self._flat is None:
            self._flat = torch.full((count,), self._value, device=self._device)
        return self._flat[:count].view(self.shape)

    def show(self) -> Tensor:
        """Return the values for scripts to read and write."""
        if not self.is_exposed:
            self._flat, self.is_exposed = process.join(self.read()).flatten().clone(), True
        return self.read()

    def put(self, tensor: Tensor) -> None:
        """Set new values."""
        self.resize(tuple(tensor.shape))
        if self.is_exposed:
            self.read().data.copy_(tensor)  # .data, because autograd must not track pycaffe's arrays
        else:
            self._flat = tensor.detach().flatten()

    def adopt(self, tensor: Tensor) -> None:
        """Use the memory of a tensor from now on."""
        self.shape, self._flat, self.is_exposed = tuple(tensor.shape), tensor.detach().flatten(), True

    def resize(self, shape: Shape) -> None:
        """Change the shape. Values are kept if they fit."""
        self.shape = shape
        if self._flat is not None and math.prod(shape) > self._flat.numel():
            self._flat = None


class ActivationMemory:
    """The memory of a blob between layers. In-place layers share it. The gradient of a loss is its weight."""

    def __init__(self, shape: Shape, device: torch.device, weight: float = 0.0) -> None:
        self.data, self.diff = ArrayMemory(shape, device), ArrayMemory(shape, device, weight)

    @property
    def shape(self) -> Shape:
        """The lengths of all axes."""
        return self.data.shape

    def values(self) -> Tensor:
        """Return the values of the last computation, or those written since then."""
        return self.data.show()

    def gradient(self) -> Tensor:
        """Return the gradients of the last backward pass, or those written since then."""
        return self.diff.show()

    def resize(self, shape: Shape) -> None:
        """Change the shape of the values and the gradients."""
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
        """Return the parameter, or the statistics."""
        tensor: Tensor = getattr(self.layer, self.name)
        return tensor

    def gradient(self) -> Tensor:
        """Return the accumulated gradient, which is stored in the `grad` that optimizers use."""
        owner = self.layer.owner_of(self.name)
        if owner.grad is None:
            owner.grad = torch.zeros_like(owner, requires_grad=False)
        return owner.grad.view(self.values().shape)

    def resize(self, shape: Shape) -> None:
        """Change the shape. Values are kept if they fit."""
        owner = self.layer.owner_of(self.name)
        gradient, owner.grad = owner.grad, None
        owner.data = _refit(owner.data, shape)
        owner.grad = None if gradient is None else _refit(gradient, shape)


def _refit(tensor: Tensor, shape: Shape) -> Tensor:
    count, flat = math.prod(shape), tensor.flatten()
    return flat[:count].view(shape) if count <= flat.numel() else tensor.new_zeros(shape)
