"""What is done to an image before it enters a net, done by the net: channels in another order, the mean subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from converters.model import Model
from converters.rewrites.editing import Editing
from netdsl.errors import ConversionError
from netdsl.layer import Layer
from netdsl.layer.folding import AbsorbsPreparation, NewLayer
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class Preparation:
    """How an image became the input: the order of its channels, and the mean of each that was subtracted then."""

    order: Sequence[int]
    mean: Sequence[float]

    @classmethod
    def of(cls, channels: int, *, swapped: bool, mean: Sequence[float] = ()) -> Preparation:
        """Without a mean it is zero; `swapped` is BGR for RGB. A single mean is for all channels."""
        means = [*mean] * channels if len(mean) == 1 else [*mean] or [0.0] * channels
        if len(means) != channels:
            raise ConversionError(f"the mean has {len(means)} values, the images have {channels} channels")
        order = range(channels)
        return cls([*reversed(order)] if swapped else [*order], means)

    def __call__(self, image: AnyArray) -> AnyArray:
        """An image as the net was made for it."""
        mean = np.asarray(self.mean, np.float32).reshape(-1, *[1] * (image.ndim - 2))
        return np.ascontiguousarray(image[:, list(self.order)] - mean)


def prepare_inside(model: Model, preparation: Preparation) -> Model:
    """The model for images as they come.

    The mean goes into a layer of its own where the first one pads images with zeros, which stand for the mean.
    """
    editing = Editing.of(model)
    index, layer = _first(editing)
    shift = -torch.tensor(preparation.mean, dtype=torch.float64)
    can_prepare = isinstance(layer, AbsorbsPreparation)
    made = layer.with_preparation(preparation.order, shift) if can_prepare else None
    if made is not None:
        editing.made[index] = made
        return editing.done()
    made = layer.with_preparation(preparation.order, torch.zeros_like(shift)) if can_prepare else None
    if made is None:
        raise ConversionError(f"layer '{layer.layer.name}' of type {layer.layer.type} can't take unprepared images")
    bias = _bias(editing, layer, preparation.order, shift)
    made[0].bottom[:] = bias[0].top
    editing.made[index] = made
    return editing.done(first=bias, after=index)


def _first(editing: Editing) -> tuple[int, Layer]:
    """The only layer that reads the image."""
    graph, layers, image = editing.built.graph, editing.built.layers, editing.built.input_edges()[:1]
    found = [index for index, node in enumerate(graph.nodes) if set(image).intersection(node.bottoms)]
    if len(found) != 1 or editing.shares(layers[found[0]]):
        names = ", ".join(repr(graph.nodes[index].layer.name) for index in found) or "none"
        raise ConversionError(f"images must be read by one layer that shares no parameters; they are by {names}")
    return found[0], layers[found[0]]


def _bias(editing: Editing, layer: Layer, order: Sequence[int], shift: Tensor) -> NewLayer:
    """A layer that adds to the channels as they come."""
    taken = {each.name for each in editing.model.net.layer} | set(editing.built.graph.blobs)
    name = f"{layer.layer.bottom[0]}_without_mean"
    while name in taken:
        name += "_"
    values = torch.empty_like(shift)
    values[list(order)] = shift
    return pb.LayerParameter(name=name, type="Bias", bottom=layer.layer.bottom, top=[name]), [values]
