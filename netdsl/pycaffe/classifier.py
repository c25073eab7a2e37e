"""pycaffe's `Classifier`: a net that classifies images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.net.graph import Phase
from netdsl.pycaffe import io as images
from netdsl.pycaffe.io import Transformer
from netdsl.pycaffe.net import Calls, Net

Array = NDArray[Any]


class Classifier(Net):
    """A net that classifies images, including their preprocessing.

    Images are resized to `image_dims`, (height, width), and then cropped to the size of the net's input. By default,
    the two sizes are equal.
    """

    def __init__(
        self,
        model_file: str | Path,
        pretrained_file: str | Path,
        image_dims: Sequence[int] | None = None,
        mean: Array | None = None,
        input_scale: float | None = None,
        raw_scale: float | None = None,
        channel_swap: Sequence[int] | None = None,
    ) -> None:
        super().__init__(model_file, Phase.TEST, weights=pretrained_file)
        self.transformer = transformer_for(self, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = np.array(self.blobs[self.inputs[0]].shape[2:])
        self.image_dims = self.crop_dims if image_dims is None else np.array(image_dims)

    def predict(self, inputs: Sequence[Array], oversample: bool = True) -> Array:
        """Return the probabilities of all classes for each image: the mean over ten crops, or those of the center
        crop."""
        resized = np.stack([images.resize_image(image, self.image_dims) for image in inputs])
        crops = images.oversample(resized, self.crop_dims) if oversample else self._center(resized)
        name = self.inputs[0]
        batch = np.stack([self.transformer.preprocess(name, crop) for crop in crops])
        run: Calls = self.forward_all
        predictions = run(**{name: batch})[self.outputs[0]]
        return predictions.reshape(len(predictions) // 10, 10, -1).mean(1) if oversample else predictions

    def _center(self, resized: Array) -> Array:
        (top, left), (height, width) = (self.image_dims / 2 - self.crop_dims / 2).astype(int), self.crop_dims
        return resized[:, top : top + height, left : left + width]


def transformer_for(
    net: Net,
    mean: Array | None,
    input_scale: float | None,
    raw_scale: float | None,
    channel_swap: Sequence[int] | None,
) -> Transformer:
    """Return the transformer of images for the first input of a net."""
    name = net.inputs[0]
    transformer = Transformer({name: net.blobs[name].shape})
    transformer.set_transpose(name, (2, 0, 1))
    if mean is not None:
        transformer.set_mean(name, mean)
    if input_scale is not None:
        transformer.set_input_scale(name, input_scale)
    if raw_scale is not None:
        transformer.set_raw_scale(name, raw_scale)
    if channel_swap is not None:
        transformer.set_channel_swap(name, channel_swap)
    return transformer
