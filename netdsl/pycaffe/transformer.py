"""Transformers of images to inputs of a net and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import NetError
from netdsl.pycaffe.convert import ArrayError
from netdsl.pycaffe.images import resize_image

Array = NDArray[Any]


class Transformer:
    """Preprocesses images for inputs of a net: `Transformer({"data": net.blobs["data"].shape})`.

    Only steps that are set are applied. Images are height x width x channels; inputs are usually channels x height x
    width, in the order blue, green, red, from 0 to 255.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self.inputs = inputs
        self.transpose: dict[str, Sequence[int]] = {}
        self.channel_swap: dict[str, Sequence[int]] = {}
        self.raw_scale: dict[str, float] = {}
        self.mean: dict[str, Array] = {}
        self.input_scale: dict[str, float] = {}

    def _shape(self, in_: str) -> tuple[int, ...]:
        if in_ not in self.inputs:
            raise NetError(f"'{in_}' is not one of the inputs: {', '.join(self.inputs) or 'there are none'}")
        return tuple(self.inputs[in_])

    def preprocess(self, in_: str, data: Array) -> Array:
        """Resize an image, transpose it, swap channels, apply raw scale, subtract the mean, apply input scale."""
        size = self._shape(in_)[2:]
        image = data.astype(np.float32)
        if image.shape[:2] != size:
            image = resize_image(image, size)
        if in_ in self.transpose:
            image = image.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            image = image[list(self.channel_swap[in_]), :, :]
        if in_ in self.raw_scale:
            image = image * np.float32(self.raw_scale[in_])
        if in_ in self.mean:
            image = (image - self.mean[in_]).astype(np.float32)
        if in_ in self.input_scale:
            image = image * np.float32(self.input_scale[in_])
        return image

    def deprocess(self, in_: str, data: Array) -> Array:
        """Undo all steps but the resizing, in reverse order."""
        self._shape(in_)
        image = data.squeeze().astype(np.result_type(data, np.float32))
        if in_ in self.input_scale:
            image /= self.input_scale[in_]
        if in_ in self.mean:
            image += self.mean[in_]
        if in_ in self.raw_scale:
            image /= self.raw_scale[in_]
        if in_ in self.channel_swap:
            image = image[np.argsort(self.channel_swap[in_]), :, :]
        if in_ in self.transpose:
            image = image.transpose(np.argsort(self.transpose[in_]))
        return image

    def set_transpose(self, in_: str, order: Sequence[int]) -> None:
        """Set the order of the axes: (2, 0, 1) makes channels x height x width."""
        axes = len(self._shape(in_)) - 1
        if len(order) != axes:
            raise NetError(f"the order {tuple(order)} has {len(order)} axes, an item of '{in_}' has {axes}")
        self.transpose[in_] = order

    def set_channel_swap(self, in_: str, order: Sequence[int]) -> None:
        """Set the order of the channels, which are the first axis by then: (2, 1, 0) makes BGR of RGB."""
        channels = self._shape(in_)[1]
        if len(order) != channels:
            raise NetError(f"the order {tuple(order)} has {len(order)} channels, '{in_}' has {channels}")
        self.channel_swap[in_] = order

    def set_raw_scale(self, in_: str, scale: float) -> None:
        """Set a factor before the mean is subtracted: 255 for images with values from 0 to 1."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_: str, mean: Array) -> None:
        """Set the mean to subtract: a value for each channel, or an image of channels x height x width of any size."""
        shape = self._shape(in_)[1:]
        if mean.ndim == 1:
            if len(mean) != shape[0]:
                raise ArrayError(f"the mean has {len(mean)} channels, '{in_}' has {shape[0]}")
            self.mean[in_] = mean[:, np.newaxis, np.newaxis]
            return
        if mean.ndim not in (2, 3):
            raise ArrayError(f"the mean has {mean.ndim} axes; it must have 1, 2 or 3")
        fits = (1,) * (3 - mean.ndim) + mean.shape == shape
        self.mean[in_] = mean if fits else _resized(mean, shape)

    def set_input_scale(self, in_: str, scale: float) -> None:
        """Set a factor after the mean is subtracted."""
        self._shape(in_)
        self.input_scale[in_] = scale


def _resized(mean: Array, shape: tuple[int, ...]) -> Array:
    if mean.ndim == 2 or mean.shape[0] not in (1, shape[0]):
        raise ArrayError(f"a mean of shape {list(mean.shape)} doesn't fit an input of shape {list(shape)}")
    return resize_image(mean.transpose(1, 2, 0), shape[1:]).transpose(2, 0, 1)
