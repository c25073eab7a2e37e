"""Preprocessing of images moved into the net: the order of channels and the subtraction of the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from converters.rewrites.model_editor import ModelEditor
from netdsl.errors import ConversionError
from netdsl.layer import Layer
from netdsl.layer.deploying import AbsorbsPreparation, NewLayer
from netdsl.model import Model
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class Preprocessing:
    """The preprocessing that a net expects: an order of channels, then a mean to subtract from each."""

    order: Sequence[int]
    mean: Sequence[float]

    @classmethod
    def of(cls, channels: int, *, swap_channels: bool, mean: Sequence[float] = ()) -> Preprocessing:
        """The preprocessing of images with some channels; `swap_channels` swaps BGR and RGB, one mean is for all."""
        means = [*mean] * channels if len(mean) == 1 else [*mean] or [0.0] * channels
        if len(means) != channels:
            raise ConversionError(f"the mean has {len(means)} values, the images have {channels} channels")
        order = range(channels)
        return cls([*reversed(order)] if swap_channels else [*order], means)

    def __call__(self, image: AnyArray) -> AnyArray:
        """Preprocess images."""
        mean = np.asarray(self.mean, np.float32).reshape(-1, *[1] * (image.ndim - 2))
        return np.ascontiguousarray(image[:, list(self.order)] - mean)


def absorb_preprocessing(model: Model, preprocessing: Preprocessing) -> Model:
    """Rewrite a model so that it takes images without preprocessing.

    The mean is subtracted by a layer of its own if the first layer pads images with zeros, which stand for the mean.
    """
    editor = ModelEditor.of(model)
    index, layer = _image_layer(editor)
    shift = -torch.tensor(preprocessing.mean, dtype=torch.float64)
    can_prepare = isinstance(layer, AbsorbsPreparation)
    replacement = layer.with_preparation(preprocessing.order, shift) if can_prepare else None
    if replacement is not None:
        editor.replacements[index] = replacement
        return editor.result()
    replacement = layer.with_preparation(preprocessing.order, torch.zeros_like(shift)) if can_prepare else None
    if replacement is None:
        what = f"layer '{layer.layer.name}' of type {layer.layer.type}"
        raise ConversionError(f"{what} can't take images without preprocessing")
    bias = _bias(editor, layer, preprocessing.order, shift)
    replacement[0].bottom[:] = bias[0].top
    editor.replacements[index] = replacement
    return editor.result(first=bias, after=index)


def _image_layer(editor: ModelEditor) -> tuple[int, Layer]:
    """The only layer that reads the image."""
    graph, layers, image = editor.built.graph, editor.built.layers, editor.built.input_edges()[:1]
    readers = [index for index, node in enumerate(graph.nodes) if set(image).intersection(node.bottoms)]
    if len(readers) != 1 or editor.shares(layers[readers[0]]):
        names = ", ".join(repr(graph.nodes[index].layer.name) for index in readers) or "none"
        raise ConversionError(f"images must be read by one layer that shares no parameters; they are read by {names}")
    return readers[0], layers[readers[0]]


def _bias(editor: ModelEditor, layer: Layer, order: Sequence[int], shift: Tensor) -> NewLayer:
    """A layer that adds a shift to the channels in the image's own order."""
    used_names = {message.name for message in editor.model.net.layer} | set(editor.built.graph.blobs)
    name = f"{layer.layer.bottom[0]}_without_mean"
    while name in used_names:
        name += "_"
    values = torch.empty_like(shift)
    values[list(order)] = shift
    return pb.LayerParameter(name=name, type="Bias", bottom=layer.layer.bottom, top=[name]), [values]
