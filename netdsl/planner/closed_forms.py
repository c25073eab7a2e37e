"""The paper's own estimate of a training's memory, Equations 1 to 5 of "Distributed Training Large-Scale Deep
Architectures" (Zou et al., 2017), to stand beside what is really taken.

The letters are the paper's: an image of B x H pixels and D channels, filters of F x F pixels with stride S and padding
P, K of them, L neurons, and mini-batches of X. The equations are computed as they are printed, and count in bits. That
isn't what a framework of today takes:

- Gradients count twice, as if there were one for each image besides the batch's. They are there once, and not at all
  during the forward pass. A solver's history isn't counted.
- The tops of convolutions and poolings count once. What other layers make isn't counted: a ReLU writes over its bottom,
  but normalisations, dropout and the places that a pooling remembers take memory. Gradients of tops aren't counted.
- Equation 3 knows no groups, so AlexNet's grouped convolutions have twice their weights.
- Equation 4 has the neurons' outputs for one image only, no weights between the last map and the first neurons, which
  are AlexNet's most, and one bias for each layer where there is one for each neuron.
- Equation 1 is for windows that fill their bottom; where they don't it is rounded down, as Caffe does for convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.net.build import Built
from netdsl.net.graph import Node

BITS = 32  # of a value
_COPIES = 3  # of a parameter: itself, and its gradient twice

Size = tuple[int, int, int]  # B, H, D
Pair = tuple[int, int]
_WindowSettings = pb.ConvolutionParameter | pb.PoolingParameter


@dataclass(frozen=True)
class FeatureLayer:
    """A convolution or a pooling; the latter has no filters. `bottom` is what it reads of one image."""

    name: str
    bottom: Size
    extent: Pair  # F
    stride: Pair  # S
    padding: Pair  # P
    filters: int  # K

    @property
    def top(self) -> Size:
        """Equation 1: B' = (B - F + 2 P) / S + 1, likewise H', and D' = K, or D after a pooling."""
        windows = zip(self.bottom, self.extent, self.padding, self.stride, strict=False)
        length, height = ((size - extent + 2 * padding) // stride + 1 for size, extent, padding, stride in windows)
        return length, height, self.filters or self.bottom[2]


@dataclass(frozen=True)
class ClosedForms:
    """A net as the paper sees it: an image, feature layers, and layers of neurons that tell classes."""

    image: Size
    features: tuple[FeatureLayer, ...]
    neurons: tuple[int, ...]  # L

    def feature_bits(self, batch: int) -> int:
        """Equation 2, M_FM: the input and the tops of all feature layers; the sum of B H D, times X and 32."""
        sizes = [self.image, *(layer.top for layer in self.features)]
        return sum(length * height * depth for length, height, depth in sizes) * batch * BITS

    def parameter_bits(self) -> int:
        """Equation 3, M_MP: the parameters of feature layers; the sum of F F D K and of K, times 3 and 32."""
        weights = [layer.extent[0] * layer.extent[1] * layer.bottom[2] * layer.filters for layer in self.features]
        return (sum(weights) + sum(layer.filters for layer in self.features)) * _COPIES * BITS

    def classification_bits(self) -> int:
        """Equation 4, M_C: the sum of L, times 32, and the sum of L L' and m - 1, times 3 and 32."""
        weights = sum(first * second for first, second in zip(self.neurons, self.neurons[1:], strict=False))
        biases = max(0, len(self.neurons) - 1)
        return sum(self.neurons) * BITS + (weights + biases) * _COPIES * BITS

    def total_bits(self, batch: int) -> int:
        """What Equation 5 takes off a device's memory: M_FM + M_MP + M_C."""
        return self.feature_bits(batch) + self.parameter_bits() + self.classification_bits()

    def bound_bits(self, device_bits: int, batch: int) -> int:
        """Equation 5, M_bound = M_GPU - M_FM - M_MP - M_C: what is left for algorithms. It may be negative."""
        return device_bits - self.total_bits(batch)

    def total_bytes(self, batch: int) -> int:
        """`total_bits` in bytes."""
        return self.total_bits(batch) // 8

    def bound_bytes(self, device_bytes: int, batch: int) -> int:
        """`bound_bits` in bytes."""
        return self.bound_bits(8 * device_bytes, batch) // 8


def closed_forms(built: Built) -> ClosedForms:
    """A net in the paper's terms. In one that isn't a chain, every layer has the size of its own bottom."""
    image = next((shape for edge in built.input_edges() if len(shape := built.shapes[edge]) == 4), None)
    if image is None:
        raise NetError("the net has no input of images, which the paper's equations are for")
    features, neurons = [], []
    for node in built.graph.nodes:
        if node.layer.HasField("convolution_param"):
            settings = node.layer.convolution_param
            features.append(_feature(built, node, settings, settings.num_output))
        elif node.layer.HasField("pooling_param"):
            features.append(_feature(built, node, node.layer.pooling_param, 0))
        elif node.layer.HasField("inner_product_param"):
            neurons.append(node.layer.inner_product_param.num_output)
    return ClosedForms(_size(image), tuple(features), tuple(neurons))


def _feature(built: Built, node: Node, settings: _WindowSettings, filters: int) -> FeatureLayer:
    bottom, top = (built.shapes[edges[0]] for edges in (node.bottoms, node.tops))
    if len(bottom) != 4:
        raise NetError(f"layer '{node.layer.name}' has no images, which the paper's equations are for")
    if isinstance(settings, pb.PoolingParameter) and settings.global_pooling:
        extent = (bottom[2], bottom[3])
    else:
        extent = _pair(settings, "kernel_size", "kernel", 1)
    stride, padding = _pair(settings, "stride", "stride", 1), _pair(settings, "pad", "pad", 0)
    layer = FeatureLayer(node.layer.name, _size(bottom), extent, stride, padding, filters)
    if any(abs(size - own) > 1 for size, own in zip(layer.top, _size(top), strict=True)):
        raise NetError(f"layer '{node.layer.name}' isn't a convolution or a pooling as the paper's Equation 1 has it")
    return layer


def _size(shape: Sequence[int]) -> Size:
    return shape[2], shape[3], shape[1]


def _pair(settings: _WindowSettings, name: str, prefix: str, default: int) -> Pair:
    """A setting for both axes of an image, which is given for both at once, or for each."""
    if settings.HasField(f"{prefix}_h") or settings.HasField(f"{prefix}_w"):
        return getattr(settings, f"{prefix}_h"), getattr(settings, f"{prefix}_w")
    value = getattr(settings, name)
    if isinstance(value, int):
        return (value, value) if settings.HasField(name) else (default, default)
    numbers = list(value) or [default]
    return numbers[0], numbers[-1]
