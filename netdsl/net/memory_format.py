"""The layout of images in memory while a net runs: with channels last, where convolutions are quicker so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

import torch
from torch import Tensor

from netdsl.layer import Layer
from netdsl.layer.running import OF_TWO_BYTES, PrefersChannelsLast
from netdsl.net.build import Built

_OF_ONEDNN = (torch.float32, torch.bfloat16)  # the numbers that it convolves


class Wish(Enum):
    """How a layer wants images to lie."""

    CHANNELS_FIRST = auto()
    CHANNELS_LAST = auto()  # where convolutions are quicker so
    ANY = auto()


def wish_of(layer: Layer) -> Wish:
    """Return how a layer wants its bottoms to lie."""
    if isinstance(layer, PrefersChannelsLast) and layer.prefers_channels_last():
        return Wish.CHANNELS_LAST
    return Wish.ANY if layer.any_layout else Wish.CHANNELS_FIRST


def channels_last_pays(built: Built) -> bool:
    """Return whether a net has layers that can be quicker with channels last."""
    return any(wish_of(layer) is Wish.CHANNELS_LAST for layer in built.layers)


def lay_out_filters(built: Built) -> None:
    """Give filters the layout that their layers want of images, so that no pass over a batch has to copy them.

    It depends on the net alone, not on the device, so the workers of a training have their weights in one order. What
    other layers share in another shape stays as it is.
    """
    shared = {id(layer.owner_of(name)) for layer in built.layers for name in layer.reshaped_blobs()}
    for layer in built.layers:
        for filters in layer.blob_tensors() if wish_of(layer) is Wish.CHANNELS_LAST else ():
            if filters.dim() == 4 and id(filters) not in shared:
                filters.data = filters.detach().contiguous(memory_format=torch.channels_last)


@contextmanager
def filters_as_in_caffe(built: Built) -> Iterator[None]:
    """Inside, filters lie with channels first, as those who write them expect."""
    filters = {blob: blob.data for layer in built.layers for blob in layer.parameters() if not blob.is_contiguous()}
    try:
        for blob in filters:
            blob.data = blob.data.contiguous()
        yield
    finally:
        for blob, before in filters.items():
            blob.data = before


def laid_out(bottom: Tensor, wish: Wish) -> Tensor:
    """Return a bottom as its layer wants it to lie; a copy only if it lies otherwise."""
    if bottom.dim() != 4 or bottom.is_meta or torch.compiler.is_compiling():
        return bottom
    if wish is Wish.CHANNELS_LAST:
        return _with_channels_last(bottom) if _convolved_quicker(bottom) else bottom
    return bottom.contiguous() if wish is Wish.CHANNELS_FIRST else bottom


def _convolved_quicker(images: Tensor) -> bool:
    """Return whether convolutions of these images, on their device and with its precision, are quicker with channels
    last.

    On a CPU, `benchmarks/training.py` shows by how much: nets with many small filters are up to a third quicker for it,
    and those with few large ones are as quick. oneDNN copies images with channels first into a layout of its own before
    each convolution, and back afterwards; it reads those with channels last as they are. On a GPU so do tensor cores
    with numbers of two bytes, while float32 is convolved with channels first. That is what cuDNN's makers say, and
    isn't measured here.
    """
    if images.is_cpu:
        onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        return onednn and images.dtype in _OF_ONEDNN
    halved = images.dtype is torch.float32 and torch.is_autocast_enabled(images.device.type)
    return images.is_cuda and (halved or images.dtype in OF_TWO_BYTES)


def _with_channels_last(images: Tensor) -> Tensor:
    """Return where there is one channel, both layouts are the same memory; strides say which one torch takes it for."""
    if images.shape[1] > 1:
        return images.contiguous(memory_format=torch.channels_last)
    if images.stride(1) == 1:
        return images
    *_, height, width = images.shape
    return images.contiguous().as_strided(images.shape, (height * width, 1, width, 1))
