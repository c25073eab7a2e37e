"""Where pycaffe's blobs live: in a net while it runs, or in its layers."""

from __future__ import annotations

import torch
from torch import Tensor

from netdsl.layer import Layer, Shape


class Activation:
    """A blob between layers, by name: in-place layers write to the same one, as in Caffe.

    The gradient that Caffe leaves in such a blob is the one of its first version.
    """

    def __init__(self, shape: Shape, device: torch.device) -> None:
        self.shape, self.device = shape, device
        self.versions: list[Tensor] = []
        self._gradient: Tensor | None = None

    def values(self) -> Tensor:
        """What was computed last."""
        if not self.versions:
            self.versions = [torch.zeros(self.shape, device=self.device)]
        return self.versions[-1]

    def gradient(self) -> Tensor:
        """What the last backward pass left, or what was written to it since."""
        if self._gradient is None or self._gradient.shape != self.values().shape:
            self._gradient = torch.zeros_like(self.values(), requires_grad=False)
        return self._gradient

    def put(self, tensor: Tensor, in_place: bool) -> None:
        """A layer made this blob."""
        if tensor.requires_grad:
            tensor.retain_grad()
        self.versions = [*self.versions, tensor] if in_place else [tensor]

    def take_gradient(self) -> None:
        """Keep what autograd found."""
        first = self.versions[0] if self.versions else None
        if first is not None and first.requires_grad and first.grad is not None:
            self.gradient().copy_(first.grad)

    def resize(self, shape: Shape) -> None:
        """Become a blob of another shape."""
        if shape != tuple(self.values().shape):
            needs_gradient = self.values().requires_grad and self.values().is_leaf
            self.shape, self._gradient = shape, None
            self.versions = [torch.zeros(shape, device=self.device, requires_grad=needs_gradient)]


class Learned:
    """A layer's own blob. Its gradient is kept where autograd adds to it."""

    def __init__(self, layer: Layer, name: str) -> None:
        self.layer, self.name = layer, name

    def values(self) -> Tensor:
        """The parameter or the statistics."""
        tensor: Tensor = getattr(self.layer, self.name)
        return tensor

    def gradient(self) -> Tensor:
        """The sum of all gradients since they were last cleared."""
        owner = self.layer.owner_of(self.name)
        if owner.grad is None:
            owner.grad = torch.zeros_like(owner, requires_grad=False)
        return owner.grad.view(self.values().shape)

    def resize(self, shape: Shape) -> None:
        """Caffe allows this, with undefined values."""
        with torch.no_grad():
            self.layer.owner_of(self.name).set_(torch.zeros(shape))  # type: ignore[call-overload]
