"""pycaffe's `Detector`: a net that classifies windows of images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import NetError
from netdsl.net.graph import Phase
from netdsl.pycaffe.classifier import transformer_for
from netdsl.pycaffe.io import load_image, resize_image
from netdsl.pycaffe.net import Calls, Net

Array = NDArray[Any]
Window = Sequence[float] | Array  # ymin, xmin, ymax, xmax


class Detection(TypedDict):
    """The prediction for one window."""

    window: Window
    prediction: Array
    filename: str | Path


class Detector(Net):
    """A net that classifies windows of images, with R-CNN's preprocessing.

    `context_pad` is the width of the border around the window, in pixels of the net's input.
    """

    def __init__(
        self,
        model_file: str | Path,
        pretrained_file: str | Path,
        mean: Array | None = None,
        input_scale: float | None = None,
        raw_scale: float | None = None,
        channel_swap: Sequence[int] | None = None,
        context_pad: int | None = None,
    ) -> None:
        super().__init__(model_file, Phase.TEST, weights=pretrained_file)
        self.transformer = transformer_for(self, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def configure_crop(self, context_pad: int | None) -> None:
        """Set the width of the context. Outside the image, the context has the mean's values."""
        name = self.inputs[0]
        order = np.argsort(self.transformer.transpose[name])
        self.context_pad = context_pad
        self.crop_dims = np.array(self.blobs[name].shape[1:])[order]
        self.crop_mean = np.zeros(tuple(self.crop_dims), np.float32)
        mean = self.transformer.mean.get(name)
        if mean is not None:
            self.crop_mean = self._as_image(mean, name).transpose(order)

    def _as_image(self, mean: Array, name: str) -> Array:
        """Return the mean before its channels are swapped and scaled."""
        swap, scale = self.transformer.channel_swap.get(name), self.transformer.raw_scale.get(name)
        channels = mean if mean.ndim == 3 else mean[np.newaxis]
        if swap is not None and len(channels) == len(swap):
            channels = channels[np.argsort(swap)]
        return channels / scale if scale is not None else channels

    def detect_windows(self, images_windows: Iterable[tuple[str | Path, Sequence[Window]]]) -> list[Detection]:
        """Return predictions for windows of images. Images are given by file name."""
        windows_by_file = [(filename, list(windows)) for filename, windows in images_windows]
        crops = [self.crop(image, window) for image, windows in _load_images(windows_by_file) for window in windows]
        if not crops:
            return []
        name = self.inputs[0]
        batch = np.stack([self.transformer.preprocess(name, crop) for crop in crops])
        run: Calls = self.forward_all
        predictions = iter(run(**{name: batch})[self.outputs[0]])
        return [
            Detection(window=window, prediction=next(predictions), filename=filename)
            for filename, windows in windows_by_file
            for window in windows
        ]

    def detect_selective_search(self, image_fnames: Iterable[str | Path]) -> list[Detection]:
        """Return predictions for the windows that selective search, a MATLAB program, proposes."""
        try:
            search = import_module("selective_search_ijcv_with_python")
        except ImportError:
            raise NetError(
                "selective search needs MATLAB and the module selective_search_ijcv_with_python, which isn't "
                "installed; find windows in another way and pass them to detect_windows"
            ) from None
        names = [str(Path(name).resolve()) for name in image_fnames]
        windows = search.get_windows(names, cmd="selective_search_rcnn")
        return self.detect_windows(zip(names, windows, strict=True))

    def crop(self, im: Array, window: Window) -> Array:
        """Crop a window of an image, with context if `context_pad` is set."""
        corners = np.asarray(window, np.float64)
        if self.context_pad:
            return self._with_context(im, corners)
        top, left, bottom, right = corners.astype(int)
        return im[top:bottom, left:right]

    def _with_context(self, im: Array, window: Array) -> Array:
        """Crop a window with context. R-CNN's rule: the window fills the input except for a border of `context_pad`."""
        assert self.context_pad
        side = self.blobs[self.inputs[0]].width
        half = (window[2:] - window[:2] + 1) / 2
        reach = half * side / (side - 2 * self.context_pad)
        box = np.round(np.concatenate([window[:2] + half - reach, window[:2] + half + reach]))
        scale = side / (box[2:] - box[:2] + 1)
        pad = np.round(np.maximum(0, -box[:2]) * scale).astype(int)
        box = np.clip(box, 0, [*im.shape[:2], *im.shape[:2]]).astype(int)
        size = np.round((box[2:] - box[:2] + 1) * scale).astype(int)
        size = np.minimum(size, side - pad)
        inside = im[box[0] : box[2], box[1] : box[3]]
        if not inside.size:
            raise NetError(
                f"window {window.tolist()} is outside the image of {im.shape[0]} x {im.shape[1]} (height x "
                "width); clip it to the image"
            )
        crop = np.broadcast_to(self.crop_mean, tuple(self.crop_dims)).astype(np.float32)
        crop[pad[0] : pad[0] + size[0], pad[1] : pad[1] + size[1]] = resize_image(inside, size)
        return crop


def _load_images(windows_by_file: Iterable[tuple[str | Path, list[Window]]]) -> Iterable[tuple[Array, list[Window]]]:
    return ((load_image(filename), windows) for filename, windows in windows_by_file)
